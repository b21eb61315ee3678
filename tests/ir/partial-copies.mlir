// PIPELINE: --assign-layouts=warps=4,matrix=true,async=lanes --pipeline-loops=async=lanes,stages=3

// Rows end anywhere, and begin at multiples of 16 bytes: a thread copies eight neighbours at a time, as many of them
// as the row has. What other rows hold has masks of its own, the same for all eight.
// CHECK-LABEL: func.func @rows_end_anywhere
// CHECK: tile.async_copy %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} partial {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_copy %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: scf.for
// CHECK: tile.async_copy {{.*}} partial
// CHECK-NOT: tile.async_copy {{.*}} partial
// CHECK: return
func.func @rows_end_anywhere(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32, %depth: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 4096 : i32
  %across = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %rows = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %width = arith.constant dense<64> : tensor<64x1xi32>
  %down = arith.muli %rows, %width : tensor<64x1xi32>
  %downs = tile.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %acrosses = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %downs, %acrosses : tensor<64x64xi32>
  %sum = scf.for %step = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %start = arith.muli %step, %size : i32
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i32
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.ptr_add %bs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %done = arith.muli %step, %across : i32
    %left = arith.subi %depth, %done : i32
    %ends = tile.splat %left : i32 -> tensor<1x64xi32>
    %last = tile.splat %left : i32 -> tensor<64x1xi32>
    %incolumns = arith.cmpi slt, %columns, %ends : tensor<1x64xi32>
    %inrows = arith.cmpi slt, %rows, %last : tensor<64x1xi32>
    %amask = tile.broadcast %incolumns : tensor<1x64xi1> -> tensor<64x64xi1>
    %bmask = tile.broadcast %inrows : tensor<64x1xi1> -> tensor<64x64xi1>
    %x = tile.load %p, %amask : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %q, %bmask : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}
