// PIPELINE: --buffer-accesses=large=true

#line = #tile.layout<256, register = [1 2], lane = [4 8 16 32 64], warp = [128]>

// A range that is known is enough; a stride is not, where arrays may be large.
// CHECK-LABEL: func.func @strided
// CHECK: tile.load
// CHECK-SAME: tensor<256x
// CHECK-COUNT-1: in_buffer
// CHECK-NOT: in_buffer
// CHECK: return
func.func @strided(%p: !tile.ptr<f32>, %stride: i32) {
  %i = tile.arange 0, 256 : tensor<256xi32, #line>
  %strides = tile.splat %stride : i32 -> tensor<256xi32, #line>
  %o = arith.muli %i, %strides : tensor<256xi32, #line>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #line>
  %at = tile.ptr_add %ps, %o : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  %x = tile.load %at : tensor<256x!tile.ptr<f32>, #line>
  %to = tile.ptr_add %ps, %i : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  tile.store %to, %x : tensor<256x!tile.ptr<f32>, #line>
  return
}
