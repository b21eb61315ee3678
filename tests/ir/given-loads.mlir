// PIPELINE: --assign-layouts=warps=4,matrix=true --pipeline-loops=async=lanes,stages=3

// Where a block lies is loaded three rounds ahead, where that round exists, and carried to the next round, which
// copies the block.
// CHECK-LABEL: func.func @through_a_table
// CHECK: %[[FIRST:.*]] = tile.load %{{.*}}, %{{.*}} : !tile.ptr<i32>
// CHECK: arith.muli %[[FIRST]],
// CHECK: tile.async_copy
// CHECK: %[[SECOND:.*]] = tile.load %{{.*}}, %{{.*}} : !tile.ptr<i32>
// CHECK: arith.muli %[[SECOND]],
// CHECK: tile.async_copy
// CHECK: %[[THIRD:.*]] = tile.load %{{.*}}, %{{.*}} : !tile.ptr<i32>
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[GIVEN:[a-z0-9]*]] = %[[THIRD]],
// CHECK: arith.muli %[[GIVEN]],
// CHECK: tile.async_copy
// CHECK: arith.andi
// CHECK: %[[NEXT:.*]] = tile.load %{{.*}}, %{{.*}} : !tile.ptr<i32>
// CHECK-NOT: tile.load
// CHECK: tile.dot
// CHECK: scf.yield {{.*}}%[[NEXT]],
func.func @through_a_table(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %table: !tile.ptr<i32> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 4096 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %width = arith.constant dense<64> : tensor<64x1xi32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %row = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %down = arith.muli %row, %width : tensor<64x1xi32>
  %downs = tile.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %downs, %columns : tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ap = tile.ptr_add %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %left = tile.load %ap : tensor<64x64x!tile.ptr<f16>>
  %sum = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %entry = tile.ptr_add %table, %k : !tile.ptr<i32>, i32
    %page = tile.load %entry : !tile.ptr<i32>
    %start = arith.muli %page, %size : i32
    %bk = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %q = tile.ptr_add %bs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %y = tile.load %q : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %left, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}
