module {
  func.func @vector_add(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.name = "y"}, %arg2: !tile.ptr<f32> {tile.name = "out"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "n"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %c64_i32 = arith.constant 64 : i32
    %1 = arith.muli %0, %c64_i32 : i32
    %2 = tile.arange 0, 64 : tensor<64xi32>
    %3 = tile.splat %1 : i32 -> tensor<64xi32>
    %4 = arith.addi %3, %2 : tensor<64xi32>
    %5 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<64xi32>
    %7 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %4 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %9 = tile.load %8, %6 : tensor<64x!tile.ptr<f32>>
    %10 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %11 = tile.ptr_add %10, %4 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %12 = tile.load %11, %6 : tensor<64x!tile.ptr<f32>>
    %13 = arith.addf %9, %12 : tensor<64xf32>
    %14 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %15 = tile.ptr_add %14, %4 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    tile.store %15, %13, %6 : tensor<64x!tile.ptr<f32>>
    return
  }
}
