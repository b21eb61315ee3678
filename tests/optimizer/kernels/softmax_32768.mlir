module {
  func.func @softmax(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "n"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0xFF800000> : tensor<32768xf32>
    %0 = tile.program_id 0
    %1 = tile.arange 0, 32768 : tensor<32768xi32>
    %2 = tile.splat %arg2 : i32 -> tensor<32768xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<32768xi32>
    %4 = arith.muli %0, %arg2 : i32
    %5 = tile.ptr_add %arg0, %4 : !tile.ptr<f32>, i32
    %6 = tile.splat %5 : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
    %7 = tile.ptr_add %6, %1 : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
    %8 = tile.load %7, %3, %cst : tensor<32768x!tile.ptr<f32>>
    %9 = tile.reduce(%8) axis 0 : (tensor<32768xf32>) -> f32 {
    ^bb0(%arg3: f32, %arg4: f32):
      %19 = arith.maxnumf %arg3, %arg4 : f32
      tile.yield %19 : f32
    }
    %10 = tile.splat %9 : f32 -> tensor<32768xf32>
    %11 = arith.subf %8, %10 : tensor<32768xf32>
    %12 = math.exp %11 fastmath<afn> : tensor<32768xf32>
    %13 = tile.ptr_add %arg1, %4 : !tile.ptr<f32>, i32
    %14 = tile.splat %13 : !tile.ptr<f32> -> tensor<32768x!tile.ptr<f32>>
    %15 = tile.ptr_add %14, %1 : tensor<32768x!tile.ptr<f32>>, tensor<32768xi32>
    %16 = tile.reduce(%12) axis 0 : (tensor<32768xf32>) -> f32 {
    ^bb0(%arg3: f32, %arg4: f32):
      %19 = arith.addf %arg3, %arg4 : f32
      tile.yield %19 : f32
    }
    %17 = tile.splat %16 : f32 -> tensor<32768xf32>
    %18 = arith.divf %12, %17 fastmath<afn> : tensor<32768xf32>
    tile.store %15, %18, %3 : tensor<32768x!tile.ptr<f32>>
    return
  }
}