// PIPELINE: --assign-layouts=warps=4

// 16 bytes per lane, lanes and then warps along the row; nothing is converted.
// CHECK-LABEL: func.func @vector_add
func.func @vector_add(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i64},
                      %n: i32 {tile.divisibility = 16 : i64}) {
  // CHECK-NOT: convert_layout
  // CHECK: tile.load {{.*}} : tensor<1024x!tile.ptr<f32>, #tile.layout<1024, register = [1 2 512], lane = [4 8 16 32 64], warp = [128 256]>>
  // CHECK: arith.addf {{.*}} : tensor<1024xf32, #tile.layout<1024, register = [1 2 512], lane = [4 8 16 32 64], warp = [128 256]>>
  // CHECK: tile.store {{.*}} : tensor<1024x!tile.ptr<f32>, #tile.layout<1024, register = [1 2 512], lane = [4 8 16 32 64], warp = [128 256]>>
  // CHECK: return
  %pid = tile.program_id 0
  %size = arith.constant 1024 : i32
  %start = arith.muli %pid, %size : i32
  %i = tile.arange 0, 1024 : tensor<1024xi32>
  %s = tile.splat %start : i32 -> tensor<1024xi32>
  %o = arith.addi %s, %i : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %o, %ns : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp, %m : tensor<1024x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %yp = tile.ptr_add %ys, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %sum = arith.addf %v, %v : tensor<1024xf32>
  tile.store %yp, %sum, %m : tensor<1024x!tile.ptr<f32>>
  return
}
