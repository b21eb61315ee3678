module {
  func.func @argmax(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<i32> {tile.divisibility = 16 : i64, tile.name = "o"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "N"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 4096 : tensor<4096xi32>
    %1 = tile.program_id 0
    %2 = tile.ptr_add %arg1, %1 : !tile.ptr<i32>, i32
    %3 = arith.muli %1, %arg2 : i32
    %4 = tile.ptr_add %arg0, %3 : !tile.ptr<f32>, i32
    %5 = tile.splat %4 : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
    %6 = tile.ptr_add %5, %0 : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
    %7 = tile.load %6 : tensor<4096x!tile.ptr<f32>>
    %8:2 = tile.reduce(%7, %0) axis 0 : (tensor<4096xf32>, tensor<4096xi32>) -> (f32, i32) {
    ^bb0(%arg3: f32, %arg4: i32, %arg5: f32, %arg6: i32):
      %9 = arith.cmpf ogt, %arg3, %arg5 : f32
      %10 = arith.cmpf oeq, %arg3, %arg5 : f32
      %11 = arith.cmpi slt, %arg4, %arg6 : i32
      %12 = arith.andi %10, %11 : i1
      %13 = arith.ori %9, %12 : i1
      %14 = arith.select %13, %arg3, %arg5 : f32
      %15 = arith.select %13, %arg4, %arg6 : i32
      tile.yield %14, %15 : f32, i32
    }
    tile.store %2, %8#1 : !tile.ptr<i32>
    return
  }
}