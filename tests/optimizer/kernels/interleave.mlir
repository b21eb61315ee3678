module {
  func.func @rope(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "o"}) attributes {tile.kernel} {
    %cst = arith.constant dense<3.000000e+00> : tensor<1024xf16>
    %cst_0 = arith.constant dense<2.000000e+00> : tensor<1024xf16>
    %0 = tile.arange 0, 2048 : tensor<2048xi32>
    %1 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<2048x!tile.ptr<f16>>
    %2 = tile.ptr_add %1, %0 : tensor<2048x!tile.ptr<f16>>, tensor<2048xi32>
    %3 = tile.load %2 : tensor<2048x!tile.ptr<f16>>
    %4 = tile.reshape %3 : tensor<2048xf16> -> tensor<1024x2xf16>
    %lhs, %rhs = tile.split %4 : tensor<1024x2xf16> -> tensor<1024xf16>
    %5 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<2048x!tile.ptr<f16>>
    %6 = tile.ptr_add %5, %0 : tensor<2048x!tile.ptr<f16>>, tensor<2048xi32>
    %7 = arith.mulf %lhs, %cst_0 : tensor<1024xf16>
    %8 = arith.subf %7, %rhs : tensor<1024xf16>
    %9 = arith.mulf %rhs, %cst : tensor<1024xf16>
    %10 = arith.addf %lhs, %9 : tensor<1024xf16>
    %11 = tile.join %8, %10 : tensor<1024xf16> -> tensor<1024x2xf16>
    %12 = tile.reshape %11 : tensor<1024x2xf16> -> tensor<2048xf16>
    tile.store %6, %12 : tensor<2048x!tile.ptr<f16>>
    return
  }
}