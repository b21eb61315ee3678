module {
  func.func @tcopy2(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %cst = arith.constant dense<2.000000e+00> : tensor<64x64xf32>
    %c64_i32 = arith.constant 64 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c64_i32 : i32
    %2 = tile.arange 0, 64 : tensor<64xi32>
    %3 = tile.splat %1 : i32 -> tensor<64xi32>
    %4 = arith.addi %3, %2 : tensor<64xi32>
    %5 = tile.program_id 1
    %6 = arith.muli %5, %c64_i32 : i32
    %7 = tile.splat %6 : i32 -> tensor<64xi32>
    %8 = arith.addi %7, %2 : tensor<64xi32>
    %9 = tile.expand_dims %4 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %10 = tile.splat %arg3 : i32 -> tensor<64x1xi32>
    %11 = arith.muli %9, %10 : tensor<64x1xi32>
    %12 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %13 = tile.ptr_add %12, %11 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %14 = tile.expand_dims %8 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %15 = tile.broadcast %13 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %16 = tile.broadcast %14 : tensor<1x64xi32> -> tensor<64x64xi32>
    %17 = tile.ptr_add %15, %16 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %18 = tile.load %17 : tensor<64x64x!tile.ptr<f32>>
    %19 = tile.splat %arg2 : i32 -> tensor<1x64xi32>
    %20 = arith.muli %14, %19 : tensor<1x64xi32>
    %21 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<1x64x!tile.ptr<f32>>
    %22 = tile.ptr_add %21, %20 : tensor<1x64x!tile.ptr<f32>>, tensor<1x64xi32>
    %23 = tile.broadcast %22 : tensor<1x64x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %24 = tile.broadcast %9 : tensor<64x1xi32> -> tensor<64x64xi32>
    %25 = tile.ptr_add %23, %24 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %26 = arith.mulf %18, %cst : tensor<64x64xf32>
    tile.store %25, %26 : tensor<64x64x!tile.ptr<f32>>
    return
  }
}