module {
  func.func @odd(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %cst = arith.constant dense<2.000000e+00> : tensor<96x160xf16>
    %0 = tile.arange 0, 96 : tensor<96xi32>
    %1 = tile.arange 0, 160 : tensor<160xi32>
    %2 = tile.expand_dims %0 {axis = 1 : i32} : tensor<96xi32> -> tensor<96x1xi32>
    %3 = tile.splat %arg2 : i32 -> tensor<96x1xi32>
    %4 = arith.muli %2, %3 : tensor<96x1xi32>
    %5 = tile.expand_dims %1 {axis = 0 : i32} : tensor<160xi32> -> tensor<1x160xi32>
    %6 = tile.broadcast %4 : tensor<96x1xi32> -> tensor<96x160xi32>
    %7 = tile.broadcast %5 : tensor<1x160xi32> -> tensor<96x160xi32>
    %8 = arith.addi %6, %7 : tensor<96x160xi32>
    %9 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<96x160x!tile.ptr<f16>>
    %10 = tile.ptr_add %9, %8 : tensor<96x160x!tile.ptr<f16>>, tensor<96x160xi32>
    %11 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<96x160x!tile.ptr<f16>>
    %12 = tile.ptr_add %11, %8 : tensor<96x160x!tile.ptr<f16>>, tensor<96x160xi32>
    %13 = tile.load %12 : tensor<96x160x!tile.ptr<f16>>
    %14 = arith.mulf %13, %cst : tensor<96x160xf16>
    tile.store %10, %14 : tensor<96x160x!tile.ptr<f16>>
    return
  }
}