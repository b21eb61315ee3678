module {
  func.func @widen(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "y"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}) attributes {tile.kernel} {
    %c2048_i32 = arith.constant 2048 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c2048_i32 : i32
    %2 = tile.arange 0, 2048 : tensor<2048xi32>
    %3 = tile.splat %1 : i32 -> tensor<2048xi32>
    %4 = arith.addi %3, %2 : tensor<2048xi32>
    %5 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
    %6 = tile.ptr_add %5, %4 : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
    %7 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<2048x!tile.ptr<f16>>
    %8 = tile.ptr_add %7, %4 : tensor<2048x!tile.ptr<f16>>, tensor<2048xi32>
    %9 = tile.load %8 : tensor<2048x!tile.ptr<f16>>
    %10 = arith.extf %9 : tensor<2048xf16> to tensor<2048xf32>
    %11 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
    %12 = tile.ptr_add %11, %4 : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
    %13 = tile.load %12 : tensor<2048x!tile.ptr<f32>>
    %14 = arith.addf %10, %13 : tensor<2048xf32>
    tile.store %6, %14 : tensor<2048x!tile.ptr<f32>>
    return
  }
}