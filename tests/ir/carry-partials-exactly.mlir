// PIPELINE: --assign-layouts=warps=4 --carry-partials=exact=true

// The order of floating-point additions is the kernel's; integers have none.
// CHECK-LABEL: func.func @both
// CHECK: scf.for
// CHECK: tile.reduce({{.*}} -> f32
// CHECK: tile.reduce({{.*}} -> tensor<{{[0-9x]+}}xi32
// CHECK: scf.yield
// CHECK: tile.reduce({{.*}} -> i32
func.func @both(%p: !tile.ptr<f32>, %q: !tile.ptr<i32>, %o: !tile.ptr<f32>, %r: !tile.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.0 : f32
  %i = tile.arange 0, 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %qi = tile.ptr_add %qs, %i : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %s:2 = scf.for %k = %zero to %n step %one iter_args(%t = %none, %u = %zero) -> (f32, i32) : i32 {
    %x = tile.load %pi : tensor<1024x!tile.ptr<f32>>
    %y = tile.load %qi : tensor<1024x!tile.ptr<i32>>
    %xs = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %ys = tile.reduce(%y) axis 0 : (tensor<1024xi32>) -> i32 {
    ^bb0(%a: i32, %b: i32):
      %sum = arith.addi %a, %b : i32
      tile.yield %sum : i32
    }
    %t2 = arith.addf %t, %xs : f32
    %u2 = arith.addi %u, %ys : i32
    scf.yield %t2, %u2 : f32, i32
  }
  tile.store %o, %s#0 : !tile.ptr<f32>
  tile.store %r, %s#1 : !tile.ptr<i32>
  return
}
