module {
  func.func @layer_norm_backward(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "dy_ptr"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "w_ptr"}, %arg3: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "mean_ptr"}, %arg4: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "rstd_ptr"}, %arg5: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "dx_ptr"}, %arg6: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "partial_dw_ptr"}, %arg7: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "partial_db_ptr"}, %arg8: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg9: i32 {tile.name = "N"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0.000000e+00> : tensor<1024xf32>
    %0 = tile.program_id 0
    %1 = tile.arange 0, 1024 : tensor<1024xi32>
    %2 = tile.splat %arg9 : i32 -> tensor<1024xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<1024xi32>
    %4 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %6 = tile.load %5, %3, %cst : tensor<1024x!tile.ptr<f32>>
    %7 = tile.num_programs 0
    %8 = arith.sitofp %arg9 : i32 to f32
    %9:2 = scf.for %arg10 = %0 to %arg8 step %7 iter_args(%arg11 = %cst, %arg12 = %cst) -> (tensor<1024xf32>, tensor<1024xf32>)  : i32 {
      %17 = arith.muli %arg10, %arg9 : i32
      %18 = tile.ptr_add %arg0, %17 : !tile.ptr<f32>, i32
      %19 = tile.splat %18 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %20 = tile.ptr_add %19, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %21 = tile.load %20, %3, %cst : tensor<1024x!tile.ptr<f32>>
      %22 = tile.ptr_add %arg1, %17 : !tile.ptr<f32>, i32
      %23 = tile.splat %22 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %24 = tile.ptr_add %23, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %25 = tile.load %24, %3, %cst : tensor<1024x!tile.ptr<f32>>
      %26 = tile.ptr_add %arg4, %arg10 : !tile.ptr<f32>, i32
      %27 = tile.load %26 : !tile.ptr<f32>
      %28 = tile.ptr_add %arg3, %arg10 : !tile.ptr<f32>, i32
      %29 = tile.load %28 : !tile.ptr<f32>
      %30 = tile.splat %29 : f32 -> tensor<1024xf32>
      %31 = arith.subf %21, %30 : tensor<1024xf32>
      %32 = tile.splat %27 : f32 -> tensor<1024xf32>
      %33 = arith.mulf %31, %32 : tensor<1024xf32>
      %34 = arith.select %3, %33, %cst : tensor<1024xi1>, tensor<1024xf32>
      %35 = arith.mulf %25, %6 : tensor<1024xf32>
      %36 = arith.mulf %35, %34 : tensor<1024xf32>
      %37 = tile.reduce(%36) axis 0 : (tensor<1024xf32>) -> f32 {
      ^bb0(%arg13: f32, %arg14: f32):
        %53 = arith.addf %arg13, %arg14 : f32
        tile.yield %53 : f32
      }
      %38 = arith.divf %37, %8 fastmath<afn> : f32
      %39 = tile.reduce(%35) axis 0 : (tensor<1024xf32>) -> f32 {
      ^bb0(%arg13: f32, %arg14: f32):
        %53 = arith.addf %arg13, %arg14 : f32
        tile.yield %53 : f32
      }
      %40 = arith.divf %39, %8 fastmath<afn> : f32
      %41 = tile.ptr_add %arg5, %17 : !tile.ptr<f32>, i32
      %42 = tile.splat %41 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %43 = tile.ptr_add %42, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %44 = tile.splat %40 : f32 -> tensor<1024xf32>
      %45 = arith.subf %35, %44 : tensor<1024xf32>
      %46 = tile.splat %38 : f32 -> tensor<1024xf32>
      %47 = arith.mulf %34, %46 : tensor<1024xf32>
      %48 = arith.subf %45, %47 : tensor<1024xf32>
      %49 = arith.mulf %48, %32 : tensor<1024xf32>
      tile.store %43, %49, %3 : tensor<1024x!tile.ptr<f32>>
      %50 = arith.mulf %25, %34 : tensor<1024xf32>
      %51 = arith.addf %arg11, %50 : tensor<1024xf32>
      %52 = arith.addf %arg12, %25 : tensor<1024xf32>
      scf.yield %51, %52 : tensor<1024xf32>, tensor<1024xf32>
    }
    %10 = arith.muli %0, %arg9 : i32
    %11 = tile.ptr_add %arg6, %10 : !tile.ptr<f32>, i32
    %12 = tile.splat %11 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %13 = tile.ptr_add %12, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    tile.store %13, %9#0, %3 : tensor<1024x!tile.ptr<f32>>
    %14 = tile.ptr_add %arg7, %10 : !tile.ptr<f32>, i32
    %15 = tile.splat %14 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %1 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    tile.store %16, %9#1, %3 : tensor<1024x!tile.ptr<f32>>
    return
  }
}