module {
  func.func @conditions(%arg0: !tile.ptr<i32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %c3_i32 = arith.constant 3 : i32
    %0 = arith.cmpi sgt, %arg1, %c3_i32 : i32
    %c9_i32 = arith.constant 9 : i32
    %1 = arith.cmpi slt, %arg1, %c9_i32 : i32
    %2 = arith.andi %0, %1 : i1
    %c1_i32 = arith.constant 1 : i32
    %3 = arith.cmpi eq, %arg1, %c1_i32 : i32
    %4 = arith.ori %2, %3 : i1
    scf.if %4 {
      %c1_i32_2 = arith.constant 1 : i32
      tile.store %arg0, %c1_i32_2 : !tile.ptr<i32>
    }
    %c0_i32 = arith.constant 0 : i32
    %5 = arith.cmpi sgt, %arg1, %c0_i32 : i32
    %6 = scf.if %5 -> (i1) {
      %10 = tile.ptr_add %arg0, %arg1 : !tile.ptr<i32>, i32
      %11 = tile.load %10 : !tile.ptr<i32>
      %c0_i32_2 = arith.constant 0 : i32
      %12 = arith.cmpi sgt, %11, %c0_i32_2 : i32
      %13 = arith.andi %5, %12 : i1
      scf.yield %13 : i1
    } else {
      %false = arith.constant false
      scf.yield %false : i1
    }
    scf.if %6 {
      %c2_i32 = arith.constant 2 : i32
      tile.store %arg0, %c2_i32 : !tile.ptr<i32>
    }
    %c0_i32_0 = arith.constant 0 : i32
    %7 = arith.cmpi eq, %arg1, %c0_i32_0 : i32
    %8 = scf.if %7 -> (i1) {
      %true_2 = arith.constant true
      scf.yield %true_2 : i1
    } else {
      %c7_i32 = arith.constant 7 : i32
      %10 = arith.divsi %c7_i32, %arg1 : i32
      %c2_i32 = arith.constant 2 : i32
      %11 = arith.cmpi sgt, %10, %c2_i32 : i32
      %12 = arith.ori %7, %11 : i1
      scf.yield %12 : i1
    }
    scf.if %8 {
      %c3_i32_2 = arith.constant 3 : i32
      tile.store %arg0, %c3_i32_2 : !tile.ptr<i32>
    }
    %c0_i32_1 = arith.constant 0 : i32
    %true = arith.constant true
    %9 = scf.while (%arg2 = %true, %arg3 = %c0_i32_1) : (i1, i32) -> i32 {
      %10:2 = scf.if %arg2 -> (i1, i32) {
        %11 = arith.cmpi slt, %arg3, %arg1 : i32
        %12 = scf.if %11 -> (i1) {
          %13 = tile.ptr_add %arg0, %arg3 : !tile.ptr<i32>, i32
          %14 = tile.load %13 : !tile.ptr<i32>
          %c3_i32_2 = arith.constant 3 : i32
          %15 = arith.cmpi ne, %14, %c3_i32_2 : i32
          %16 = arith.andi %11, %15 : i1
          scf.yield %16 : i1
        } else {
          %false = arith.constant false
          scf.yield %false : i1
        }
        scf.yield %12, %arg3 : i1, i32
      } else {
        %false = arith.constant false
        scf.yield %false, %arg3 : i1, i32
      }
      scf.condition(%10#0) %10#1 : i32
    } do {
    ^bb0(%arg2: i32):
      %c1_i32_2 = arith.constant 1 : i32
      %10 = arith.addi %arg2, %c1_i32_2 : i32
      %c5_i32 = arith.constant 5 : i32
      %11 = arith.cmpi eq, %10, %c5_i32 : i32
      %12 = scf.if %11 -> (i1) {
        %true_4 = arith.constant true
        scf.yield %true_4 : i1
      } else {
        %false = arith.constant false
        scf.yield %false : i1
      }
      %true_3 = arith.constant true
      %13 = arith.xori %12, %true_3 : i1
      scf.yield %13, %10 : i1, i32
    }
    tile.store %arg0, %9 : !tile.ptr<i32>
    return
  }
}
