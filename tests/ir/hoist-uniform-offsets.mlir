// PIPELINE: --hoist-uniform-offsets --cse

// Pointers advanced by a scalar: the loop carries 64 bits.
// CHECK-LABEL: func.func @pointers
func.func @pointers(%p: !tile.ptr<f32>, %n: i32, %step: i32) {
  // CHECK: %[[START:.*]] = tile.ptr_add
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK: %[[END:.*]] = scf.for {{.*}} iter_args(%[[O:.*]] = %[[ZERO]]) -> (i64)
  // CHECK-NEXT: %[[T:.*]] = tile.splat %[[O]] : i64 -> tensor<64xi64>
  // CHECK-NEXT: %[[P:.*]] = tile.ptr_add %[[START]], %[[T]]
  // CHECK-NEXT: %[[X:.*]] = tile.load %[[P]]
  // CHECK: tile.store %[[P]], %[[X]]
  // CHECK: %[[S:.*]] = arith.extsi %{{.*}} : i32 to i64
  // CHECK-NEXT: %[[N:.*]] = arith.addi %[[O]], %[[S]] : i64
  // CHECK-NEXT: scf.yield %[[N]] : i64
  // CHECK: %[[E:.*]] = tile.splat %[[END]] : i64
  // CHECK: %[[Q:.*]] = tile.ptr_add %[[START]], %[[E]]
  // CHECK: tile.store %[[Q]]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %start = tile.ptr_add %ps, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %s = tile.splat %step : i32 -> tensor<64xi32>
  %end = scf.for %k = %c0 to %n step %c1 iter_args(%q = %start) -> (tensor<64x!tile.ptr<f32>>) : i32 {
    %x = tile.load %q : tensor<64x!tile.ptr<f32>>
    tile.store %q, %x : tensor<64x!tile.ptr<f32>>
    %next = tile.ptr_add %q, %s : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    scf.yield %next : tensor<64x!tile.ptr<f32>>
  }
  tile.store %end, %zero : tensor<64x!tile.ptr<f32>>
  return
}

// Integers stay in their own type, constants count as uniform, and additions add up.
// CHECK-LABEL: func.func @integers
func.func @integers(%p: !tile.ptr<i32>, %n: i32, %step: i32) {
  // CHECK: %[[I:.*]] = tile.arange 0, 64
  // CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}) -> (i32)
  // CHECK-DAG: %[[T:.*]] = tile.splat %[[O]] : i32
  // CHECK-DAG: arith.addi %[[I]], %[[T]] : tensor<64xi32>
  // CHECK: %[[A:.*]] = arith.addi %[[O]], %{{.*}} : i32
  // CHECK: %[[B:.*]] = arith.addi %[[A]], %{{.*}} : i32
  // CHECK: scf.yield %[[B]] : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant dense<8> : tensor<64xi32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %s = tile.splat %step : i32 -> tensor<64xi32>
  %end = scf.for %k = %c0 to %n step %c1 iter_args(%j = %i) -> (tensor<64xi32>) : i32 {
    %q = tile.ptr_add %ps, %j : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
    tile.store %q, %j : tensor<64x!tile.ptr<i32>>
    %a = arith.addi %c8, %j : tensor<64xi32>
    %b = arith.addi %a, %s : tensor<64xi32>
    scf.yield %b : tensor<64xi32>
  }
  return
}

// An offset that varies along the tile, and floats, stay as they are.
// CHECK-LABEL: func.func @others
func.func @others(%n: i32, %x: f32) -> (tensor<64xi32>, tensor<64xf32>) {
  // CHECK: scf.for {{.*}} -> (tensor<64xi32>, tensor<64xf32>)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tile.arange 0, 64 : tensor<64xi32>
  %xs = tile.splat %x : f32 -> tensor<64xf32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%j = %i, %f = %xs)
      -> (tensor<64xi32>, tensor<64xf32>) : i32 {
    %a = arith.addi %j, %i : tensor<64xi32>
    %g = arith.addf %f, %xs : tensor<64xf32>
    scf.yield %a, %g : tensor<64xi32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xi32>, tensor<64xf32>
}
