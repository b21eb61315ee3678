// PIPELINE: --exact-math --refuse-unordered-sums

// No permission to approximate is left, and fp32 is multiplied as fp32.
// CHECK-LABEL: func.func @exact
func.func @exact(%x: tensor<16x16xf32>, %p: tensor<16x16x!tile.ptr<f32>>) attributes {tile.kernel} {
  // CHECK-NOT: afn
  %e = math.exp %x fastmath<afn> : tensor<16x16xf32>
  %q = arith.divf %e, %x fastmath<afn> : tensor<16x16xf32>
  // CHECK: tile.dot {{.*}} precision = ieee
  %d = tile.dot %e, %q, %x : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  // The greatest of floats is the same in every order.
  // CHECK: tile.atomic_rmw fmax
  %old = tile.atomic_rmw fmax, relaxed, gpu, %p, %d : tensor<16x16x!tile.ptr<f32>>
  return
}
