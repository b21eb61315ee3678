module {
  func.func @gathered(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<i32> {tile.divisibility = 16 : i64, tile.name = "i"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "o"}) attributes {tile.kernel} {
    %0 = tile.arange 0, 1024 : tensor<1024xi32>
    %1 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %2 = tile.ptr_add %1, %0 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %3 = tile.splat %arg1 : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
    %4 = tile.ptr_add %3, %0 : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
    %5 = tile.load %4 : tensor<1024x!tile.ptr<i32>>
    %6 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %7 = tile.ptr_add %6, %5 : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %8 = tile.load %7 : tensor<1024x!tile.ptr<f32>>
    tile.store %2, %8 : tensor<1024x!tile.ptr<f32>>
    return
  }
}