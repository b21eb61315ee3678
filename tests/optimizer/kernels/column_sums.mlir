module {
  func.func @colsum(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %c32_i32 = arith.constant 32 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<32x128xf32>
    %0 = tile.arange 0, 128 : tensor<128xi32>
    %1 = tile.arange 0, 32 : tensor<32xi32>
    %2 = tile.splat %arg3 : i32 -> tensor<32x1xi32>
    %3 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
    %4 = tile.expand_dims %0 {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %5 = tile.broadcast %4 : tensor<1x128xi32> -> tensor<32x128xi32>
    %6 = scf.for %arg4 = %c0_i32 to %arg2 step %c32_i32 iter_args(%arg5 = %cst) -> (tensor<32x128xf32>)  : i32 {
      %10 = tile.splat %arg4 : i32 -> tensor<32xi32>
      %11 = arith.addi %10, %1 : tensor<32xi32>
      %12 = tile.expand_dims %11 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
      %13 = arith.muli %12, %2 : tensor<32x1xi32>
      %14 = tile.ptr_add %3, %13 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
      %15 = tile.broadcast %14 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x128x!tile.ptr<f16>>
      %16 = tile.ptr_add %15, %5 : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi32>
      %17 = tile.load %16 : tensor<32x128x!tile.ptr<f16>>
      %18 = arith.extf %17 : tensor<32x128xf16> to tensor<32x128xf32>
      %19 = arith.addf %arg5, %18 : tensor<32x128xf32>
      scf.yield %19 : tensor<32x128xf32>
    }
    %7 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %0 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %9 = tile.reduce(%6) axis 0 : (tensor<32x128xf32>) -> tensor<128xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %10 = arith.addf %arg4, %arg5 : f32
      tile.yield %10 : f32
    }
    tile.store %8, %9 : tensor<128x!tile.ptr<f32>>
    return
  }
}