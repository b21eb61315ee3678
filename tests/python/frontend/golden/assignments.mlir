module {
  func.func @assignments(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.addi %arg1, %c1_i32 : i32
    %c1_i32_0 = arith.constant 1 : i32
    %1 = arith.addi %0, %c1_i32_0 : i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.subi %2, %0 : i32
    %c2_i32 = arith.constant 2 : i32
    %4 = arith.muli %3, %c2_i32 : i32
    %c0_i32 = arith.constant 0 : i32
    %5 = arith.cmpi sgt, %4, %c0_i32 : i32
    %6 = scf.if %5 -> (i32) {
      scf.yield %4 : i32
    } else {
      scf.yield %3 : i32
    }
    %7 = tile.arange 0, 4 : tensor<4xi32>
    %8 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
    %9 = tile.ptr_add %8, %7 : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
    %cst = arith.constant 2.000000e+00 : f32
    %10 = arith.sitofp %6 : i32 to f32
    %11 = arith.addf %cst, %10 : f32
    %cst_1 = arith.constant 3.000000e+00 : f32
    %12 = arith.addf %11, %cst_1 : f32
    %13 = tile.splat %12 : f32 -> tensor<4xf32>
    tile.store %9, %13 : tensor<4x!tile.ptr<f32>>
    return
  }
}
