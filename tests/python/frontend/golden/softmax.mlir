module {
  func.func @softmax(%arg0: !tile.ptr<f32> {tile.name = "out"}, %arg1: !tile.ptr<f32> {tile.name = "inp"}, %arg2: i32 {tile.name = "stride"}, %arg3: i32 {tile.name = "cols"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %1 = tile.arange 0, 64 : tensor<64xi32>
    %2 = arith.muli %0, %arg2 : i32
    %3 = tile.ptr_add %arg1, %2 : !tile.ptr<f32>, i32
    %4 = tile.splat %3 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %1 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %6 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %7 = arith.cmpi slt, %1, %6 : tensor<64xi32>
    %cst = arith.constant dense<0xFF800000> : tensor<64xf32>
    %8 = tile.load %5, %7, %cst : tensor<64x!tile.ptr<f32>>
    %9 = tile.reduce(%8) axis 0 : (tensor<64xf32>) -> f32 {
    ^bb0(%arg4: f32, %arg5: f32):
      %22 = arith.maxnumf %arg4, %arg5 : f32
      tile.yield %22 : f32
    }
    %10 = tile.splat %9 : f32 -> tensor<64xf32>
    %11 = arith.subf %8, %10 : tensor<64xf32>
    %12 = math.exp %11 fastmath<afn> : tensor<64xf32>
    %13 = arith.muli %0, %arg2 : i32
    %14 = tile.ptr_add %arg0, %13 : !tile.ptr<f32>, i32
    %15 = tile.splat %14 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %1 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %17 = tile.reduce(%12) axis 0 : (tensor<64xf32>) -> f32 {
    ^bb0(%arg4: f32, %arg5: f32):
      %22 = arith.addf %arg4, %arg5 : f32
      tile.yield %22 : f32
    }
    %18 = tile.splat %17 : f32 -> tensor<64xf32>
    %19 = arith.divf %12, %18 fastmath<afn> : tensor<64xf32>
    %20 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %21 = arith.cmpi slt, %1, %20 : tensor<64xi32>
    tile.store %16, %19, %21 : tensor<64x!tile.ptr<f32>>
    return
  }
}
