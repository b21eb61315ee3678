module {
  func.func @early_return(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %1 = arith.cmpi sge, %0, %arg1 : i32
    scf.if %1 {
    } else {
      %2 = tile.ptr_add %arg0, %0 : !tile.ptr<f32>, i32
      %3 = tile.load %2 : !tile.ptr<f32>
      %c0_i32 = arith.constant 0 : i32
      %4 = arith.cmpi eq, %arg1, %c0_i32 : i32
      %5 = scf.if %4 -> (f32) {
        scf.yield %3 : f32
      } else {
        %cst_0 = arith.constant 2.000000e+00 : f32
        %8 = arith.mulf %3, %cst_0 : f32
        %c0_i32_1 = arith.constant 0 : i32
        %9 = arith.cmpi slt, %arg1, %c0_i32_1 : i32
        %10 = scf.if %9 -> (f32) {
          %11 = arith.negf %8 : f32
          %cst_2 = arith.constant 1.000000e+00 : f32
          %12 = arith.addf %11, %cst_2 : f32
          scf.yield %12 : f32
        } else {
          scf.yield %8 : f32
        }
        scf.yield %10 : f32
      }
      %cst = arith.constant 1.000000e+00 : f32
      %6 = arith.cmpf ogt, %5, %cst : f32
      %7:2 = scf.if %6 -> (f32, i1) {
        %c5_i32 = arith.constant 5 : i32
        %8 = arith.cmpi eq, %arg1, %c5_i32 : i32
        %9:2 = scf.if %8 -> (f32, i1) {
          %cst_0 = arith.constant 0.000000e+00 : f32
          %true = arith.constant true
          scf.yield %cst_0, %true : f32, i1
        } else {
          %cst_0 = arith.constant 1.000000e+00 : f32
          %false = arith.constant false
          scf.yield %cst_0, %false : f32, i1
        }
        scf.yield %9#0, %9#1 : f32, i1
      } else {
        %false = arith.constant false
        scf.yield %5, %false : f32, i1
      }
      scf.if %7#1 {
      } else {
        %8 = tile.ptr_add %arg0, %0 : !tile.ptr<f32>, i32
        tile.store %8, %7#0 : !tile.ptr<f32>
      }
    }
    return
  }
}
