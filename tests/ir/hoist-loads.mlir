// PIPELINE: --assign-layouts=warps=4 --hoist-loads

// In a loop the second load starts before the reduction that does not need it, addresses with it; a store
// holds what follows it back.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for
// CHECK: tile.load
// CHECK-NOT: tile.reduce
// CHECK: tile.load
// CHECK: tile.reduce
// CHECK: tile.store
// CHECK: tile.load
func.func @in_a_loop(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  scf.for %row = %zero to %n step %one : i32 {
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
    %s = tile.reduce(%x) axis 0 : (tensor<512xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %qi = tile.ptr_add %qs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %y = tile.load %qi : tensor<512x!tile.ptr<f32>>
    %ss = tile.splat %s : f32 -> tensor<512xf32>
    %z = arith.mulf %y, %ss : tensor<512xf32>
    tile.store %qi, %z : tensor<512x!tile.ptr<f32>>
    %w = tile.load %pi : tensor<512x!tile.ptr<f32>>
    tile.store %qi, %w : tensor<512x!tile.ptr<f32>>
  }
  return
}

// Outside of loops other programs fill the wait.
// CHECK-LABEL: func.func @outside
// CHECK: tile.load
// CHECK: tile.reduce
// CHECK: tile.load
func.func @outside(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>) {
  %i = tile.arange 0, 512 : tensor<512xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
  %s = tile.reduce(%x) axis 0 : (tensor<512xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %qi = tile.ptr_add %qs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %y = tile.load %qi : tensor<512x!tile.ptr<f32>>
  %ss = tile.splat %s : f32 -> tensor<512xf32>
  %z = arith.mulf %y, %ss : tensor<512xf32>
  tile.store %qi, %z : tensor<512x!tile.ptr<f32>>
  return
}

// Copies read what they copy, as loads do: a load starts before them.
// CHECK-LABEL: func.func @before_copies
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.load
// CHECK: tile.async_copy
// CHECK: return
func.func @before_copies(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  %b = tile.buffer_alloc : !tile.buffer<1, [512], f32, <512, offset = [1 2 4 8 16 32 64 128 256]>>
  scf.for %row = %zero to %n step %one : i32 {
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
    tile.async_copy %pi, %b[%zero] {axis = 0 : i32, width = 1 : i32} : tensor<512x!tile.ptr<f32>>, !tile.buffer<1, [512], f32, <512, offset = [1 2 4 8 16 32 64 128 256]>>
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %qi = tile.ptr_add %qs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %y = tile.load %qi : tensor<512x!tile.ptr<f32>>
    %z = arith.mulf %y, %x : tensor<512xf32>
    tile.store %qi, %z : tensor<512x!tile.ptr<f32>>
  }
  return
}
