// PIPELINE: --fill-buffers

#tile = #tile.layout<64x64, register = [(0, 1) (0, 2) (0, 4) (16, 0) (32, 0)], lane = [(0, 8) (0, 16) (0, 32) (1, 0) (2, 0)], warp = [(4, 0) (8, 0)]>
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
#columns = #tile.shared_layout<64x64, offset = [(1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0) (8, 1) (16, 2) (32, 4) (0, 8) (0, 16) (0, 32)]>
!ptrs = tensor<64x64x!tile.ptr<f16>, #tile>
!half = tensor<64x64xf16, #tile>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
!turned = !tile.buffer<1, [64, 64], f16, #columns>

// Both tiles are stored, and behind both stores there is one fence with one barrier, in this order, before the product
// reads them. Buffers are allocated where the function starts.
// CHECK-LABEL: func.func @two_stores_share_a_fence
// CHECK-NEXT: %[[B1:.*]] = tile.buffer_alloc : <1, [64, 64], f16,
// CHECK-NEXT: %[[B2:.*]] = tile.buffer_alloc : <1, [64, 64], f16,
// CHECK-NOT: tile.to_buffer
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[Y:.*]] = tile.load
// CHECK-NOT: tile.proxy_fence
// CHECK-DAG: tile.buffer_store %[[X]], %[[A:.*]][%{{.*}}] :
// CHECK-DAG: tile.buffer_store %[[Y]], %[[B:.*]][%{{.*}}] :
// CHECK: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: %[[S:.*]] = tile.dot_async %[[A]], %[[B]], %{{.*}} instruction = "wgmma.m64n64k16.f32.f16.f16"
// CHECK-NEXT: tile.dot_wait 0, %[[S]]
// CHECK-NOT: tile.proxy_fence
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @two_stores_share_a_fence(%p: !tile.ptr<f16>, %q: !tile.ptr<f16>) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %ps = tile.splat %p : !tile.ptr<f16> -> !ptrs
  %qs = tile.splat %q : !tile.ptr<f16> -> !ptrs
  %x = tile.load %ps : !ptrs
  %y = tile.load %qs : !ptrs
  %a = tile.to_buffer %x : !half -> !buffer
  %b = tile.to_buffer %y : !half -> !buffer
  %s = tile.dot_async %a, %b, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %r = tile.dot_wait 0, %s : (!sum) -> !sum
  return %r : !sum
}

// A product that reads a view reads its buffer: stored, and fenced, before.
// CHECK-LABEL: func.func @through_a_view
// CHECK: %[[BUFFER:.*]] = tile.buffer_alloc : <1, [64, 64], f16,
// CHECK-NOT: tile.buffer_alloc
// CHECK: %[[X:.*]] = tile.load
// CHECK: tile.buffer_store %[[X]], %[[BUFFER]][%{{.*}}] :
// CHECK-DAG: %[[VIEW:.*]] = tile.buffer_view %[[BUFFER]] order = [1, 0] :
// CHECK-DAG: tile.proxy_fence
// CHECK: tile.barrier shared
// CHECK-NEXT: tile.dot_async %[[BUFFER]], %[[VIEW]],
// CHECK-NOT: tile.proxy_fence
// CHECK: return
func.func @through_a_view(%p: !tile.ptr<f16>) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %ps = tile.splat %p : !tile.ptr<f16> -> !ptrs
  %x = tile.load %ps : !ptrs
  %a = tile.to_buffer %x : !half -> !buffer
  %b = tile.buffer_view %a order = [1, 0] : !buffer -> !turned
  %s = tile.dot_async %a, %b, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !turned -> !sum
  %r = tile.dot_wait 0, %s : (!sum) -> !sum
  return %r : !sum
}

// A buffer takes shared memory from its first use on: what only the second product reads is stored behind the wait for
// the first, with a fence of its own. A view that stands earlier is no use.
// CHECK-LABEL: func.func @stored_where_it_is_read_first
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[Y:.*]] = tile.load
// CHECK-NOT: tile.buffer_store %[[Y]]
// CHECK: tile.buffer_store %[[X]], %[[A:.*]][%{{.*}}] :
// CHECK-NOT: tile.buffer_store
// CHECK: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK-NOT: tile.buffer_store
// CHECK: %[[FIRST:.*]] = tile.dot_async %[[A]], %[[A]],
// CHECK-NEXT: %[[WAITED:.*]] = tile.dot_wait 0, %[[FIRST]]
// CHECK: tile.buffer_store %[[Y]], %[[B:.*]][%{{.*}}] :
// CHECK-DAG: %[[VIEW:.*]] = tile.buffer_view %[[B]]
// CHECK-DAG: tile.proxy_fence
// CHECK: tile.barrier shared
// CHECK-NEXT: tile.dot_async %[[A]], %[[VIEW]], %[[WAITED]]
// CHECK-NOT: tile.buffer_store
// CHECK: return
func.func @stored_where_it_is_read_first(%p: !tile.ptr<f16>, %q: !tile.ptr<f16>) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %ps = tile.splat %p : !tile.ptr<f16> -> !ptrs
  %qs = tile.splat %q : !tile.ptr<f16> -> !ptrs
  %x = tile.load %ps : !ptrs
  %y = tile.load %qs : !ptrs
  %b = tile.to_buffer %y : !half -> !buffer
  %view = tile.buffer_view %b order = [1, 0] : !buffer -> !turned
  %a = tile.to_buffer %x : !half -> !buffer
  %s = tile.dot_async %a, %a, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %r = tile.dot_wait 0, %s : (!sum) -> !sum
  %t = tile.dot_async %a, %view, %r instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !turned -> !sum
  %u = tile.dot_wait 0, %t : (!sum) -> !sum
  return %u : !sum
}

