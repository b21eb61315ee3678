module {
  func.func @reduce2(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o0"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o1"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 64 : tensor<64xi32>
    %1 = tile.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %2 = tile.splat %arg3 : i32 -> tensor<64x1xi32>
    %3 = arith.muli %1, %2 : tensor<64x1xi32>
    %4 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %3 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %6 = tile.expand_dims %0 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %7 = tile.broadcast %5 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %8 = tile.broadcast %6 : tensor<1x64xi32> -> tensor<64x64xi32>
    %9 = tile.ptr_add %7, %8 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %10 = tile.load %9 : tensor<64x64x!tile.ptr<f32>>
    %11 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %12 = tile.ptr_add %11, %0 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %13 = tile.reduce(%10) axis 0 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %17 = arith.addf %arg4, %arg5 : f32
      tile.yield %17 : f32
    }
    tile.store %12, %13 : tensor<64x!tile.ptr<f32>>
    %14 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %15 = tile.ptr_add %14, %0 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %16 = tile.reduce(%10) axis 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %17 = arith.addf %arg4, %arg5 : f32
      tile.yield %17 : f32
    }
    tile.store %15, %16 : tensor<64x!tile.ptr<f32>>
    return
  }
}