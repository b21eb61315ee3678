module {
  func.func @softmax(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "n"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0xFC00> : tensor<32768xf16>
    %0 = tile.program_id 0
    %1 = tile.arange 0, 32768 : tensor<32768xi32>
    %2 = tile.splat %arg2 : i32 -> tensor<32768xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<32768xi32>
    %4 = arith.muli %0, %arg2 : i32
    %5 = tile.ptr_add %arg0, %4 : !tile.ptr<f16>, i32
    %6 = tile.splat %5 : !tile.ptr<f16> -> tensor<32768x!tile.ptr<f16>>
    %7 = tile.ptr_add %6, %1 : tensor<32768x!tile.ptr<f16>>, tensor<32768xi32>
    %8 = tile.load %7, %3, %cst : tensor<32768x!tile.ptr<f16>>
    %9 = arith.extf %8 : tensor<32768xf16> to tensor<32768xf32>
    %10 = tile.reduce(%9) axis 0 : (tensor<32768xf32>) -> f32 {
    ^bb0(%arg3: f32, %arg4: f32):
      %21 = arith.maxnumf %arg3, %arg4 : f32
      tile.yield %21 : f32
    }
    %11 = tile.splat %10 : f32 -> tensor<32768xf32>
    %12 = arith.subf %9, %11 : tensor<32768xf32>
    %13 = math.exp %12 fastmath<afn> : tensor<32768xf32>
    %14 = tile.ptr_add %arg1, %4 : !tile.ptr<f16>, i32
    %15 = tile.splat %14 : !tile.ptr<f16> -> tensor<32768x!tile.ptr<f16>>
    %16 = tile.ptr_add %15, %1 : tensor<32768x!tile.ptr<f16>>, tensor<32768xi32>
    %17 = tile.reduce(%13) axis 0 : (tensor<32768xf32>) -> f32 {
    ^bb0(%arg3: f32, %arg4: f32):
      %21 = arith.addf %arg3, %arg4 : f32
      tile.yield %21 : f32
    }
    %18 = tile.splat %17 : f32 -> tensor<32768xf32>
    %19 = arith.divf %13, %18 fastmath<afn> : tensor<32768xf32>
    %20 = arith.truncf %19 : tensor<32768xf32> to tensor<32768xf16>
    tile.store %16, %20, %3 : tensor<32768x!tile.ptr<f16>>
    return
  }
}