module {
  func.func @cumsum(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 4096 : tensor<4096xi32>
    %1 = tile.program_id 0
    %2 = arith.muli %1, %arg2 : i32
    %3 = tile.ptr_add %arg1, %2 : !tile.ptr<f32>, i32
    %4 = tile.splat %3 : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %0 : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %6 = tile.ptr_add %arg0, %2 : !tile.ptr<f32>, i32
    %7 = tile.splat %6 : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %0 : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %9 = tile.load %8 : tensor<4096x!tile.ptr<f32>>
    %10 = tile.scan(%9) axis 0 reverse false : (tensor<4096xf32>) -> tensor<4096xf32> {
    ^bb0(%arg3: f32, %arg4: f32):
      %11 = arith.addf %arg3, %arg4 : f32
      tile.yield %11 : f32
    }
    tile.store %5, %10 : tensor<4096x!tile.ptr<f32>>
    return
  }
}