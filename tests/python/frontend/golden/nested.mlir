module {
  func.func @nested(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    scf.for %arg2 = %c0_i32 to %arg1 step %c1_i32  : i32 {
      %c0_i32_0 = arith.constant 0 : i32
      %c1_i32_1 = arith.constant 1 : i32
      scf.for %arg3 = %c0_i32_0 to %arg2 step %c1_i32_1  : i32 {
        %0 = tile.ptr_add %arg0, %arg3 : !tile.ptr<f32>, i32
        %1 = tile.load %0 : !tile.ptr<f32>
        %cst = arith.constant 0.000000e+00 : f32
        %2 = arith.cmpf ogt, %1, %cst : f32
        %3 = scf.if %2 -> (f32) {
          %5 = arith.sitofp %arg2 : i32 to f32
          %6 = arith.addf %1, %5 : f32
          %7 = scf.while (%arg4 = %6) : (f32) -> f32 {
            %cst_2 = arith.constant 1.000000e+01 : f32
            %8 = arith.cmpf ogt, %arg4, %cst_2 : f32
            scf.condition(%8) %arg4 : f32
          } do {
          ^bb0(%arg4: f32):
            %cst_2 = arith.constant 2.000000e+00 : f32
            %8 = arith.divf %arg4, %cst_2 fastmath<afn> : f32
            scf.yield %8 : f32
          }
          scf.yield %7 : f32
        } else {
          scf.yield %1 : f32
        }
        %4 = tile.ptr_add %arg0, %arg3 : !tile.ptr<f32>, i32
        tile.store %4, %3 : !tile.ptr<f32>
      }
    }
    return
  }
}
