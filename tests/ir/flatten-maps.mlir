// PIPELINE: --flatten-maps --canonicalize

// Branches become selections of what both sides compute.
// CHECK-LABEL: func.func @branches
func.func @branches(%p: !tile.ptr<f32>, %x: tensor<8xf32>, %ps: tensor<8x!tile.ptr<f32>>) attributes {tile.kernel} {
  // CHECK-NOT: tile.map
  // CHECK: %[[ISPOS:.*]] = arith.cmpf ogt, %arg1
  // CHECK: %[[EXP:.*]] = math.exp %arg1 : tensor<8xf32>
  // CHECK: arith.select %[[ISPOS]], %arg1, %[[EXP]]
  %y = tile.map(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %a, %zero : f32
    %r = scf.if %positive -> f32 {
      scf.yield %a : f32
    } else {
      %e = math.exp %a : f32
      scf.yield %e : f32
    }
    tile.yield %r : f32
  }
  tile.store %ps, %y : tensor<8x!tile.ptr<f32>>
  return
}

// A loop runs for each element by itself.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<8xi32>, %ps: tensor<8x!tile.ptr<i32>>) attributes {tile.kernel} {
  // CHECK: tile.map
  // CHECK: scf.while
  %y = tile.map(%x) : (tensor<8xi32>) -> tensor<8xi32> {
  ^bb0(%a: i32):
    %one = arith.constant 1 : i32
    %r = scf.while (%v = %a) : (i32) -> i32 {
      %more = arith.cmpi sgt, %v, %one : i32
      scf.condition(%more) %v : i32
    } do {
    ^bb0(%v: i32):
      %half = arith.shrsi %v, %one : i32
      scf.yield %half : i32
    }
    tile.yield %r : i32
  }
  tile.store %ps, %y : tensor<8x!tile.ptr<i32>>
  return
}
