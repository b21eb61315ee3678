// PIPELINE: --assign-layouts=warps=4 --assign-access-widths=bytes=16

// Four numbers of 32 bits at once, since the mask changes at multiples of 16; a scalar is accessed as it is.
// CHECK-LABEL: func.func @mask_of_runs
// CHECK: tile.load {{.*}} access = <axis = 0, width = 4> : tensor<1024x
// CHECK: tile.load %{{[a-z0-9]+}} : !tile.ptr<f32>
// CHECK: tile.store {{.*}} access = <axis = 0, width = 4> : tensor<1024x
func.func @mask_of_runs(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0, 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %at = tile.ptr_add %ps, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %in = arith.cmpi slt, %i, %ns : tensor<1024xi32>
  %x = tile.load %at, %in : tensor<1024x!tile.ptr<f32>>
  %y = tile.load %p : !tile.ptr<f32>
  %ys = tile.splat %y : f32 -> tensor<1024xf32>
  %sum = arith.addf %x, %ys : tensor<1024xf32>
  tile.store %at, %sum, %in : tensor<1024x!tile.ptr<f32>>
  return
}

// One by one where it may change at every element.
// CHECK-LABEL: func.func @mask_of_elements
// CHECK: tile.load {{.*}} access = <axis = 0, width = 1> : tensor<1024x
// CHECK: tile.store {{.*}} access = <axis = 0, width = 1> : tensor<1024x
func.func @mask_of_elements(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) {
  %i = tile.arange 0, 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %at = tile.ptr_add %ps, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %in = arith.cmpi slt, %i, %ns : tensor<1024xi32>
  %x = tile.load %at, %in : tensor<1024x!tile.ptr<f32>>
  %y = tile.load %p : !tile.ptr<f32>
  %ys = tile.splat %y : f32 -> tensor<1024xf32>
  %sum = arith.addf %x, %ys : tensor<1024xf32>
  tile.store %at, %sum, %in : tensor<1024x!tile.ptr<f32>>
  return
}

// A tile that lies in memory column by column is read down its columns.
// CHECK-LABEL: func.func @columns
// CHECK: tile.load {{.*}} access = <axis = 0, width = 4> : tensor<64x32x
func.func @columns(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %j = tile.arange 0, 32 : tensor<32xi32>
  %height = arith.constant dense<64> : tensor<32xi32>
  %starts = arith.muli %j, %height : tensor<32xi32>
  %row = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.expand_dims %starts {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %rows = tile.broadcast %row : tensor<64x1xi32> -> tensor<64x32xi32>
  %columns = tile.broadcast %column : tensor<1x32xi32> -> tensor<64x32xi32>
  %o = arith.addi %rows, %columns : tensor<64x32xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x32x!tile.ptr<f32>>
  %at = tile.ptr_add %ps, %o : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
  %x = tile.load %at : tensor<64x32x!tile.ptr<f32>>
  tile.store %at, %x : tensor<64x32x!tile.ptr<f32>>
  return
}
