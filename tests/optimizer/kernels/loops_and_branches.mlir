module {
  func.func @carried(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.name = "n"}) attributes {tile.kernel} {
    %c1024_i32 = arith.constant 1024 : i32
    %c3_i32 = arith.constant 3 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst = arith.constant dense<5.000000e-01> : tensor<1024xf32>
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<1024xf32>
    %c0_i32 = arith.constant 0 : i32
    %0 = tile.arange 0, 1024 : tensor<1024xi32>
    %1 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %2 = tile.ptr_add %1, %0 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %3 = tile.load %2 : tensor<1024x!tile.ptr<f32>>
    %4:2 = scf.while (%arg3 = %3, %arg4 = %c0_i32) : (tensor<1024xf32>, i32) -> (tensor<1024xf32>, i32) {
      %9 = arith.cmpi slt, %arg4, %arg2 : i32
      scf.condition(%9) %arg3, %arg4 : tensor<1024xf32>, i32
    } do {
    ^bb0(%arg3: tensor<1024xf32>, %arg4: i32):
      %9 = arith.cmpf ogt, %arg3, %cst_0 : tensor<1024xf32>
      %10 = arith.mulf %arg3, %cst : tensor<1024xf32>
      %11 = arith.addf %arg3, %cst_0 : tensor<1024xf32>
      %12 = arith.select %9, %10, %11 : tensor<1024xi1>, tensor<1024xf32>
      %13 = arith.addi %arg4, %c1_i32 : i32
      scf.yield %12, %13 : tensor<1024xf32>, i32
    }
    %5 = arith.cmpi sgt, %arg2, %c3_i32 : i32
    %6 = scf.if %5 -> (tensor<1024xf32>) {
      %9 = arith.addf %4#0, %cst_0 : tensor<1024xf32>
      scf.yield %9 : tensor<1024xf32>
    } else {
      %9 = tile.ptr_add %arg0, %c1024_i32 : !tile.ptr<f32>, i32
      %10 = tile.splat %9 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %11 = tile.ptr_add %10, %0 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %12 = tile.load %11 : tensor<1024x!tile.ptr<f32>>
      scf.yield %12 : tensor<1024xf32>
    }
    %7 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %0 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    tile.store %8, %6 : tensor<1024x!tile.ptr<f32>>
    return
  }
}