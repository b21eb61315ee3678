// PIPELINE: --assign-layouts=warps=4,matrix=true,async=warps --pipeline-loops=matrix=true,async=warps,registers=262144,shared=131072

// Copies of whole warps fill the other stage while a round multiplies; what lies across the depth goes by registers.
// Warps wait for their own copies before they meet, in the last round, too.
// CHECK-LABEL: func.func @copies
// CHECK: %[[A:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK-NEXT: %[[B:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK: tile.async_copy %{{.*}}, %[[A]][%[[ZERO:.*]]], %{{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: %[[B0:.*]] = tile.load
// CHECK: tile.async_commit
// CHECK: tile.buffer_store %[[B0]], %[[B]][%[[ZERO]]]
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait 0
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[STAGE:.*]] : i32
// CHECK: tile.async_copy %{{.*}}, %[[A]][%[[OTHER]]] {axis = 1 : i32, width = 8 : i32}
// CHECK: %[[B1:.*]] = tile.load
// CHECK: tile.async_commit
// CHECK: tile.schedule_barrier
// CHECK: %[[X:.*]] = tile.buffer_load %[[A]][%[[STAGE]]] :
// CHECK-NEXT: %[[Y:.*]] = tile.buffer_load %[[B]][%[[STAGE]]] :
// CHECK-NEXT: tile.dot %[[X]], %[[Y]]
// CHECK-NEXT: tile.schedule_barrier
// CHECK-NEXT: tile.buffer_store %[[B1]], %[[B]][%[[OTHER]]]
// CHECK-NEXT: scf.yield
// CHECK: tile.async_wait 0
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.barrier shared
func.func @copies(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
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
