module {
  func.func @reduce2(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o0"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o1"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 32 : tensor<32xi32>
    %1 = tile.arange 0, 256 : tensor<256xi32>
    %2 = tile.expand_dims %0 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %3 = tile.splat %arg3 : i32 -> tensor<32x1xi32>
    %4 = arith.muli %2, %3 : tensor<32x1xi32>
    %5 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<32x1x!tile.ptr<f32>>
    %6 = tile.ptr_add %5, %4 : tensor<32x1x!tile.ptr<f32>>, tensor<32x1xi32>
    %7 = tile.expand_dims %1 {axis = 0 : i32} : tensor<256xi32> -> tensor<1x256xi32>
    %8 = tile.broadcast %6 : tensor<32x1x!tile.ptr<f32>> -> tensor<32x256x!tile.ptr<f32>>
    %9 = tile.broadcast %7 : tensor<1x256xi32> -> tensor<32x256xi32>
    %10 = tile.ptr_add %8, %9 : tensor<32x256x!tile.ptr<f32>>, tensor<32x256xi32>
    %11 = tile.load %10 : tensor<32x256x!tile.ptr<f32>>
    %12 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
    %13 = tile.ptr_add %12, %1 : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
    %14 = tile.reduce(%11) axis 0 : (tensor<32x256xf32>) -> tensor<256xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %18 = arith.addf %arg4, %arg5 : f32
      tile.yield %18 : f32
    }
    tile.store %13, %14 : tensor<256x!tile.ptr<f32>>
    %15 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %0 : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
    %17 = tile.reduce(%11) axis 1 : (tensor<32x256xf32>) -> tensor<32xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %18 = arith.addf %arg4, %arg5 : f32
      tile.yield %18 : f32
    }
    tile.store %16, %17 : tensor<32x!tile.ptr<f32>>
    return
  }
}