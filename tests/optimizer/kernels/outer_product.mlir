module {
  func.func @outer(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "y"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x1xi32>
    %0 = tile.arange 0, 64 : tensor<64xi32>
    %1 = tile.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %2 = arith.muli %1, %cst : tensor<64x1xi32>
    %3 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %4 = tile.ptr_add %3, %2 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %5 = tile.expand_dims %0 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %6 = tile.broadcast %4 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %7 = tile.broadcast %5 : tensor<1x64xi32> -> tensor<64x64xi32>
    %8 = tile.ptr_add %6, %7 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %9 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %10 = tile.ptr_add %9, %0 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %11 = tile.load %10 : tensor<64x!tile.ptr<f32>>
    %12 = tile.expand_dims %11 {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
    %13 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %14 = tile.ptr_add %13, %0 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %15 = tile.load %14 : tensor<64x!tile.ptr<f32>>
    %16 = tile.expand_dims %15 {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %17 = tile.broadcast %12 : tensor<64x1xf32> -> tensor<64x64xf32>
    %18 = tile.broadcast %16 : tensor<1x64xf32> -> tensor<64x64xf32>
    %19 = arith.mulf %17, %18 : tensor<64x64xf32>
    tile.store %8, %19 : tensor<64x64x!tile.ptr<f32>>
    return
  }
}