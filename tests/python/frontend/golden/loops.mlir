module {
  func.func @loops(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0:3 = scf.for %arg2 = %c0_i32 to %arg1 step %c1_i32 iter_args(%arg3 = %cst, %arg4 = %arg1, %arg5 = %cst_0) -> (f32, i32, f32)  : i32 {
      %10 = tile.ptr_add %arg0, %arg2 : !tile.ptr<f32>, i32
      %11 = tile.load %10 : !tile.ptr<f32>
      %12 = arith.addf %arg3, %11 : f32
      %c1_i32_6 = arith.constant 1 : i32
      %13 = arith.addi %arg4, %c1_i32_6 : i32
      %cst_7 = arith.constant 2.000000e+00 : f32
      %14 = arith.mulf %arg5, %cst_7 : f32
      scf.yield %12, %13, %14 : f32, i32, f32
    }
    %c0_i32_1 = arith.constant 0 : i32
    %c10_i32 = arith.constant 10 : i32
    %c3_i32 = arith.constant 3 : i32
    %1 = scf.for %arg2 = %c0_i32_1 to %c10_i32 step %c3_i32 iter_args(%arg3 = %0#0) -> (f32)  : i32 {
      %10 = arith.subi %c10_i32, %arg2 : i32
      %11 = arith.addi %10, %c0_i32_1 : i32
      %12 = arith.sitofp %11 : i32 to f32
      %13 = arith.addf %arg3, %12 : f32
      scf.yield %13 : f32
    }
    %cst_2 = arith.constant 0.000000e+00 : f32
    %2 = arith.addf %1, %cst_2 : f32
    %cst_3 = arith.constant 2.000000e+00 : f32
    %3 = arith.addf %2, %cst_3 : f32
    %cst_4 = arith.constant 3.000000e+00 : f32
    %4 = arith.addf %3, %cst_4 : f32
    %cst_5 = arith.constant 3.000000e+00 : f32
    %5 = arith.addf %4, %cst_5 : f32
    %6:2 = scf.while (%arg2 = %arg1, %arg3 = %5) : (i32, f32) -> (i32, f32) {
      %c0_i32_6 = arith.constant 0 : i32
      %10 = arith.cmpi sgt, %arg2, %c0_i32_6 : i32
      %cst_7 = arith.constant 1.000000e+02 : f32
      %11 = arith.cmpf olt, %arg3, %cst_7 : f32
      %12 = arith.andi %10, %11 : i1
      scf.condition(%12) %arg2, %arg3 : i32, f32
    } do {
    ^bb0(%arg2: i32, %arg3: f32):
      %c2_i32 = arith.constant 2 : i32
      %10 = arith.divsi %arg2, %c2_i32 : i32
      %cst_6 = arith.constant 1.000000e+00 : f32
      %11 = arith.addf %arg3, %cst_6 : f32
      scf.yield %10, %11 : i32, f32
    }
    %7 = arith.sitofp %0#1 : i32 to f32
    %8 = arith.mulf %7, %0#2 : f32
    %9 = arith.addf %6#1, %8 : f32
    tile.store %arg0, %9 : !tile.ptr<f32>
    return
  }
}
