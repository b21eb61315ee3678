module {
  func.func @add_partial_sums(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "partial_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "out_ptr"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "P"}, %arg3: i32 {tile.name = "N"}) attributes {tile.kernel} {
    %c16_i32 = arith.constant 16 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<16x128xf32>
    %c128_i32 = arith.constant 128 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c128_i32 : i32
    %2 = tile.arange 0, 128 : tensor<128xi32>
    %3 = tile.splat %1 : i32 -> tensor<128xi32>
    %4 = arith.addi %3, %2 : tensor<128xi32>
    %5 = tile.arange 0, 16 : tensor<16xi32>
    %6 = tile.splat %arg2 : i32 -> tensor<16x1xi32>
    %7 = tile.expand_dims %4 {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %8 = tile.splat %arg3 : i32 -> tensor<1x128xi32>
    %9 = arith.cmpi slt, %7, %8 : tensor<1x128xi32>
    %10 = tile.broadcast %9 : tensor<1x128xi1> -> tensor<16x128xi1>
    %11 = tile.splat %arg3 : i32 -> tensor<16x1xi32>
    %12 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<16x1x!tile.ptr<f32>>
    %13 = tile.broadcast %7 : tensor<1x128xi32> -> tensor<16x128xi32>
    %14 = scf.for %arg4 = %c0_i32 to %arg2 step %c16_i32 iter_args(%arg5 = %cst) -> (tensor<16x128xf32>)  : i32 {
      %20 = tile.splat %arg4 : i32 -> tensor<16xi32>
      %21 = arith.addi %20, %5 : tensor<16xi32>
      %22 = tile.expand_dims %21 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
      %23 = arith.cmpi slt, %22, %6 : tensor<16x1xi32>
      %24 = tile.broadcast %23 : tensor<16x1xi1> -> tensor<16x128xi1>
      %25 = arith.andi %24, %10 : tensor<16x128xi1>
      %26 = arith.muli %22, %11 : tensor<16x1xi32>
      %27 = tile.ptr_add %12, %26 : tensor<16x1x!tile.ptr<f32>>, tensor<16x1xi32>
      %28 = tile.broadcast %27 : tensor<16x1x!tile.ptr<f32>> -> tensor<16x128x!tile.ptr<f32>>
      %29 = tile.ptr_add %28, %13 : tensor<16x128x!tile.ptr<f32>>, tensor<16x128xi32>
      %30 = tile.load %29, %25, %cst : tensor<16x128x!tile.ptr<f32>>
      %31 = arith.addf %arg5, %30 : tensor<16x128xf32>
      scf.yield %31 : tensor<16x128xf32>
    }
    %15 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %17 = tile.reduce(%14) axis 0 : (tensor<16x128xf32>) -> tensor<128xf32> {
    ^bb0(%arg4: f32, %arg5: f32):
      %20 = arith.addf %arg4, %arg5 : f32
      tile.yield %20 : f32
    }
    %18 = tile.splat %arg3 : i32 -> tensor<128xi32>
    %19 = arith.cmpi slt, %4, %18 : tensor<128xi32>
    tile.store %16, %17, %19 : tensor<128x!tile.ptr<f32>>
    return
  }
}