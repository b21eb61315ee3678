module {
  func.func @constants(%arg0: !tile.ptr<f32> {tile.name = "x"}) attributes {tile.kernel} {
    %c4_i32 = arith.constant 4 : i32
    %c17_i32 = arith.constant 17 : i32
    %true = arith.constant true
    %true_0 = arith.constant true
    %0 = arith.andi %true, %true_0 : i1
    %true_1 = arith.constant true
    %1 = arith.andi %0, %true_1 : i1
    %true_2 = arith.constant true
    %2 = arith.andi %1, %true_2 : i1
    %3 = scf.if %2 -> (i32) {
      %c1_i32_8 = arith.constant 1 : i32
      %18 = arith.addi %c17_i32, %c1_i32_8 : i32
      scf.yield %18 : i32
    } else {
      scf.yield %c17_i32 : i32
    }
    %4 = tile.arange 0, 4 : tensor<4xi32>
    %5 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
    %6 = tile.ptr_add %5, %4 : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
    %7 = arith.sitofp %3 : i32 to f32
    %8 = tile.splat %7 : f32 -> tensor<4xf32>
    %cst = arith.constant dense<1.000000e+03> : tensor<4xf32>
    %9 = arith.addf %8, %cst : tensor<4xf32>
    tile.store %6, %9 : tensor<4x!tile.ptr<f32>>
    %c0_i32 = arith.constant 0 : i32
    %c4_i32_3 = arith.constant 4 : i32
    %c0_i32_4 = arith.constant 0 : i32
    %10 = tile.ptr_add %arg0, %c0_i32 : !tile.ptr<f32>, i32
    %11 = arith.addi %c4_i32_3, %c0_i32_4 : i32
    %12 = arith.sitofp %11 : i32 to f32
    tile.store %10, %12 : !tile.ptr<f32>
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32_5 = arith.constant 1 : i32
    %13 = tile.ptr_add %arg0, %c1_i32 : !tile.ptr<f32>, i32
    %14 = arith.addi %c2_i32, %c1_i32_5 : i32
    %15 = arith.sitofp %14 : i32 to f32
    tile.store %13, %15 : !tile.ptr<f32>
    %c16_i32 = arith.constant 16 : i32
    %16 = tile.ptr_add %arg0, %c16_i32 : !tile.ptr<f32>, i32
    %c2_i32_6 = arith.constant 2 : i32
    %17 = tile.ptr_add %16, %c2_i32_6 : !tile.ptr<f32>, i32
    %cst_7 = arith.constant 1.000000e+00 : f32
    tile.store %17, %cst_7 : !tile.ptr<f32>
    return
  }
}
