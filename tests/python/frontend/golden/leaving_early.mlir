module {
  func.func @leaving_early(%arg0: !tile.ptr<i32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %c0_i32 = arith.constant 0 : i32
    %c0_i32_0 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %false = arith.constant false
    %0 = arith.cmpi slt, %c0_i32_0, %arg1 : i32
    %1:3 = scf.while (%arg2 = %0, %arg3 = %c0_i32_0, %arg4 = %c0_i32, %arg5 = %false) : (i1, i32, i32, i1) -> (i32, i32, i1) {
      scf.condition(%arg2) %arg3, %arg4, %arg5 : i32, i32, i1
    } do {
    ^bb0(%arg2: i32, %arg3: i32, %arg4: i1):
      %4 = tile.ptr_add %arg0, %arg2 : !tile.ptr<i32>, i32
      %5 = tile.load %4 : !tile.ptr<i32>
      %c0_i32_3 = arith.constant 0 : i32
      %6 = arith.cmpi eq, %5, %c0_i32_3 : i32
      %7:3 = scf.if %6 -> (i32, i1, i1) {
        %false_5 = arith.constant false
        %true_6 = arith.constant true
        scf.yield %arg3, %false_5, %true_6 : i32, i1, i1
      } else {
        %c0_i32_5 = arith.constant 0 : i32
        %13 = arith.cmpi slt, %5, %c0_i32_5 : i32
        %14:2 = scf.if %13 -> (i32, i1) {
          %true_7 = arith.constant true
          scf.yield %arg3, %true_7 : i32, i1
        } else {
          %15 = arith.addi %arg3, %5 : i32
          %false_7 = arith.constant false
          scf.yield %15, %false_7 : i32, i1
        }
        %false_6 = arith.constant false
        scf.yield %14#0, %14#1, %false_6 : i32, i1, i1
      }
      %8 = arith.subi %arg1, %arg2 : i32
      %9 = arith.cmpi ugt, %8, %c1_i32 : i32
      %true_4 = arith.constant true
      %10 = arith.xori %7#1, %true_4 : i1
      %11 = arith.andi %9, %10 : i1
      %12 = arith.addi %arg2, %c1_i32 : i32
      scf.yield %11, %12, %7#0, %7#1 : i1, i32, i32, i1
    }
    %2 = scf.if %1#2 -> (i32) {
      scf.yield %1#1 : i32
    } else {
      %c-1_i32 = arith.constant -1 : i32
      scf.yield %c-1_i32 : i32
    }
    %false_1 = arith.constant false
    %c0_i32_2 = arith.constant 0 : i32
    %true = arith.constant true
    %3:3 = scf.while (%arg2 = %true, %arg3 = %2, %arg4 = %false_1, %arg5 = %c0_i32_2) : (i1, i32, i1, i32) -> (i32, i1, i32) {
      %true_3 = arith.constant true
      scf.condition(%arg2) %arg3, %arg4, %arg5 : i32, i1, i32
    } do {
    ^bb0(%arg2: i32, %arg3: i1, %arg4: i32):
      %c1_i32_3 = arith.constant 1 : i32
      %4 = arith.addi %arg2, %c1_i32_3 : i32
      %c100_i32 = arith.constant 100 : i32
      %5 = arith.cmpi sgt, %4, %c100_i32 : i32
      %6:3 = scf.if %5 -> (i32, i1, i1) {
        %c2_i32 = arith.constant 2 : i32
        %9 = arith.muli %4, %c2_i32 : i32
        %true_5 = arith.constant true
        %false_6 = arith.constant false
        scf.yield %9, %true_5, %false_6 : i32, i1, i1
      } else {
        %9 = arith.cmpi eq, %4, %arg1 : i32
        %10 = scf.if %9 -> (i1) {
          %true_7 = arith.constant true
          scf.yield %true_7 : i1
        } else {
          %false_7 = arith.constant false
          scf.yield %false_7 : i1
        }
        %c0_i32_5 = arith.constant 0 : i32
        %false_6 = arith.constant false
        scf.yield %c0_i32_5, %false_6, %10 : i32, i1, i1
      }
      %7 = arith.ori %6#1, %6#2 : i1
      %true_4 = arith.constant true
      %8 = arith.xori %7, %true_4 : i1
      scf.yield %8, %4, %6#2, %6#0 : i1, i32, i1, i32
    }
    scf.if %3#1 {
    } else {
      tile.store %arg0, %3#2 : !tile.ptr<i32>
    }
    return
  }
}
