// PIPELINE: --assign-layouts=warps=4 --skip-masks=warps=4

// One comparison of the least row with the greatest column, and that no sum has wrapped.
// CHECK-LABEL: func.func @causal
// CHECK: scf.for
// CHECK-NOT: tile.splat
// CHECK: tile.dot
// CHECK: [[ROW:%[0-9]+]] = arith.extsi %arg2 : i32 to i64
// CHECK: [[START:%[0-9]+]] = arith.extsi %arg4 : i32 to i64
// CHECK: [[COLUMN:%[0-9]+]] = arith.addi [[START]], %c63_i64
// CHECK: arith.cmpi sle, [[COLUMN]], [[ROW]] : i64
// CHECK: arith.cmpi sle, {{.*}}, %c2147483647_i64
// CHECK: arith.cmpi sle, %c-2147483648_i64, [[START]] : i64
// CHECK: scf.if
// CHECK-NEXT: scf.yield
// CHECK: else
// CHECK: tile.splat
// CHECK: arith.cmpi sge
// CHECK: arith.select
func.func @causal(%p: !tile.ptr<f16>, %o: !tile.ptr<f32>, %first: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %none = arith.constant dense<-1.0> : tensor<64x64xf32>
  %sums = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = arith.constant dense<1.0> : tensor<64x64xf16>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %fs = tile.splat %first : i32 -> tensor<64xi32>
  %row = arith.addi %fs, %i : tensor<64xi32>
  %rows = tile.expand_dims %row {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rows2 = tile.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %r = scf.for %k = %zero to %n step %step iter_args(%acc = %sums) -> (tensor<64x64xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<64xi32>
    %column = arith.addi %ks, %i : tensor<64xi32>
    %columns = tile.expand_dims %column {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %columns2 = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %mask = arith.cmpi sge, %rows2, %columns2 : tensor<64x64xi32>
    %s = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %m = arith.select %mask, %s, %none : tensor<64x64xi1>, tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }
  return
}

// A product of the number of the round is no sum, and a mask that a branch would not be cheaper than stays.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: scf.if
// CHECK: return
func.func @stays(%p: !tile.ptr<f16>, %o: !tile.ptr<f32>, %first: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %none = arith.constant dense<-1.0> : tensor<64x64xf32>
  %few = arith.constant dense<-1.0> : tensor<64xf32>
  %sums = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = arith.constant dense<1.0> : tensor<64x64xf16>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %fs = tile.splat %first : i32 -> tensor<64xi32>
  %row = arith.addi %fs, %i : tensor<64xi32>
  %rows = tile.expand_dims %row {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rows2 = tile.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %r:2 = scf.for %k = %zero to %n step %step iter_args(%acc = %sums, %line = %few) -> (tensor<64x64xf32>, tensor<64xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<64xi32>
    %column = arith.muli %ks, %i : tensor<64xi32>
    %columns = tile.expand_dims %column {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %columns2 = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %mask = arith.cmpi sge, %rows2, %columns2 : tensor<64x64xi32>
    %s = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %m = arith.select %mask, %s, %none : tensor<64x64xi1>, tensor<64x64xf32>
    %small = arith.cmpi sge, %row, %ks : tensor<64xi32>
    %l = arith.select %small, %line, %few : tensor<64xi1>, tensor<64xf32>
    scf.yield %m, %l : tensor<64x64xf32>, tensor<64xf32>
  }
  return
}

// A sum that is added to itself forty times is given up, not followed through a million million ways.
// CHECK-LABEL: func.func @doubled
// CHECK-NOT: scf.if
// CHECK: return
func.func @doubled(%first: i32, %n: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %none = arith.constant dense<-1.0> : tensor<64x64xf32>
  %sums = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = arith.constant dense<1.0> : tensor<64x64xf16>
  %rows = tile.splat %first : i32 -> tensor<64x64xi32>
  %r = scf.for %k = %zero to %n step %step iter_args(%acc = %sums) -> (tensor<64x64xf32>) : i32 {
    %v0 = tile.splat %k : i32 -> tensor<64x64xi32>
    %v1 = arith.addi %v0, %v0 : tensor<64x64xi32>
    %v2 = arith.addi %v1, %v1 : tensor<64x64xi32>
    %v3 = arith.addi %v2, %v2 : tensor<64x64xi32>
    %v4 = arith.addi %v3, %v3 : tensor<64x64xi32>
    %v5 = arith.addi %v4, %v4 : tensor<64x64xi32>
    %v6 = arith.addi %v5, %v5 : tensor<64x64xi32>
    %v7 = arith.addi %v6, %v6 : tensor<64x64xi32>
    %v8 = arith.addi %v7, %v7 : tensor<64x64xi32>
    %v9 = arith.addi %v8, %v8 : tensor<64x64xi32>
    %v10 = arith.addi %v9, %v9 : tensor<64x64xi32>
    %v11 = arith.addi %v10, %v10 : tensor<64x64xi32>
    %v12 = arith.addi %v11, %v11 : tensor<64x64xi32>
    %v13 = arith.addi %v12, %v12 : tensor<64x64xi32>
    %v14 = arith.addi %v13, %v13 : tensor<64x64xi32>
    %v15 = arith.addi %v14, %v14 : tensor<64x64xi32>
    %v16 = arith.addi %v15, %v15 : tensor<64x64xi32>
    %v17 = arith.addi %v16, %v16 : tensor<64x64xi32>
    %v18 = arith.addi %v17, %v17 : tensor<64x64xi32>
    %v19 = arith.addi %v18, %v18 : tensor<64x64xi32>
    %v20 = arith.addi %v19, %v19 : tensor<64x64xi32>
    %v21 = arith.addi %v20, %v20 : tensor<64x64xi32>
    %v22 = arith.addi %v21, %v21 : tensor<64x64xi32>
    %v23 = arith.addi %v22, %v22 : tensor<64x64xi32>
    %v24 = arith.addi %v23, %v23 : tensor<64x64xi32>
    %v25 = arith.addi %v24, %v24 : tensor<64x64xi32>
    %v26 = arith.addi %v25, %v25 : tensor<64x64xi32>
    %v27 = arith.addi %v26, %v26 : tensor<64x64xi32>
    %v28 = arith.addi %v27, %v27 : tensor<64x64xi32>
    %v29 = arith.addi %v28, %v28 : tensor<64x64xi32>
    %v30 = arith.addi %v29, %v29 : tensor<64x64xi32>
    %v31 = arith.addi %v30, %v30 : tensor<64x64xi32>
    %v32 = arith.addi %v31, %v31 : tensor<64x64xi32>
    %v33 = arith.addi %v32, %v32 : tensor<64x64xi32>
    %v34 = arith.addi %v33, %v33 : tensor<64x64xi32>
    %v35 = arith.addi %v34, %v34 : tensor<64x64xi32>
    %v36 = arith.addi %v35, %v35 : tensor<64x64xi32>
    %v37 = arith.addi %v36, %v36 : tensor<64x64xi32>
    %v38 = arith.addi %v37, %v37 : tensor<64x64xi32>
    %v39 = arith.addi %v38, %v38 : tensor<64x64xi32>
    %v40 = arith.addi %v39, %v39 : tensor<64x64xi32>
    %mask = arith.cmpi sge, %rows, %v40 : tensor<64x64xi32>
    %s = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %m = arith.select %mask, %s, %none : tensor<64x64xi1>, tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }
  return
}
