module {
  func.func @matmul(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "a"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "b"}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "c"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "N"}, %arg5: i32 {tile.divisibility = 16 : i64, tile.name = "K"}, %arg6: i32 {tile.divisibility = 16 : i64, tile.name = "sam"}, %arg7: i32 {tile.divisibility = 16 : i64, tile.name = "sbn"}) attributes {tile.kernel} {
    %cst = arith.constant dense<32> : tensor<32x128xi32>
    %cst_0 = arith.constant dense<32> : tensor<128x32xi32>
    %c32_i32 = arith.constant 32 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
    %c128_i32 = arith.constant 128 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c128_i32 : i32
    %2 = tile.arange 0, 128 : tensor<128xi32>
    %3 = tile.splat %1 : i32 -> tensor<128xi32>
    %4 = arith.addi %3, %2 : tensor<128xi32>
    %5 = tile.program_id 1
    %6 = arith.muli %5, %c128_i32 : i32
    %7 = tile.splat %6 : i32 -> tensor<128xi32>
    %8 = arith.addi %7, %2 : tensor<128xi32>
    %9 = tile.arange 0, 32 : tensor<32xi32>
    %10 = tile.expand_dims %4 {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
    %11 = tile.splat %arg6 : i32 -> tensor<128x1xi32>
    %12 = arith.muli %10, %11 : tensor<128x1xi32>
    %13 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %14 = tile.ptr_add %13, %12 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %15 = tile.expand_dims %9 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %16 = tile.broadcast %14 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x32x!tile.ptr<f16>>
    %17 = tile.broadcast %15 : tensor<1x32xi32> -> tensor<128x32xi32>
    %18 = tile.ptr_add %16, %17 : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi32>
    %19 = tile.expand_dims %9 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %20 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
    %21 = tile.ptr_add %20, %19 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %22 = tile.expand_dims %8 {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %23 = tile.splat %arg7 : i32 -> tensor<1x128xi32>
    %24 = arith.muli %22, %23 : tensor<1x128xi32>
    %25 = tile.broadcast %21 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x128x!tile.ptr<f16>>
    %26 = tile.broadcast %24 : tensor<1x128xi32> -> tensor<32x128xi32>
    %27 = tile.ptr_add %25, %26 : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi32>
    %c0_i64 = arith.constant 0 : i64
    %28:3 = scf.for %arg8 = %c0_i32 to %arg5 step %c32_i32 iter_args(%arg9 = %cst_1, %arg10 = %c0_i64, %arg11 = %c0_i64) -> (tensor<128x128xf32>, i64, i64)  : i32 {
      %37 = tile.splat %arg10 : i64 -> tensor<128x32xi64>
      %38 = tile.ptr_add %18, %37 : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi64>
      %39 = tile.splat %arg11 : i64 -> tensor<32x128xi64>
      %40 = tile.ptr_add %27, %39 : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi64>
      %41 = tile.load %38 : tensor<128x32x!tile.ptr<f16>>
      %42 = tile.load %40 : tensor<32x128x!tile.ptr<f16>>
      %43 = tile.dot %41, %42, %arg9 : tensor<128x32xf16> * tensor<32x128xf16> -> tensor<128x128xf32>
      %44 = arith.extsi %c32_i32 : i32 to i64
      %45 = arith.addi %arg10, %44 : i64
      %46 = arith.addi %arg11, %44 : i64
      scf.yield %43, %45, %46 : tensor<128x128xf32>, i64, i64
    }
    %29 = tile.splat %arg4 : i32 -> tensor<128x1xi32>
    %30 = arith.muli %10, %29 : tensor<128x1xi32>
    %31 = tile.splat %arg2 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %32 = tile.ptr_add %31, %30 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %33 = tile.broadcast %32 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x128x!tile.ptr<f16>>
    %34 = tile.broadcast %22 : tensor<1x128xi32> -> tensor<128x128xi32>
    %35 = tile.ptr_add %33, %34 : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xi32>
    %36 = arith.truncf %28#0 : tensor<128x128xf32> to tensor<128x128xf16>
    tile.store %35, %36 : tensor<128x128x!tile.ptr<f16>>
    return
  }
}