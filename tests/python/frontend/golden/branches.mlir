module {
  func.func @branches(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %1 = tile.ptr_add %arg0, %0 : !tile.ptr<f32>, i32
    %2 = tile.load %1 : !tile.ptr<f32>
    %c0_i32 = arith.constant 0 : i32
    %3 = arith.cmpi eq, %0, %c0_i32 : i32
    %4 = scf.if %3 -> (f32) {
      %cst_0 = arith.constant 1.000000e+00 : f32
      %9 = arith.addf %2, %cst_0 : f32
      scf.yield %9 : f32
    } else {
      %c3_i32 = arith.constant 3 : i32
      %9 = arith.cmpi sgt, %arg1, %c3_i32 : i32
      %10 = scf.if %9 -> (f32) {
        %cst_0 = arith.constant 2.000000e+00 : f32
        %11 = arith.mulf %2, %cst_0 : f32
        scf.yield %11 : f32
      } else {
        scf.yield %2 : f32
      }
      scf.yield %10 : f32
    }
    %cst = arith.constant 5.000000e-01 : f32
    %5 = arith.subf %4, %cst : f32
    %6 = arith.cmpi sgt, %0, %arg1 : i32
    %7 = scf.if %6 -> (f32) {
      scf.yield %5 : f32
    } else {
      %9 = arith.negf %5 : f32
      scf.yield %9 : f32
    }
    %8 = tile.ptr_add %arg0, %0 : !tile.ptr<f32>, i32
    tile.store %8, %7 : !tile.ptr<f32>
    return
  }
}
