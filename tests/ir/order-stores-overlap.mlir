// PIPELINE: --assign-layouts=warps=4 --order-stores=warps=4,overlap=true

// Two arguments may be one array: another thread stores what a thread loads.
// CHECK-LABEL: func.func @reversed
// CHECK: tile.load
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @reversed(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>) {
  %i = tile.arange 0, 512 : tensor<512xi32>
  %last = arith.constant dense<511> : tensor<512xi32>
  %there = arith.subi %last, %i : tensor<512xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %qi = tile.ptr_add %qs, %there : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  tile.store %qi, %x : tensor<512x!tile.ptr<f32>>
  return
}

// Nor is it known that they start at one address, where both count alike.
// CHECK-LABEL: func.func @elementwise
// CHECK: tile.load
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: return
func.func @elementwise(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>) {
  %i = tile.arange 0, 512 : tensor<512xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %qi = tile.ptr_add %qs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  tile.store %qi, %x : tensor<512x!tile.ptr<f32>>
  return
}
