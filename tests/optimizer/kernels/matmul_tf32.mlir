module {
  func.func @matmul(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "a"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "b"}, %arg2: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "c"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "N"}, %arg5: i32 {tile.divisibility = 16 : i64, tile.name = "K"}, %arg6: i32 {tile.divisibility = 16 : i64, tile.name = "sam"}, %arg7: i32 {tile.divisibility = 16 : i64, tile.name = "sbk"}) attributes {tile.kernel} {
    %cst = arith.constant dense<32> : tensor<64x32xi32>
    %c32_i32 = arith.constant 32 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %c64_i32 = arith.constant 64 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c64_i32 : i32
    %2 = tile.arange 0, 64 : tensor<64xi32>
    %3 = tile.splat %1 : i32 -> tensor<64xi32>
    %4 = arith.addi %3, %2 : tensor<64xi32>
    %5 = tile.program_id 1
    %6 = arith.muli %5, %c64_i32 : i32
    %7 = tile.splat %6 : i32 -> tensor<64xi32>
    %8 = arith.addi %7, %2 : tensor<64xi32>
    %9 = tile.arange 0, 32 : tensor<32xi32>
    %10 = tile.expand_dims %4 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %11 = tile.splat %arg6 : i32 -> tensor<64x1xi32>
    %12 = arith.muli %10, %11 : tensor<64x1xi32>
    %13 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %14 = tile.ptr_add %13, %12 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %15 = tile.expand_dims %9 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %16 = tile.broadcast %14 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x32x!tile.ptr<f32>>
    %17 = tile.broadcast %15 : tensor<1x32xi32> -> tensor<64x32xi32>
    %18 = tile.ptr_add %16, %17 : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
    %19 = tile.expand_dims %9 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %20 = tile.splat %arg7 : i32 -> tensor<32x1xi32>
    %21 = arith.muli %19, %20 : tensor<32x1xi32>
    %22 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<32x1x!tile.ptr<f32>>
    %23 = tile.ptr_add %22, %21 : tensor<32x1x!tile.ptr<f32>>, tensor<32x1xi32>
    %24 = tile.expand_dims %8 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %25 = tile.broadcast %23 : tensor<32x1x!tile.ptr<f32>> -> tensor<32x64x!tile.ptr<f32>>
    %26 = tile.broadcast %24 : tensor<1x64xi32> -> tensor<32x64xi32>
    %27 = tile.ptr_add %25, %26 : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi32>
    %28 = arith.muli %arg7, %c32_i32 : i32
    %29 = tile.splat %28 : i32 -> tensor<32x64xi32>
    %c0_i64 = arith.constant 0 : i64
    %30:3 = scf.for %arg8 = %c0_i32 to %arg5 step %c32_i32 iter_args(%arg9 = %cst_0, %arg10 = %c0_i64, %arg11 = %c0_i64) -> (tensor<64x64xf32>, i64, i64)  : i32 {
      %39 = tile.splat %arg10 : i64 -> tensor<64x32xi64>
      %40 = tile.ptr_add %18, %39 : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi64>
      %41 = tile.splat %arg11 : i64 -> tensor<32x64xi64>
      %42 = tile.ptr_add %27, %41 : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi64>
      %43 = tile.load %40 : tensor<64x32x!tile.ptr<f32>>
      %44 = tile.load %42 : tensor<32x64x!tile.ptr<f32>>
      %45 = tile.dot %43, %44, %arg9 : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>
      %46 = arith.extsi %c32_i32 : i32 to i64
      %47 = arith.addi %arg10, %46 : i64
      %48 = arith.extsi %28 : i32 to i64
      %49 = arith.addi %arg11, %48 : i64
      scf.yield %45, %47, %49 : tensor<64x64xf32>, i64, i64
    }
    %31 = tile.splat %arg4 : i32 -> tensor<64x1xi32>
    %32 = arith.muli %10, %31 : tensor<64x1xi32>
    %33 = tile.splat %arg2 : !tile.ptr<f16> -> tensor<64x1x!tile.ptr<f16>>
    %34 = tile.ptr_add %33, %32 : tensor<64x1x!tile.ptr<f16>>, tensor<64x1xi32>
    %35 = tile.broadcast %34 : tensor<64x1x!tile.ptr<f16>> -> tensor<64x64x!tile.ptr<f16>>
    %36 = tile.broadcast %24 : tensor<1x64xi32> -> tensor<64x64xi32>
    %37 = tile.ptr_add %35, %36 : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %38 = arith.truncf %30#0 : tensor<64x64xf32> to tensor<64x64xf16>
    tile.store %37, %38 : tensor<64x64x!tile.ptr<f16>>
    return
  }
}