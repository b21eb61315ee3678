module {
  func.func @matmul_tile(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "a_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "b_ptr"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "c_ptr"}, %arg3: i32 {tile.divisibility = 16 : i64, tile.name = "M"}, %arg4: i32 {tile.divisibility = 16 : i64, tile.name = "N"}, %arg5: i32 {tile.divisibility = 16 : i64, tile.name = "K"}, %arg6: i32 {tile.divisibility = 16 : i64, tile.name = "a_row"}, %arg7: i32 {tile.divisibility = 16 : i64, tile.name = "b_row"}, %arg8: i32 {tile.divisibility = 16 : i64, tile.name = "c_row"}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32>
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %c8_i32 = arith.constant 8 : i32
    %c64_i32 = arith.constant 64 : i32
    %c63_i32 = arith.constant 63 : i32
    %0 = tile.program_id 0
    %1 = arith.addi %arg4, %c63_i32 : i32
    %2 = arith.divsi %1, %c64_i32 : i32
    %3 = arith.muli %2, %c8_i32 : i32
    %4 = arith.divsi %0, %3 : i32
    %5 = arith.muli %4, %c8_i32 : i32
    %6 = arith.addi %arg3, %c63_i32 : i32
    %7 = arith.divsi %6, %c64_i32 : i32
    %8 = arith.subi %7, %5 : i32
    %9 = arith.minsi %8, %c8_i32 : i32
    %10 = arith.remsi %0, %3 : i32
    %11 = arith.remsi %10, %9 : i32
    %12 = arith.addi %5, %11 : i32
    %13 = arith.divsi %10, %9 : i32
    %14 = arith.muli %12, %c64_i32 : i32
    %15 = tile.arange 0, 64 : tensor<64xi32>
    %16 = tile.splat %14 : i32 -> tensor<64xi32>
    %17 = arith.addi %16, %15 : tensor<64xi32>
    %18 = arith.muli %13, %c64_i32 : i32
    %19 = tile.splat %18 : i32 -> tensor<64xi32>
    %20 = arith.addi %19, %15 : tensor<64xi32>
    %21 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %22 = arith.remsi %17, %21 : tensor<64xi32>
    %23 = tile.expand_dims %22 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %24 = tile.splat %arg6 : i32 -> tensor<64x1xi32>
    %25 = arith.muli %23, %24 : tensor<64x1xi32>
    %26 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %27 = tile.ptr_add %26, %25 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %28 = tile.expand_dims %15 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %29 = tile.broadcast %27 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %30 = tile.broadcast %28 : tensor<1x64xi32> -> tensor<64x64xi32>
    %31 = tile.ptr_add %29, %30 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %32 = tile.expand_dims %15 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %33 = tile.splat %arg7 : i32 -> tensor<64x1xi32>
    %34 = arith.muli %32, %33 : tensor<64x1xi32>
    %35 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %36 = tile.ptr_add %35, %34 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %37 = tile.splat %arg4 : i32 -> tensor<64xi32>
    %38 = arith.remsi %20, %37 : tensor<64xi32>
    %39 = tile.expand_dims %38 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %40 = tile.broadcast %36 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %41 = tile.broadcast %39 : tensor<1x64xi32> -> tensor<64x64xi32>
    %42 = tile.ptr_add %40, %41 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %43 = arith.addi %arg5, %c63_i32 : i32
    %44 = arith.divsi %43, %c64_i32 : i32
    %45 = arith.muli %arg7, %c64_i32 : i32
    %46 = tile.splat %45 : i32 -> tensor<64x64xi32>
    %c0_i64 = arith.constant 0 : i64
    %47:3 = scf.for %arg9 = %c0_i32 to %44 step %c1_i32 iter_args(%arg10 = %cst_0, %arg11 = %c0_i64, %arg12 = %c0_i64) -> (tensor<64x64xf32>, i64, i64)  : i32 {
      %64 = tile.splat %arg11 : i64 -> tensor<64x64xi64>
      %65 = tile.ptr_add %31, %64 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi64>
      %66 = tile.splat %arg12 : i64 -> tensor<64x64xi64>
      %67 = tile.ptr_add %42, %66 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi64>
      %68 = arith.muli %arg9, %c64_i32 : i32
      %69 = arith.subi %arg5, %68 : i32
      %70 = tile.splat %69 : i32 -> tensor<1x64xi32>
      %71 = arith.cmpi slt, %28, %70 : tensor<1x64xi32>
      %72 = tile.broadcast %71 : tensor<1x64xi1> -> tensor<64x64xi1>
      %73 = tile.load %65, %72, %cst_0 : tensor<64x64x!tile.ptr<f32>>
      %74 = tile.splat %69 : i32 -> tensor<64x1xi32>
      %75 = arith.cmpi slt, %32, %74 : tensor<64x1xi32>
      %76 = tile.broadcast %75 : tensor<64x1xi1> -> tensor<64x64xi1>
      %77 = tile.load %67, %76, %cst_0 : tensor<64x64x!tile.ptr<f32>>
      %78 = tile.dot %73, %77, %arg10 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
      %79 = arith.extsi %c64_i32 : i32 to i64
      %80 = arith.addi %arg11, %79 : i64
      %81 = arith.extsi %45 : i32 to i64
      %82 = arith.addi %arg12, %81 : i64
      scf.yield %78, %80, %82 : tensor<64x64xf32>, i64, i64
    }
    %48 = tile.expand_dims %17 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %49 = tile.splat %arg8 : i32 -> tensor<64x1xi32>
    %50 = arith.muli %48, %49 : tensor<64x1xi32>
    %51 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %52 = tile.ptr_add %51, %50 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %53 = tile.expand_dims %20 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %54 = tile.broadcast %52 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %55 = tile.broadcast %53 : tensor<1x64xi32> -> tensor<64x64xi32>
    %56 = tile.ptr_add %54, %55 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %57 = tile.splat %arg3 : i32 -> tensor<64x1xi32>
    %58 = arith.cmpi slt, %48, %57 : tensor<64x1xi32>
    %59 = tile.splat %arg4 : i32 -> tensor<1x64xi32>
    %60 = arith.cmpi slt, %53, %59 : tensor<1x64xi32>
    %61 = tile.broadcast %58 : tensor<64x1xi1> -> tensor<64x64xi1>
    %62 = tile.broadcast %60 : tensor<1x64xi1> -> tensor<64x64xi1>
    %63 = arith.andi %61, %62 : tensor<64x64xi1>
    tile.store %56, %47#0, %63 : tensor<64x64x!tile.ptr<f32>>
    return
  }
}