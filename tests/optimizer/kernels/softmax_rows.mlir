module {
  func.func @softmax2d(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "n"}) attributes {tile.kernel} {
    %c16_i32 = arith.constant 16 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c16_i32 : i32
    %2 = tile.arange 0, 16 : tensor<16xi32>
    %3 = tile.splat %1 : i32 -> tensor<16xi32>
    %4 = arith.addi %3, %2 : tensor<16xi32>
    %5 = tile.arange 0, 256 : tensor<256xi32>
    %6 = tile.expand_dims %4 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %7 = tile.splat %arg2 : i32 -> tensor<16x1xi32>
    %8 = arith.muli %6, %7 : tensor<16x1xi32>
    %9 = tile.expand_dims %5 {axis = 0 : i32} : tensor<256xi32> -> tensor<1x256xi32>
    %10 = tile.broadcast %8 : tensor<16x1xi32> -> tensor<16x256xi32>
    %11 = tile.broadcast %9 : tensor<1x256xi32> -> tensor<16x256xi32>
    %12 = arith.addi %10, %11 : tensor<16x256xi32>
    %13 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<16x256x!tile.ptr<f32>>
    %14 = tile.ptr_add %13, %12 : tensor<16x256x!tile.ptr<f32>>, tensor<16x256xi32>
    %15 = tile.load %14 : tensor<16x256x!tile.ptr<f32>>
    %16 = tile.reduce(%15) axis 1 : (tensor<16x256xf32>) -> tensor<16xf32> {
    ^bb0(%arg3: f32, %arg4: f32):
      %27 = arith.maxnumf %arg3, %arg4 : f32
      tile.yield %27 : f32
    }
    %17 = tile.expand_dims %16 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %18 = tile.broadcast %17 : tensor<16x1xf32> -> tensor<16x256xf32>
    %19 = arith.subf %15, %18 : tensor<16x256xf32>
    %20 = math.exp %19 fastmath<afn> : tensor<16x256xf32>
    %21 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x256x!tile.ptr<f32>>
    %22 = tile.ptr_add %21, %12 : tensor<16x256x!tile.ptr<f32>>, tensor<16x256xi32>
    %23 = tile.reduce(%20) axis 1 : (tensor<16x256xf32>) -> tensor<16xf32> {
    ^bb0(%arg3: f32, %arg4: f32):
      %27 = arith.addf %arg3, %arg4 : f32
      tile.yield %27 : f32
    }
    %24 = tile.expand_dims %23 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %25 = tile.broadcast %24 : tensor<16x1xf32> -> tensor<16x256xf32>
    %26 = arith.divf %20, %25 fastmath<afn> : tensor<16x256xf32>
    tile.store %22, %26 : tensor<16x256x!tile.ptr<f32>>
    return
  }
}