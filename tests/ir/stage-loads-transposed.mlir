// PIPELINE: --assign-layouts=warps=4,lanes=64,chip=gfx950,transposes=true,async=warps --pipeline-loops=lanes=64,chip=gfx950,transposes=true,async=warps,registers=131072,each=512,shared=163840

// Where reads transpose, whole warps copy what lies across the depth, too: rows of 128 bytes in the order of lanes, with
// 64 and 32 bytes exchanged by the lowest bits of the row's number. Nothing goes by registers.
// CHECK-LABEL: func.func @both_are_copied
// CHECK: %[[A:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK-NEXT: %[[B:.*]] = tile.buffer_alloc : <2, [64, 64], f16, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 32) (2, 16) (4, 16) (8, 16) (16, 0) (32, 0)]>>
// CHECK-NOT: tile.load
// CHECK-NOT: tile.buffer_store
// CHECK: tile.async_copy %{{.*}}, %[[A]][%[[ZERO:.*]]], %{{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_copy %{{.*}}, %[[B]][%[[ZERO]]], %{{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: scf.for
// CHECK: tile.async_copy %{{.*}}, %[[A]][%[[OTHER:.*]]] {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_copy %{{.*}}, %[[B]][%[[OTHER]]] {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_commit
// CHECK: %[[X:.*]] = tile.buffer_load %[[A]][%[[STAGE:.*]]] :
// CHECK-NEXT: %[[Y:.*]] = tile.buffer_load %[[B]][%[[STAGE]]] :
// CHECK-NEXT: tile.dot %[[X]], %[[Y]]
// CHECK: scf.yield
// CHECK-NOT: tile.load
// CHECK-NOT: tile.buffer_store
func.func @both_are_copied(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 65536 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %j = tile.arange 0, 64 : tensor<64xi32>
  %k = tile.arange 0, 64 : tensor<64xi32>
  %arows = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %acolumns = tile.expand_dims %k {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %awidth = arith.constant dense<64> : tensor<64x1xi32>
  %adown = arith.muli %arows, %awidth : tensor<64x1xi32>
  %adowns = tile.broadcast %adown : tensor<64x1xi32> -> tensor<64x64xi32>
  %aacross = tile.broadcast %acolumns : tensor<1x64xi32> -> tensor<64x64xi32>
  %aat = arith.addi %adowns, %aacross : tensor<64x64xi32>
  %brows = tile.expand_dims %k {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %bcolumns = tile.expand_dims %j {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %bwidth = arith.constant dense<64> : tensor<64x1xi32>
  %bdown = arith.muli %brows, %bwidth : tensor<64x1xi32>
  %bdowns = tile.broadcast %bdown : tensor<64x1xi32> -> tensor<64x64xi32>
  %bacross = tile.broadcast %bcolumns : tensor<1x64xi32> -> tensor<64x64xi32>
  %bat = arith.addi %bdowns, %bacross : tensor<64x64xi32>
  %orows = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %ocolumns = tile.expand_dims %j {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %owidth = arith.constant dense<64> : tensor<64x1xi32>
  %odown = arith.muli %orows, %owidth : tensor<64x1xi32>
  %odowns = tile.broadcast %odown : tensor<64x1xi32> -> tensor<64x64xi32>
  %oacross = tile.broadcast %ocolumns : tensor<1x64xi32> -> tensor<64x64xi32>
  %oat = arith.addi %odowns, %oacross : tensor<64x64xi32>
  %sum = scf.for %step = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %start = arith.muli %step, %size : i32
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i32
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %aat : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.ptr_add %bs, %bat : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %p : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %q : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %oat : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}
