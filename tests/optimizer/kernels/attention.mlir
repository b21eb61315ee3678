module {
  func.func @attention(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "q"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "k"}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "v"}, %arg3: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "N"}, %arg5: f32 {tile.name = "scale"}) attributes {tile.kernel} {
    %cst = arith.constant dense<0xFF800000> : tensor<128x64xf32>
    %cst_0 = arith.constant dense<64> : tensor<64x1xi32>
    %cst_1 = arith.constant dense<64> : tensor<1x64xi32>
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<128x64xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<128xf32>
    %cst_4 = arith.constant dense<0xFF800000> : tensor<128xf32>
    %cst_5 = arith.constant dense<64> : tensor<128x1xi32>
    %c128_i32 = arith.constant 128 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c128_i32 : i32
    %2 = tile.arange 0, 128 : tensor<128xi32>
    %3 = tile.splat %1 : i32 -> tensor<128xi32>
    %4 = arith.addi %3, %2 : tensor<128xi32>
    %5 = tile.arange 0, 64 : tensor<64xi32>
    %6 = tile.expand_dims %4 {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
    %7 = arith.muli %6, %cst_5 : tensor<128x1xi32>
    %8 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %9 = tile.ptr_add %8, %7 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %10 = tile.expand_dims %5 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %11 = tile.broadcast %9 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x64x!tile.ptr<f16>>
    %12 = tile.broadcast %10 : tensor<1x64xi32> -> tensor<128x64xi32>
    %13 = tile.ptr_add %11, %12 : tensor<128x64x!tile.ptr<f16>>, tensor<128x64xi32>
    %14 = tile.load %13 : tensor<128x64x!tile.ptr<f16>>
    %15 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<1x64x!tile.ptr<f16>>
    %16 = tile.expand_dims %5 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %17 = tile.broadcast %16 : tensor<64x1xi32> -> tensor<64x64xi32>
    %18 = tile.splat %arg2 : !tile.ptr<f16> -> tensor<64x1x!tile.ptr<f16>>
    %19 = tile.broadcast %10 : tensor<1x64xi32> -> tensor<64x64xi32>
    %20 = tile.splat %arg5 : f32 -> tensor<128x64xf32>
    %21 = tile.broadcast %6 : tensor<128x1xi32> -> tensor<128x64xi32>
    %22:3 = scf.for %arg6 = %c0_i32 to %arg4 step %c64_i32 iter_args(%arg7 = %cst_3, %arg8 = %cst_2, %arg9 = %cst_4) -> (tensor<128xf32>, tensor<128x64xf32>, tensor<128xf32>)  : i32 {
      %31 = tile.splat %arg6 : i32 -> tensor<64xi32>
      %32 = arith.addi %31, %5 : tensor<64xi32>
      %33 = tile.expand_dims %32 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
      %34 = arith.muli %33, %cst_1 : tensor<1x64xi32>
      %35 = tile.ptr_add %15, %34 : tensor<1x64x!tile.ptr<f16>>, tensor<1x64xi32>
      %36 = tile.broadcast %35 : tensor<1x64x!tile.ptr<f16>> -> tensor<64x64x!tile.ptr<f16>>
      %37 = tile.ptr_add %36, %17 : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %38 = tile.load %37 : tensor<64x64x!tile.ptr<f16>>
      %39 = tile.expand_dims %32 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
      %40 = arith.muli %39, %cst_0 : tensor<64x1xi32>
      %41 = tile.ptr_add %18, %40 : tensor<64x1x!tile.ptr<f16>>, tensor<64x1xi32>
      %42 = tile.broadcast %41 : tensor<64x1x!tile.ptr<f16>> -> tensor<64x64x!tile.ptr<f16>>
      %43 = tile.ptr_add %42, %19 : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
      %44 = tile.load %43 : tensor<64x64x!tile.ptr<f16>>
      %45 = tile.dot %14, %38, %cst_2 : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
      %46 = arith.mulf %45, %20 : tensor<128x64xf32>
      %47 = tile.broadcast %33 : tensor<1x64xi32> -> tensor<128x64xi32>
      %48 = arith.cmpi sge, %21, %47 : tensor<128x64xi32>
      %49 = arith.select %48, %46, %cst : tensor<128x64xi1>, tensor<128x64xf32>
      %50 = tile.reduce(%49) axis 1 : (tensor<128x64xf32>) -> tensor<128xf32> {
      ^bb0(%arg10: f32, %arg11: f32):
        %66 = arith.maxnumf %arg10, %arg11 : f32
        tile.yield %66 : f32
      }
      %51 = arith.maxnumf %arg9, %50 : tensor<128xf32>
      %52 = tile.expand_dims %51 {axis = 1 : i32} : tensor<128xf32> -> tensor<128x1xf32>
      %53 = tile.broadcast %52 : tensor<128x1xf32> -> tensor<128x64xf32>
      %54 = arith.subf %49, %53 : tensor<128x64xf32>
      %55 = math.exp %54 fastmath<afn> : tensor<128x64xf32>
      %56 = arith.subf %arg9, %51 : tensor<128xf32>
      %57 = math.exp %56 fastmath<afn> : tensor<128xf32>
      %58 = arith.mulf %arg7, %57 : tensor<128xf32>
      %59 = tile.reduce(%55) axis 1 : (tensor<128x64xf32>) -> tensor<128xf32> {
      ^bb0(%arg10: f32, %arg11: f32):
        %66 = arith.addf %arg10, %arg11 : f32
        tile.yield %66 : f32
      }
      %60 = arith.addf %58, %59 : tensor<128xf32>
      %61 = tile.expand_dims %57 {axis = 1 : i32} : tensor<128xf32> -> tensor<128x1xf32>
      %62 = tile.broadcast %61 : tensor<128x1xf32> -> tensor<128x64xf32>
      %63 = arith.mulf %arg8, %62 : tensor<128x64xf32>
      %64 = arith.truncf %55 : tensor<128x64xf32> to tensor<128x64xf16>
      %65 = tile.dot %64, %44, %63 : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
      scf.yield %60, %65, %51 : tensor<128xf32>, tensor<128x64xf32>, tensor<128xf32>
    }
    %23 = tile.splat %arg3 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %24 = tile.ptr_add %23, %7 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %25 = tile.broadcast %24 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x64x!tile.ptr<f16>>
    %26 = tile.ptr_add %25, %12 : tensor<128x64x!tile.ptr<f16>>, tensor<128x64xi32>
    %27 = tile.expand_dims %22#0 {axis = 1 : i32} : tensor<128xf32> -> tensor<128x1xf32>
    %28 = tile.broadcast %27 : tensor<128x1xf32> -> tensor<128x64xf32>
    %29 = arith.divf %22#1, %28 fastmath<afn> : tensor<128x64xf32>
    %30 = arith.truncf %29 : tensor<128x64xf32> to tensor<128x64xf16>
    tile.store %26, %30 : tensor<128x64x!tile.ptr<f16>>
    return
  }
}