module {
  func.func @matmul_tile(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "a_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "b_ptr"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "c_ptr"}, %arg3: i32 {tile.name = "M"}, %arg4: i32 {tile.name = "N"}, %arg5: i32 {tile.name = "K"}, %arg6: i32 {tile.name = "a_row"}, %arg7: i32 {tile.name = "b_row"}, %arg8: i32 {tile.name = "c_row"}) attributes {tile.kernel} {
    %cst = arith.constant dense<64> : tensor<64x64xi32>
    %cst_0 = arith.constant dense<0.00999999977> : tensor<64x64xf32>
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
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
    %47:3 = scf.for %arg9 = %c0_i32 to %44 step %c1_i32 iter_args(%arg10 = %cst_1, %arg11 = %c0_i64, %arg12 = %c0_i64) -> (tensor<64x64xf32>, i64, i64)  : i32 {
      %67 = tile.splat %arg11 : i64 -> tensor<64x64xi64>
      %68 = tile.ptr_add %31, %67 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi64>
      %69 = tile.splat %arg12 : i64 -> tensor<64x64xi64>
      %70 = tile.ptr_add %42, %69 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi64>
      %71 = arith.muli %arg9, %c64_i32 : i32
      %72 = arith.subi %arg5, %71 : i32
      %73 = tile.splat %72 : i32 -> tensor<1x64xi32>
      %74 = arith.cmpi slt, %28, %73 : tensor<1x64xi32>
      %75 = tile.broadcast %74 : tensor<1x64xi1> -> tensor<64x64xi1>
      %76 = tile.load %68, %75, %cst_1 : tensor<64x64x!tile.ptr<f32>>
      %77 = tile.splat %72 : i32 -> tensor<64x1xi32>
      %78 = arith.cmpi slt, %32, %77 : tensor<64x1xi32>
      %79 = tile.broadcast %78 : tensor<64x1xi1> -> tensor<64x64xi1>
      %80 = tile.load %70, %79, %cst_1 : tensor<64x64x!tile.ptr<f32>>
      %81 = tile.dot %76, %80, %arg10 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
      %82 = arith.extsi %c64_i32 : i32 to i64
      %83 = arith.addi %arg11, %82 : i64
      %84 = arith.extsi %45 : i32 to i64
      %85 = arith.addi %arg12, %84 : i64
      scf.yield %81, %83, %85 : tensor<64x64xf32>, i64, i64
    }
    %48 = arith.cmpf oge, %47#0, %cst_1 : tensor<64x64xf32>
    %49 = arith.mulf %47#0, %cst_0 : tensor<64x64xf32>
    %50 = arith.select %48, %47#0, %49 : tensor<64x64xi1>, tensor<64x64xf32>
    %51 = tile.expand_dims %17 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %52 = tile.splat %arg8 : i32 -> tensor<64x1xi32>
    %53 = arith.muli %51, %52 : tensor<64x1xi32>
    %54 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<64x1x!tile.ptr<f32>>
    %55 = tile.ptr_add %54, %53 : tensor<64x1x!tile.ptr<f32>>, tensor<64x1xi32>
    %56 = tile.expand_dims %20 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %57 = tile.broadcast %55 : tensor<64x1x!tile.ptr<f32>> -> tensor<64x64x!tile.ptr<f32>>
    %58 = tile.broadcast %56 : tensor<1x64xi32> -> tensor<64x64xi32>
    %59 = tile.ptr_add %57, %58 : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %60 = tile.splat %arg3 : i32 -> tensor<64x1xi32>
    %61 = arith.cmpi slt, %51, %60 : tensor<64x1xi32>
    %62 = tile.splat %arg4 : i32 -> tensor<1x64xi32>
    %63 = arith.cmpi slt, %56, %62 : tensor<1x64xi32>
    %64 = tile.broadcast %61 : tensor<64x1xi1> -> tensor<64x64xi1>
    %65 = tile.broadcast %63 : tensor<1x64xi1> -> tensor<64x64xi1>
    %66 = arith.andi %64, %65 : tensor<64x64xi1>
    tile.store %59, %50, %66 : tensor<64x64x!tile.ptr<f32>>
    return
  }
}