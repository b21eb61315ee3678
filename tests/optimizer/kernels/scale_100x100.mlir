module {
  func.func @odd(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.name = "N"}) attributes {tile.kernel} {
    %cst = arith.constant dense<2.000000e+00> : tensor<100x100xf32>
    %0 = tile.arange 0, 100 : tensor<100xi32>
    %1 = tile.expand_dims %0 {axis = 1 : i32} : tensor<100xi32> -> tensor<100x1xi32>
    %2 = tile.splat %arg2 : i32 -> tensor<100x1xi32>
    %3 = arith.muli %1, %2 : tensor<100x1xi32>
    %4 = tile.expand_dims %0 {axis = 0 : i32} : tensor<100xi32> -> tensor<1x100xi32>
    %5 = tile.broadcast %3 : tensor<100x1xi32> -> tensor<100x100xi32>
    %6 = tile.broadcast %4 : tensor<1x100xi32> -> tensor<100x100xi32>
    %7 = arith.addi %5, %6 : tensor<100x100xi32>
    %8 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<100x100x!tile.ptr<f32>>
    %9 = tile.ptr_add %8, %7 : tensor<100x100x!tile.ptr<f32>>, tensor<100x100xi32>
    %10 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<100x100x!tile.ptr<f32>>
    %11 = tile.ptr_add %10, %7 : tensor<100x100x!tile.ptr<f32>>, tensor<100x100xi32>
    %12 = tile.load %11 : tensor<100x100x!tile.ptr<f32>>
    %13 = arith.mulf %12, %cst : tensor<100x100xf32>
    tile.store %9, %13 : tensor<100x100x!tile.ptr<f32>>
    return
  }
}