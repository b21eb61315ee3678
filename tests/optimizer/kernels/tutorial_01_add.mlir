module {
  func.func @add(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x_ptr"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "y_ptr"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "out_ptr"}, %arg3: i32 {tile.name = "count"}) attributes {tile.kernel} {
    %c16384_i32 = arith.constant 16384 : i32
    %0 = tile.program_id 0
    %1 = arith.muli %0, %c16384_i32 : i32
    %2 = tile.arange 0, 16384 : tensor<16384xi32>
    %3 = tile.splat %1 : i32 -> tensor<16384xi32>
    %4 = arith.addi %3, %2 : tensor<16384xi32>
    %5 = tile.splat %arg3 : i32 -> tensor<16384xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<16384xi32>
    %7 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<16384x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %4 : tensor<16384x!tile.ptr<f32>>, tensor<16384xi32>
    %9 = tile.load %8, %6 : tensor<16384x!tile.ptr<f32>>
    %10 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16384x!tile.ptr<f32>>
    %11 = tile.ptr_add %10, %4 : tensor<16384x!tile.ptr<f32>>, tensor<16384xi32>
    %12 = tile.load %11, %6 : tensor<16384x!tile.ptr<f32>>
    %13 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<16384x!tile.ptr<f32>>
    %14 = tile.ptr_add %13, %4 : tensor<16384x!tile.ptr<f32>>, tensor<16384xi32>
    %15 = arith.addf %9, %12 : tensor<16384xf32>
    tile.store %14, %15, %6 : tensor<16384x!tile.ptr<f32>>
    return
  }
}