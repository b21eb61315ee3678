module {
  func.func @odd(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.name = "N"}) attributes {tile.kernel} {
    %cst = arith.constant dense<2.000000e+00> : tensor<1x7xf32>
    %0 = tile.arange 0, 7 : tensor<7xi32>
    %1 = tile.expand_dims %0 {axis = 0 : i32} : tensor<7xi32> -> tensor<1x7xi32>
    %2 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<1x7x!tile.ptr<f32>>
    %3 = tile.ptr_add %2, %1 : tensor<1x7x!tile.ptr<f32>>, tensor<1x7xi32>
    %4 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<1x7x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %1 : tensor<1x7x!tile.ptr<f32>>, tensor<1x7xi32>
    %6 = tile.load %5 : tensor<1x7x!tile.ptr<f32>>
    %7 = arith.mulf %6, %cst : tensor<1x7xf32>
    tile.store %3, %7 : tensor<1x7x!tile.ptr<f32>>
    return
  }
}