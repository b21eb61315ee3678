// PIPELINE: --reorder-broadcast

// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32)
func.func @scalars(%x: f32, %y: f32) -> tensor<64x32xf32> {
  // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[Y]] fastmath<contract> : f32
  // CHECK: %[[E:.*]] = math.exp %[[P]] : f32
  // CHECK: %[[T:.*]] = tile.splat %[[E]] : f32 -> tensor<64x32xf32>
  // CHECK: return %[[T]]
  %a = tile.splat %x : f32 -> tensor<32xf32>
  %b = tile.splat %y : f32 -> tensor<32xf32>
  %c = arith.mulf %a, %b fastmath<contract> : tensor<32xf32>
  %d = math.exp %c : tensor<32xf32>
  %e = tile.expand_dims %d {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
  %f = tile.broadcast %e : tensor<1x32xf32> -> tensor<64x32xf32>
  return %f : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%r: tensor<64x1xf32>, %s: f32) -> tensor<64x32xi1> {
  // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<64x1xf32>
  // CHECK: %[[S:.*]] = tile.splat %{{.*}} : f32 -> tensor<64x1xf32>
  // CHECK: %[[P:.*]] = arith.addf %{{.*}}, %[[S]] : tensor<64x1xf32>
  // CHECK: %[[C:.*]] = arith.cmpf olt, %[[P]], %[[Z]] : tensor<64x1xf32>
  // CHECK: tile.broadcast %[[C]] : tensor<64x1xi1> -> tensor<64x32xi1>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %b = tile.broadcast %r : tensor<64x1xf32> -> tensor<64x32xf32>
  %t = tile.splat %s : f32 -> tensor<64x32xf32>
  %a = arith.addf %b, %t : tensor<64x32xf32>
  %c = arith.cmpf olt, %a, %zero : tensor<64x32xf32>
  return %c : tensor<64x32xi1>
}

// A row and a column meet: nothing to gain.
// CHECK-LABEL: func.func @grid
func.func @grid(%r: tensor<64x1xi32>, %c: tensor<1x32xi32>) -> tensor<64x32xi32> {
  // CHECK: arith.addi %{{.*}}, %{{.*}} : tensor<64x32xi32>
  %a = tile.broadcast %r : tensor<64x1xi32> -> tensor<64x32xi32>
  %b = tile.broadcast %c : tensor<1x32xi32> -> tensor<64x32xi32>
  %d = arith.addi %a, %b : tensor<64x32xi32>
  return %d : tensor<64x32xi32>
}

// One address is read once; a volatile one as often as written.
// CHECK-LABEL: func.func @loads
func.func @loads(%p: !tile.ptr<f32>, %o: i32, %m: i1) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[Q:.*]] = tile.ptr_add %{{.*}}, %{{.*}} : !tile.ptr<f32>, i32
  // CHECK: %[[X:.*]] = tile.load %[[Q]], %{{.*}}, %{{.*}} : !tile.ptr<f32>
  // CHECK: tile.splat %[[X]] : f32 -> tensor<8xf32>
  // CHECK: tile.load %{{.*}} volatile : tensor<8x!tile.ptr<f32>>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %os = tile.splat %o : i32 -> tensor<8xi32>
  %ms = tile.splat %m : i1 -> tensor<8xi1>
  %q = tile.ptr_add %ps, %os : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %x = tile.load %q, %ms, %zero : tensor<8x!tile.ptr<f32>>
  %y = tile.load %q volatile : tensor<8x!tile.ptr<f32>>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}
