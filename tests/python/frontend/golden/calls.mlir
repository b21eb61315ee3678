module {
  func.func @calls(%arg0: !tile.ptr<f32> {tile.name = "x"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 8 : tensor<8xi32>
    %1 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %2 = tile.ptr_add %1, %0 : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %3 = tile.load %2 : tensor<8x!tile.ptr<f32>>
    %cst = arith.constant dense<2.000000e+00> : tensor<8xf32>
    %4 = arith.mulf %3, %cst : tensor<8xf32>
    %cst_0 = arith.constant dense<3.000000e+00> : tensor<8xf32>
    %5 = arith.addf %4, %cst_0 : tensor<8xf32>
    %cst_1 = arith.constant dense<5.000000e-01> : tensor<8xf32>
    %6 = arith.mulf %5, %cst_1 : tensor<8xf32>
    %cst_2 = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %7 = arith.addf %6, %cst_2 : tensor<8xf32>
    %cst_3 = arith.constant dense<1.500000e+00> : tensor<8xf32>
    %8 = arith.mulf %7, %cst_3 : tensor<8xf32>
    %cst_4 = arith.constant dense<1.000000e+00> : tensor<8xf32>
    %9 = arith.addf %8, %cst_4 : tensor<8xf32>
    %10 = arith.mulf %9, %9 : tensor<8xf32>
    %11 = arith.addf %9, %10 : tensor<8xf32>
    %cst_5 = arith.constant 0.000000e+00 : f32
    %12 = tile.splat %cst_5 : f32 -> tensor<8xf32>
    %13 = arith.maxnumf %11, %12 : tensor<8xf32>
    tile.store %2, %13 : tensor<8x!tile.ptr<f32>>
    return
  }
}
