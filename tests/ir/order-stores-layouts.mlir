// PIPELINE: --order-stores=warps=4

// Other threads load what has been stored: there the layouts differ, not here.
#rows = #tile.layout<16x32, register = [(0, 1) (0, 2)], lane = [(0, 4) (0, 8) (0, 16) (1, 0) (2, 0)], warp = [(4, 0) (8, 0)]>
#columns = #tile.layout<16x32, register = [(1, 0) (2, 0)], lane = [(4, 0) (8, 0) (0, 1) (0, 2) (0, 4)], warp = [(0, 8) (0, 16)]>
// CHECK-LABEL: func.func @read_in_the_layout_of_the_store
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @read_in_the_layout_of_the_store(%p: !tile.ptr<f32>, %o: tensor<16x32xi32, #rows>, %x: tensor<16x32xf32, #rows>) -> tensor<16x32xf32, #rows> {
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>, #rows>
  %pi = tile.ptr_add %ps, %o : tensor<16x32x!tile.ptr<f32>, #rows>, tensor<16x32xi32, #rows>
  tile.store %pi, %x {access = #tile.access<axis = 1, width = 1>} : tensor<16x32x!tile.ptr<f32>, #rows>
  %y = tile.load %pi {access = #tile.access<axis = 1, width = 1>} : tensor<16x32x!tile.ptr<f32>, #rows>
  return %y : tensor<16x32xf32, #rows>
}

// CHECK-LABEL: func.func @read_in_another_layout
// CHECK: tile.store
// CHECK: tile.barrier
// CHECK: tile.load
// CHECK: return
func.func @read_in_another_layout(%p: !tile.ptr<f32>, %o: tensor<16x32xi32, #rows>, %x: tensor<16x32xf32, #rows>, %c: tensor<16x32xi32, #columns>) -> tensor<16x32xf32, #columns> {
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>, #rows>
  %pi = tile.ptr_add %ps, %o : tensor<16x32x!tile.ptr<f32>, #rows>, tensor<16x32xi32, #rows>
  tile.store %pi, %x {access = #tile.access<axis = 1, width = 1>} : tensor<16x32x!tile.ptr<f32>, #rows>
  %cs = tile.splat %p : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>, #columns>
  %ci = tile.ptr_add %cs, %c : tensor<16x32x!tile.ptr<f32>, #columns>, tensor<16x32xi32, #columns>
  %y = tile.load %ci {access = #tile.access<axis = 1, width = 1>} : tensor<16x32x!tile.ptr<f32>, #columns>
  return %y : tensor<16x32xf32, #columns>
}
