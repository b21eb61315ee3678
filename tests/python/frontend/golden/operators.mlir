module {
  func.func @operators(%arg0: !tile.ptr<i32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}, %arg2: i32 {tile.name = "m"}) attributes {tile.kernel} {
    %c3_i32 = arith.constant 3 : i32
    %0 = arith.andi %arg1, %c3_i32 : i32
    %c5_i32 = arith.constant 5 : i32
    %1 = arith.xori %arg1, %c5_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %2 = arith.shli %arg1, %c1_i32 : i32
    %3 = arith.addi %1, %2 : i32
    %c2_i32 = arith.constant 2 : i32
    %4 = arith.shrsi %arg1, %c2_i32 : i32
    %5 = arith.subi %3, %4 : i32
    %6 = arith.ori %0, %5 : i32
    %c0_i32 = arith.constant 0 : i32
    %7 = arith.cmpi ne, %6, %c0_i32 : i32
    %true = arith.constant true
    %8 = arith.xori %7, %true : i1
    %9 = scf.if %8 -> (i32) {
      %c-1_i32 = arith.constant -1 : i32
      %30 = arith.xori %6, %c-1_i32 : i32
      scf.yield %30 : i32
    } else {
      %c0_i32_8 = arith.constant 0 : i32
      %30 = arith.subi %c0_i32_8, %6 : i32
      scf.yield %30 : i32
    }
    %c1_i32_0 = arith.constant 1 : i32
    %10 = arith.cmpi slt, %c1_i32_0, %6 : i32
    %11 = arith.cmpi sle, %6, %arg1 : i32
    %12 = arith.andi %10, %11 : i1
    %c0_i32_1 = arith.constant 0 : i32
    %13 = arith.cmpi sgt, %6, %c0_i32_1 : i32
    %c0_i32_2 = arith.constant 0 : i32
    %14 = arith.cmpi sgt, %9, %c0_i32_2 : i32
    %15 = arith.andi %13, %14 : i1
    %16 = arith.ori %15, %12 : i1
    %c3_i32_3 = arith.constant 3 : i32
    %17 = arith.divsi %6, %c3_i32_3 : i32
    %c3_i32_4 = arith.constant 3 : i32
    %18 = arith.remsi %6, %c3_i32_4 : i32
    %19 = arith.addi %17, %18 : i32
    %20 = arith.extui %16 : i1 to i32
    %21 = arith.addi %19, %20 : i32
    tile.store %arg0, %21 : !tile.ptr<i32>
    %c1_i32_5 = arith.constant 1 : i32
    %22 = tile.ptr_add %arg0, %c1_i32_5 : !tile.ptr<i32>, i32
    %c2_i32_6 = arith.constant 2 : i32
    %23 = arith.sitofp %arg1 : i32 to f32
    %24 = arith.sitofp %c2_i32_6 : i32 to f32
    %25 = arith.divf %23, %24 fastmath<afn> : f32
    %26 = arith.uitofp %arg2 : i32 to f32
    %27 = arith.addf %25, %26 : f32
    %28 = arith.fptosi %27 : f32 to i32
    tile.store %22, %28 : !tile.ptr<i32>
    %c0_i32_7 = arith.constant 0 : i32
    %29 = arith.cmpi sgt, %6, %c0_i32_7 : i32
    tile.assert %29, "a is positive" : i1
    tile.print "a", %6 {hex = false, isSigned = array<i32: 1>, names = ["a"]} : i32
    return
  }
}
