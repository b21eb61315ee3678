module {
  func.func @reductions(%arg0: !tile.ptr<f32> {tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.name = "out"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 16 : tensor<16xi32>
    %1 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
    %2 = tile.ptr_add %1, %0 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %3 = tile.load %2 : tensor<16x!tile.ptr<f32>>
    %4:2 = tile.reduce(%3, %0) axis 0 : (tensor<16xf32>, tensor<16xi32>) -> (f32, i32) {
    ^bb0(%arg2: f32, %arg3: i32, %arg4: f32, %arg5: i32):
      %19 = arith.cmpf ogt, %arg2, %arg4 : f32
      %20 = arith.select %19, %arg2, %arg4 : f32
      %21 = arith.select %19, %arg3, %arg5 : i32
      tile.yield %20, %21 : f32, i32
    }
    %5 = tile.reduce(%3) axis 0 : (tensor<16xf32>) -> f32 {
    ^bb0(%arg2: f32, %arg3: f32):
      %19 = arith.mulf %arg2, %arg3 : f32
      tile.yield %19 : f32
    }
    %6 = tile.scan(%3) axis 0 reverse false : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%arg2: f32, %arg3: f32):
      %19 = arith.mulf %arg2, %arg3 : f32
      tile.yield %19 : f32
    }
    %7 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %0 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %9 = tile.splat %5 : f32 -> tensor<16xf32>
    %10 = arith.mulf %6, %9 : tensor<16xf32>
    %11 = tile.splat %4#0 : f32 -> tensor<16xf32>
    %12 = arith.addf %10, %11 : tensor<16xf32>
    %13 = arith.sitofp %4#1 : i32 to f32
    %14 = tile.splat %13 : f32 -> tensor<16xf32>
    %15 = arith.addf %12, %14 : tensor<16xf32>
    %16 = tile.reduce(%3) axis 0 : (tensor<16xf32>) -> f32 {
    ^bb0(%arg2: f32, %arg3: f32):
      %19 = arith.addf %arg2, %arg3 : f32
      tile.yield %19 : f32
    }
    %17 = tile.splat %16 : f32 -> tensor<16xf32>
    %18 = arith.addf %15, %17 : tensor<16xf32>
    tile.store %8, %18 : tensor<16x!tile.ptr<f32>>
    return
  }
}
