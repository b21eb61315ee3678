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
