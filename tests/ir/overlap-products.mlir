// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --pipeline-loops=warps=4,async=lanes,maps=16,wgmma=true,shared=60000,stages=2 --overlap-products --drop-blocks --canonicalize --cse

!q = tensor<64x64xf16>
!s = tensor<64x64xf32>

// The first round stands in front of the loop, where there is one, without its second product. Each further round starts
// its first product and the second one of the round before, which reads that round's stage, waits for the first one
// alone, and changes the sums behind the wait for the other one, which assemblers must not move. The last product stands
// behind the loop. What the first product reads has two stages, what the second one does three.
// CHECK-LABEL: func.func @attention
// CHECK-DAG: %[[KEYS:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK-DAG: %[[VALUES:.*]] = tile.buffer_alloc : <3, [64, 64], f16,
// CHECK-DAG: tile.mbarrier_alloc : <3>
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: scf.if %[[SOME]] -> (tensor<64x64xf32,
// CHECK: tile.dot_async {{.*}} -> tensor<64x64xf32
// CHECK-NEXT: tile.barrier shared
// CHECK: %[[FIRST:.*]] = tile.dot_wait 0
// CHECK-NOT: tile.dot_async
// CHECK: scf.for {{.*}} iter_args(%[[SUMS:[a-z0-9]*]] = %{{[a-z0-9_]*}}, {{.*}}, %[[P:[a-z0-9]*]] = %{{[a-z0-9_]*}}, %[[STAGE:[a-z0-9]*]] = %c0_i32)
// CHECK: %[[S:.*]] = tile.dot_async
// CHECK: %[[V:.*]] = tile.buffer_view %[[VALUES]][%[[STAGE]]]
// CHECK-NEXT: %[[T:.*]] = tile.dot_async %[[P]], %[[V]], %[[SUMS]] instruction = "wgmma.m64n64k16.f32.f16.f16" :
// CHECK-NEXT: tile.barrier shared
// CHECK: %[[SCORES:.*]] = tile.dot_wait 1, %[[S]]
// CHECK: tile.reduce
// CHECK: arith.truncf
// CHECK-NOT: arith.mulf %[[SUMS]]
// CHECK: %[[DONE:.*]] = tile.dot_wait 0 pinned, %[[T]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.mulf %[[DONE]]
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: %[[LASTV:.*]] = tile.buffer_view %[[VALUES]]
// CHECK-NEXT: %[[LAST:.*]] = tile.dot_async %{{.*}}, %[[LASTV]]
// CHECK-NEXT: %[[OUT:.*]] = tile.dot_wait 0, %[[LAST]]
// CHECK-NEXT: scf.yield %[[OUT]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield
// CHECK: return
func.func @attention(%q: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %v: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %zero64 = arith.constant 0 : i64
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : !s
  %x = tile.block_load %q[%zero64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> (!s) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %keys = tile.block_load %k[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %turned = tile.transpose %keys [1, 0] : !q -> !q
    %s = tile.dot %x, %turned, %none : !q * !q -> !s
    %top = tile.reduce(%s) axis 1 : (!s) -> tensor<64xf32> {
    ^bb0(%l: f32, %r: f32):
      %more = arith.maxnumf %l, %r : f32
      tile.yield %more : f32
    }
    %column = tile.expand_dims %top {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
    %wide = tile.broadcast %column : tensor<64x1xf32> -> !s
    %scaled = arith.mulf %acc, %wide : !s
    %p = arith.truncf %s : !s to !q
    %values = tile.block_load %v[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %next = tile.dot %p, %values, %scaled : !q * !q -> !s
    scf.yield %next : !s
  }
  tile.block_store %sum, %out[%zero64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !s, !tile.ptr<f32>
  return
}

// A round takes what the second product of the round before has made: nothing is to be gained.
// CHECK-LABEL: func.func @the_first_takes_the_second
// CHECK: scf.for
// CHECK: tile.dot_async
// CHECK-NOT: pinned
// CHECK: return
func.func @the_first_takes_the_second(%k: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %v: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %zero64 = arith.constant 0 : i64
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : !s
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> (!s) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %keys = tile.block_load %k[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %x = arith.truncf %acc : !s to !q
    %s = tile.dot %x, %keys, %none : !q * !q -> !s
    %p = arith.truncf %s : !s to !q
    %values = tile.block_load %v[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %next = tile.dot %p, %values, %acc : !q * !q -> !s
    scf.yield %next : !s
  }
  tile.block_store %sum, %out[%zero64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !s, !tile.ptr<f32>
  return
}

// Both rounds of a loop that is known to have some: no branch. Nothing changes the sums on their way.
// CHECK-LABEL: func.func @two_rounds
// CHECK-NOT: scf.if
// CHECK: tile.dot_wait 0 pinned
// CHECK-NOT: scf.if
// CHECK: return
func.func @two_rounds(%q: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %k: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %v: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %rows: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %zero64 = arith.constant 0 : i64
  %step = arith.constant 64 : i32
  %n = arith.constant 128 : i32
  %one = arith.constant 1 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : !s
  %x = tile.block_load %q[%zero64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
  %sum = scf.for %i = %zero to %n step %step iter_args(%acc = %none) -> (!s) : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %keys = tile.block_load %k[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %turned = tile.transpose %keys [1, 0] : !q -> !q
    %s = tile.dot %x, %turned, %none : !q * !q -> !s
    %p = arith.truncf %s : !s to !q
    %values = tile.block_load %v[%i64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !tile.ptr<f16> -> !q
    %next = tile.dot %p, %values, %acc : !q * !q -> !s
    scf.yield %next : !s
  }
  tile.block_store %sum, %out[%zero64, %zero64] of [%rows, %width] by [%width, %one] checked = [true, true] : !s, !tile.ptr<f32>
  return
}
