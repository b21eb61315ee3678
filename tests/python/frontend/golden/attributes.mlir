module {
  func.func @attributes(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: !tile.ptr<i64> {tile.name = "y"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 8 : tensor<8xi32>
    %1 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %2 = tile.ptr_add %1, %0 : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %3 = tile.load %2 : tensor<8x!tile.ptr<f32>>
    %4 = tile.expand_dims %3 {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
    %5 = tile.expand_dims %3 {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>
    %6 = tile.broadcast %4 : tensor<8x1xf32> -> tensor<8x8xf32>
    %7 = tile.broadcast %5 : tensor<1x8xf32> -> tensor<8x8xf32>
    %8 = arith.addf %6, %7 : tensor<8x8xf32>
    %9 = tile.transpose %8 [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
    %10 = arith.fptosi %9 : tensor<8x8xf32> to tensor<8x8xi64>
    %cst = arith.constant dense<8> : tensor<8x8xi64>
    %11 = arith.addi %10, %cst : tensor<8x8xi64>
    %cst_0 = arith.constant dense<64> : tensor<8x8xi64>
    %12 = arith.addi %11, %cst_0 : tensor<8x8xi64>
    %13 = tile.arange 0, 8 : tensor<8xi32>
    %14 = tile.expand_dims %13 {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %cst_1 = arith.constant dense<8> : tensor<8x1xi32>
    %15 = arith.muli %14, %cst_1 : tensor<8x1xi32>
    %16 = tile.splat %arg1 : !tile.ptr<i64> -> tensor<8x1x!tile.ptr<i64>>
    %17 = tile.ptr_add %16, %15 : tensor<8x1x!tile.ptr<i64>>, tensor<8x1xi32>
    %18 = tile.arange 0, 8 : tensor<8xi32>
    %19 = tile.expand_dims %18 {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %20 = tile.broadcast %17 : tensor<8x1x!tile.ptr<i64>> -> tensor<8x8x!tile.ptr<i64>>
    %21 = tile.broadcast %19 : tensor<1x8xi32> -> tensor<8x8xi32>
    %22 = tile.ptr_add %20, %21 : tensor<8x8x!tile.ptr<i64>>, tensor<8x8xi32>
    tile.store %22, %12 : tensor<8x8x!tile.ptr<i64>>
    return
  }
}
