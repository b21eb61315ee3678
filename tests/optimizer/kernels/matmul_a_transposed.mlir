module {
  func.func @matmul(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "a"}, %arg1: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "b"}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "c"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "N"}, %arg5: i32 {tile.divisibility = 16 : i64, tile.name = "K"}, %arg6: i32 {tile.divisibility = 16 : i64, tile.name = "sak"}, %arg7: i32 {tile.divisibility = 16 : i64, tile.name = "sbk"}) attributes {tile.kernel} {
    %c32_i32 = arith.constant 32 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
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
    %11 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %12 = tile.ptr_add %11, %10 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %13 = tile.expand_dims %9 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %14 = tile.splat %arg6 : i32 -> tensor<1x32xi32>
    %15 = arith.muli %13, %14 : tensor<1x32xi32>
    %16 = tile.broadcast %12 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x32x!tile.ptr<f16>>
    %17 = tile.broadcast %15 : tensor<1x32xi32> -> tensor<128x32xi32>
    %18 = tile.ptr_add %16, %17 : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi32>
    %19 = tile.expand_dims %9 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %20 = tile.splat %arg7 : i32 -> tensor<32x1xi32>
    %21 = arith.muli %19, %20 : tensor<32x1xi32>
    %22 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
    %23 = tile.ptr_add %22, %21 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %24 = tile.expand_dims %8 {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %25 = tile.broadcast %23 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x128x!tile.ptr<f16>>
    %26 = tile.broadcast %24 : tensor<1x128xi32> -> tensor<32x128xi32>
    %27 = tile.ptr_add %25, %26 : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi32>
    %28 = arith.muli %arg6, %c32_i32 : i32
    %29 = tile.splat %28 : i32 -> tensor<128x32xi32>
    %30 = arith.muli %arg7, %c32_i32 : i32
    %31 = tile.splat %30 : i32 -> tensor<32x128xi32>
    %c0_i64 = arith.constant 0 : i64
    %32:3 = scf.for %arg8 = %c0_i32 to %arg5 step %c32_i32 iter_args(%arg9 = %cst, %arg10 = %c0_i64, %arg11 = %c0_i64) -> (tensor<128x128xf32>, i64, i64)  : i32 {
      %41 = tile.splat %arg10 : i64 -> tensor<128x32xi64>
      %42 = tile.ptr_add %18, %41 : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi64>
      %43 = tile.splat %arg11 : i64 -> tensor<32x128xi64>
      %44 = tile.ptr_add %27, %43 : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi64>
      %45 = tile.load %42 : tensor<128x32x!tile.ptr<f16>>
      %46 = tile.load %44 : tensor<32x128x!tile.ptr<f16>>
      %47 = tile.dot %45, %46, %arg9 : tensor<128x32xf16> * tensor<32x128xf16> -> tensor<128x128xf32>
      %48 = arith.extsi %28 : i32 to i64
      %49 = arith.addi %arg10, %48 : i64
      %50 = arith.extsi %30 : i32 to i64
      %51 = arith.addi %arg11, %50 : i64
      scf.yield %47, %49, %51 : tensor<128x128xf32>, i64, i64
    }
    %33 = tile.splat %arg4 : i32 -> tensor<128x1xi32>
    %34 = arith.muli %10, %33 : tensor<128x1xi32>
    %35 = tile.splat %arg2 : !tile.ptr<f16> -> tensor<128x1x!tile.ptr<f16>>
    %36 = tile.ptr_add %35, %34 : tensor<128x1x!tile.ptr<f16>>, tensor<128x1xi32>
    %37 = tile.broadcast %36 : tensor<128x1x!tile.ptr<f16>> -> tensor<128x128x!tile.ptr<f16>>
    %38 = tile.broadcast %24 : tensor<1x128xi32> -> tensor<128x128xi32>
    %39 = tile.ptr_add %37, %38 : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xi32>
    %40 = arith.truncf %32#0 : tensor<128x128xf32> to tensor<128x128xf16>
    tile.store %39, %40 : tensor<128x128x!tile.ptr<f16>>
    return
  }
}