// What a loop reads in every round is stored once, and fenced once, before the loop. What it has made itself, it stores
// in the round, and fences there; the buffer stands before all loops.
// CHECK-LABEL: func.func @loop
// CHECK: tile.buffer_alloc
// CHECK-NEXT: tile.buffer_alloc
// CHECK: %[[X:.*]] = tile.load
// CHECK: tile.buffer_store %[[X]], %[[A:.*]][%{{.*}}] :
// CHECK: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) ->
// CHECK-NOT: tile.buffer_alloc
// CHECK: %[[Y:.*]] = tile.load
// CHECK-NOT: tile.buffer_store %[[X]]
// CHECK: tile.buffer_store %[[Y]], %[[B:.*]][%{{.*}}] :
// CHECK-NEXT: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: tile.dot_async %[[A]], %[[B]], %[[SUM]]
// CHECK-NEXT: %[[R:.*]] = tile.dot_wait 0
// CHECK-NEXT: scf.yield %[[R]]
// CHECK-NOT: tile.proxy_fence
// CHECK: return
func.func @loop(%p: !tile.ptr<f16>, %q: !tile.ptr<f16>, %n: i32) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ps = tile.splat %p : !tile.ptr<f16> -> !ptrs
  %x = tile.load %ps : !ptrs
  %a = tile.to_buffer %x : !half -> !buffer
  %sums = scf.for %k = %zero to %n step %one iter_args(%sum = %none) -> (!sum) : i32 {
    %qk = tile.ptr_add %q, %k : !tile.ptr<f16>, i32
    %qs = tile.splat %qk : !tile.ptr<f16> -> !ptrs
    %y = tile.load %qs : !ptrs
    %b = tile.to_buffer %y : !half -> !buffer
    %s = tile.dot_async %a, %b, %sum instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    %r = tile.dot_wait 0, %s : (!sum) -> !sum
    scf.yield %r : !sum
  }
  return %sums : !sum
}

// A product in one branch of two: all threads meet before they part.
// CHECK-LABEL: func.func @branch
// CHECK: tile.buffer_store
// CHECK: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: scf.if
// CHECK-NOT: tile.barrier
// CHECK: tile.dot_async
// CHECK: return
func.func @branch(%p: !tile.ptr<f16>, %c: i1) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %ps = tile.splat %p : !tile.ptr<f16> -> !ptrs
  %x = tile.load %ps : !ptrs
  %a = tile.to_buffer %x : !half -> !buffer
  %sums = scf.if %c -> (!sum) {
    %s = tile.dot_async %a, %a, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    %r = tile.dot_wait 0, %s : (!sum) -> !sum
    scf.yield %r : !sum
  } else {
    scf.yield %none : !sum
  }
  return %sums : !sum
}

// What pipelined loops read from stages of their own is theirs to fill.
// CHECK-LABEL: func.func @stages_of_others
// CHECK: %[[STAGES:.*]] = tile.buffer_alloc : <3, [64, 64], f16,
// CHECK-NOT: tile.buffer_alloc
// CHECK-NOT: tile.buffer_store
// CHECK: %[[STAGE:.*]] = tile.buffer_view %[[STAGES]][%arg0] order = [0, 1] :
// CHECK-NOT: tile.proxy_fence
// CHECK: tile.dot_async %[[STAGE]], %[[STAGE]],
// CHECK: return
func.func @stages_of_others(%stage: i32) -> !sum {
  %none = arith.constant dense<0.0> : !sum
  %stages = tile.buffer_alloc : !tile.buffer<3, [64, 64], f16, #rows>
  %a = tile.buffer_view %stages[%stage] order = [0, 1] : !tile.buffer<3, [64, 64], f16, #rows> -> !buffer
  %s = tile.dot_async %a, %a, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %r = tile.dot_wait 0, %s : (!sum) -> !sum
  return %r : !sum
}
