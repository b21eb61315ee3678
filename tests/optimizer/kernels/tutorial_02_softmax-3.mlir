module {
  func.func @softmax_rows(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "out_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "in_ptr"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "in_stride"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "out_stride"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "columns"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0xFF800000> : tensor<4096xf32>
    %0 = tile.program_id 0
    %1 = tile.arange 0, 4096 : tensor<4096xi32>
    %2 = tile.splat %arg4 : i32 -> tensor<4096xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<4096xi32>
    %4 = arith.muli %0, %arg2 : i32
    %5 = tile.ptr_add %arg1, %4 : !tile.ptr<f32>, i32
    %6 = tile.splat %5 : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
    %7 = tile.ptr_add %6, %1 : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %8 = tile.load %7, %3, %cst : tensor<4096x!tile.ptr<f32>>
    %9 = tile.reduce(%8) axis 0 : (tensor<4096xf32>) -> f32 {
    ^bb0(%arg5: f32, %arg6: f32):
      %20 = arith.maxnumf %arg5, %arg6 : f32
      tile.yield %20 : f32
    }
    %10 = tile.splat %9 : f32 -> tensor<4096xf32>
    %11 = arith.subf %8, %10 : tensor<4096xf32>
    %12 = math.exp %11 fastmath<afn> : tensor<4096xf32>
    %13 = arith.muli %0, %arg3 : i32
    %14 = tile.ptr_add %arg0, %13 : !tile.ptr<f32>, i32
    %15 = tile.splat %14 : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %1 : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %17 = tile.reduce(%12) axis 0 : (tensor<4096xf32>) -> f32 {
    ^bb0(%arg5: f32, %arg6: f32):
      %20 = arith.addf %arg5, %arg6 : f32
      tile.yield %20 : f32
    }
    %18 = tile.splat %17 : f32 -> tensor<4096xf32>
    %19 = arith.divf %12, %18 fastmath<afn> : tensor<4096xf32>
    tile.store %16, %19, %3 : tensor<4096x!tile.ptr<f32>>
    return
  }
}