module {
  func.func @matmul(%arg0: !tile.ptr<f16> {tile.name = "a"}, %arg1: !tile.ptr<f16> {tile.name = "b"}, %arg2: !tile.ptr<f16> {tile.name = "c"}, %arg3: i32 {tile.name = "K"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 32 : tensor<32xi32>
    %1 = tile.arange 0, 16 : tensor<16xi32>
    %2 = tile.arange 0, 8 : tensor<8xi32>
    %3 = tile.expand_dims %0 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %4 = tile.splat %arg3 : i32 -> tensor<32x1xi32>
    %5 = arith.muli %3, %4 : tensor<32x1xi32>
    %6 = tile.splat %arg0 : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
    %7 = tile.ptr_add %6, %5 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %8 = tile.expand_dims %2 {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %9 = tile.broadcast %7 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x8x!tile.ptr<f16>>
    %10 = tile.broadcast %8 : tensor<1x8xi32> -> tensor<32x8xi32>
    %11 = tile.ptr_add %9, %10 : tensor<32x8x!tile.ptr<f16>>, tensor<32x8xi32>
    %12 = tile.expand_dims %2 {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %cst = arith.constant dense<16> : tensor<8x1xi32>
    %13 = arith.muli %12, %cst : tensor<8x1xi32>
    %14 = tile.splat %arg1 : !tile.ptr<f16> -> tensor<8x1x!tile.ptr<f16>>
    %15 = tile.ptr_add %14, %13 : tensor<8x1x!tile.ptr<f16>>, tensor<8x1xi32>
    %16 = tile.expand_dims %1 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %17 = tile.broadcast %15 : tensor<8x1x!tile.ptr<f16>> -> tensor<8x16x!tile.ptr<f16>>
    %18 = tile.broadcast %16 : tensor<1x16xi32> -> tensor<8x16xi32>
    %19 = tile.ptr_add %17, %18 : tensor<8x16x!tile.ptr<f16>>, tensor<8x16xi32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<32x16xf32>
    %c0_i32 = arith.constant 0 : i32
    %c8_i32 = arith.constant 8 : i32
    %20:3 = scf.for %arg4 = %c0_i32 to %arg3 step %c8_i32 iter_args(%arg5 = %cst_0, %arg6 = %11, %arg7 = %19) -> (tensor<32x16xf32>, tensor<32x8x!tile.ptr<f16>>, tensor<8x16x!tile.ptr<f16>>)  : i32 {
      %30 = tile.expand_dims %2 {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
      %31 = arith.subi %arg3, %arg4 : i32
      %32 = tile.splat %31 : i32 -> tensor<1x8xi32>
      %33 = arith.cmpi slt, %30, %32 : tensor<1x8xi32>
      %cst_2 = arith.constant dense<0.000000e+00> : tensor<32x8xf16>
      %34 = tile.broadcast %33 : tensor<1x8xi1> -> tensor<32x8xi1>
      %35 = tile.load %arg6, %34, %cst_2 : tensor<32x8x!tile.ptr<f16>>
      %36 = tile.load %arg7 : tensor<8x16x!tile.ptr<f16>>
      %37 = tile.dot %35, %36, %arg5 : tensor<32x8xf16> * tensor<8x16xf16> -> tensor<32x16xf32>
      %c8_i32_3 = arith.constant 8 : i32
      %38 = tile.splat %c8_i32_3 : i32 -> tensor<32x8xi32>
      %39 = tile.ptr_add %arg6, %38 : tensor<32x8x!tile.ptr<f16>>, tensor<32x8xi32>
      %c128_i32 = arith.constant 128 : i32
      %40 = tile.splat %c128_i32 : i32 -> tensor<8x16xi32>
      %41 = tile.ptr_add %arg7, %40 : tensor<8x16x!tile.ptr<f16>>, tensor<8x16xi32>
      scf.yield %37, %39, %41 : tensor<32x16xf32>, tensor<32x8x!tile.ptr<f16>>, tensor<8x16x!tile.ptr<f16>>
    } {tile.num_stages = 3 : i64}
    %21 = tile.expand_dims %0 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %cst_1 = arith.constant dense<16> : tensor<32x1xi32>
    %22 = arith.muli %21, %cst_1 : tensor<32x1xi32>
    %23 = tile.splat %arg2 : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
    %24 = tile.ptr_add %23, %22 : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %25 = tile.expand_dims %1 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %26 = tile.broadcast %24 : tensor<32x1x!tile.ptr<f16>> -> tensor<32x16x!tile.ptr<f16>>
    %27 = tile.broadcast %25 : tensor<1x16xi32> -> tensor<32x16xi32>
    %28 = tile.ptr_add %26, %27 : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
    %29 = arith.truncf %20#0 : tensor<32x16xf32> to tensor<32x16xf16>
    tile.store %28, %29 : tensor<32x16x!tile.ptr<f16>>
    return
  }
}
