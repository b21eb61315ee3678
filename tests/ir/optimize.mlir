// PIPELINE: --optimize

// What a matrix product's loop looks like after all passes: masks and starts outside, scalars carried.
// CHECK-LABEL: func.func @loop
func.func @loop(%p: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32, %stride: i32) attributes {tile.kernel} {
  // CHECK: %[[START:.*]] = tile.ptr_add
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}) -> (i64, tensor<16xf32>)
  // CHECK-NOT: tile.expand_dims
  // CHECK: %[[P:.*]] = tile.ptr_add %[[START]]
  // CHECK: tile.load %[[P]]
  // CHECK: arith.addi %[[O]], %{{.*}} : i64
  // CHECK: scf.yield
  // CHECK: tile.store %{{.*}}, %[[R]]#1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %i = tile.arange 0, 16 : tensor<16xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %start = tile.ptr_add %ps, %i : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %start, %acc = %zero)
      -> (tensor<16x!tile.ptr<f32>>, tensor<16xf32>) : i32 {
    %x = tile.load %q : tensor<16x!tile.ptr<f32>>
    %sum = arith.addf %acc, %x : tensor<16xf32>
    %s4 = arith.muli %stride, %c4 : i32
    %s = tile.splat %s4 : i32 -> tensor<16xi32>
    %next = tile.ptr_add %q, %s : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    scf.yield %next, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %oq = tile.ptr_add %os, %i : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  tile.store %oq, %r#1 : tensor<16x!tile.ptr<f32>>
  return
}
