module {
  func.func @layer_norm_forward(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "y_ptr"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "w_ptr"}, %arg3: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "b_ptr"}, %arg4: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "mean_ptr"}, %arg5: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "rstd_ptr"}, %arg6: i32 {tile.name = "N"}, %arg7: f32 {tile.name = "eps"}) attributes {tile.kernel} {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
    %0 = tile.program_id 0
    %1 = tile.arange 0, 1024 : tensor<1024xi32>
    %2 = tile.splat %arg6 : i32 -> tensor<1024xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<1024xi32>
    %4 = arith.muli %0, %arg6 : i32
    %5 = tile.ptr_add %arg0, %4 : !tile.ptr<f32>, i32
    %6 = tile.splat %5 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %7 = tile.ptr_add %6, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %8 = tile.load %7, %3, %cst_0 : tensor<1024x!tile.ptr<f32>>
    %9 = tile.reduce(%8) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%arg8: f32, %arg9: f32):
      %36 = arith.addf %arg8, %arg9 : f32
      tile.yield %36 : f32
    }
    %10 = arith.sitofp %arg6 : i32 to f32
    %11 = arith.divf %9, %10 fastmath<afn> : f32
    %12 = tile.splat %11 : f32 -> tensor<1024xf32>
    %13 = arith.subf %8, %12 : tensor<1024xf32>
    %14 = arith.select %3, %13, %cst_0 : tensor<1024xi1>, tensor<1024xf32>
    %15 = arith.mulf %14, %14 : tensor<1024xf32>
    %16 = tile.reduce(%15) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%arg8: f32, %arg9: f32):
      %36 = arith.addf %arg8, %arg9 : f32
      tile.yield %36 : f32
    }
    %17 = arith.divf %16, %10 fastmath<afn> : f32
    %18 = arith.addf %17, %arg7 : f32
    %19 = math.sqrt %18 fastmath<afn> : f32
    %20 = arith.divf %cst, %19 fastmath<afn> : f32
    %21 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %22 = tile.ptr_add %21, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %23 = tile.load %22, %3 : tensor<1024x!tile.ptr<f32>>
    %24 = tile.splat %arg3 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %25 = tile.ptr_add %24, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %26 = tile.load %25, %3 : tensor<1024x!tile.ptr<f32>>
    %27 = tile.ptr_add %arg1, %4 : !tile.ptr<f32>, i32
    %28 = tile.splat %27 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %29 = tile.ptr_add %28, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %30 = tile.splat %20 : f32 -> tensor<1024xf32>
    %31 = arith.mulf %14, %30 : tensor<1024xf32>
    %32 = arith.mulf %31, %23 : tensor<1024xf32>
    %33 = arith.addf %32, %26 : tensor<1024xf32>
    tile.store %29, %33, %3 : tensor<1024x!tile.ptr<f32>>
    %34 = tile.ptr_add %arg4, %0 : !tile.ptr<f32>, i32
    tile.store %34, %11 : !tile.ptr<f32>
    %35 = tile.ptr_add %arg5, %0 : !tile.ptr<f32>, i32
    tile.store %35, %20 : !tile.ptr<f32>
    return
  }
}