module {
  func.func @bmm(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "a"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "b"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "c"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0.000000e+00> : tensor<4x32x32xf32>
    %cst_0 = arith.constant dense<32> : tensor<1x32x1xi32>
    %cst_1 = arith.constant dense<1024> : tensor<4x1x1xi32>
    %0 = tile.arange 0, 4 : tensor<4xi32>
    %1 = tile.expand_dims %0 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %2 = tile.expand_dims %1 {axis = 2 : i32} : tensor<4x1xi32> -> tensor<4x1x1xi32>
    %3 = tile.arange 0, 32 : tensor<32xi32>
    %4 = tile.expand_dims %3 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %5 = tile.expand_dims %4 {axis = 2 : i32} : tensor<1x32xi32> -> tensor<1x32x1xi32>
    %6 = tile.expand_dims %4 {axis = 1 : i32} : tensor<1x32xi32> -> tensor<1x1x32xi32>
    %7 = arith.muli %2, %cst_1 : tensor<4x1x1xi32>
    %8 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<4x1x1x!tile.ptr<f16>>
    %9 = tile.ptr_add %8, %7 : tensor<4x1x1x!tile.ptr<f16>>, tensor<4x1x1xi32>
    %10 = arith.muli %5, %cst_0 : tensor<1x32x1xi32>
    %11 = tile.broadcast %9 : tensor<4x1x1x!tile.ptr<f16>> -> tensor<4x32x1x!tile.ptr<f16>>
    %12 = tile.broadcast %10 : tensor<1x32x1xi32> -> tensor<4x32x1xi32>
    %13 = tile.ptr_add %11, %12 : tensor<4x32x1x!tile.ptr<f16>>, tensor<4x32x1xi32>
    %14 = tile.broadcast %13 : tensor<4x32x1x!tile.ptr<f16>> -> tensor<4x32x32x!tile.ptr<f16>>
    %15 = tile.broadcast %6 : tensor<1x1x32xi32> -> tensor<4x32x32xi32>
    %16 = tile.ptr_add %14, %15 : tensor<4x32x32x!tile.ptr<f16>>, tensor<4x32x32xi32>
    %17 = tile.load %16 : tensor<4x32x32x!tile.ptr<f16>>
    %18 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<4x1x1x!tile.ptr<f16>>
    %19 = tile.ptr_add %18, %7 : tensor<4x1x1x!tile.ptr<f16>>, tensor<4x1x1xi32>
    %20 = tile.broadcast %19 : tensor<4x1x1x!tile.ptr<f16>> -> tensor<4x32x1x!tile.ptr<f16>>
    %21 = tile.ptr_add %20, %12 : tensor<4x32x1x!tile.ptr<f16>>, tensor<4x32x1xi32>
    %22 = tile.broadcast %21 : tensor<4x32x1x!tile.ptr<f16>> -> tensor<4x32x32x!tile.ptr<f16>>
    %23 = tile.ptr_add %22, %15 : tensor<4x32x32x!tile.ptr<f16>>, tensor<4x32x32xi32>
    %24 = tile.load %23 : tensor<4x32x32x!tile.ptr<f16>>
    %25 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<4x1x1x!tile.ptr<f32>>
    %26 = tile.ptr_add %25, %7 : tensor<4x1x1x!tile.ptr<f32>>, tensor<4x1x1xi32>
    %27 = tile.broadcast %26 : tensor<4x1x1x!tile.ptr<f32>> -> tensor<4x32x1x!tile.ptr<f32>>
    %28 = tile.ptr_add %27, %12 : tensor<4x32x1x!tile.ptr<f32>>, tensor<4x32x1xi32>
    %29 = tile.broadcast %28 : tensor<4x32x1x!tile.ptr<f32>> -> tensor<4x32x32x!tile.ptr<f32>>
    %30 = tile.ptr_add %29, %15 : tensor<4x32x32x!tile.ptr<f32>>, tensor<4x32x32xi32>
    %31 = tile.dot %17, %24, %cst : tensor<4x32x32xf16> * tensor<4x32x32xf16> -> tensor<4x32x32xf32>
    tile.store %30, %31 : tensor<4x32x32x!tile.ptr<f32>>
    return
  }
}