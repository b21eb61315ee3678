module {
  func.func @atomics(%arg0: !tile.ptr<i32> {tile.name = "x"}, %arg1: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 8 : tensor<8xi32>
    %1 = tile.splat %arg1 : i32 -> tensor<8xi32>
    %2 = arith.muli %0, %1 : tensor<8xi32>
    %cst = arith.constant dense<7> : tensor<8xi32>
    %3 = arith.remsi %2, %cst : tensor<8xi32>
    %cst_0 = arith.constant dense<3> : tensor<8xi32>
    %4 = arith.cmpi sgt, %3, %cst_0 : tensor<8xi32>
    %5 = tile.splat %arg0 : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
    %6 = tile.ptr_add %5, %0 : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %7 = tile.splat %c1_i32 : i32 -> tensor<8xi32>
    %8 = tile.splat %c0_i32 : i32 -> tensor<8xi32>
    %9 = arith.select %4, %7, %8 : tensor<8xi1>, tensor<8xi32>
    %cst_1 = arith.constant dense<4> : tensor<8xi32>
    %10 = arith.cmpi slt, %0, %cst_1 : tensor<8xi32>
    %11 = tile.atomic_rmw add, acq_rel, gpu, %6, %9, %10 : tensor<8x!tile.ptr<i32>>
    %12 = tile.reduce(%11) axis 0 : (tensor<8xi32>) -> i32 {
    ^bb0(%arg2: i32, %arg3: i32):
      %14 = arith.addi %arg2, %arg3 : i32
      tile.yield %14 : i32
    }
    %13 = tile.atomic_rmw max, acq_rel, gpu, %arg0, %12 : !tile.ptr<i32>
    return
  }
}
