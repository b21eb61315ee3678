// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=8,wgmma=true --start-products=warps=8,wgmma=true --pipeline-loops=warps=8,async=lanes,maps=16,wgmma=true,shared=232448 --drop-blocks --stage-stores=maps=16,shared=232448 --canonicalize --cse

// Maps are made from the arguments at the entry. The engine fills four stages, two rounds ahead: one thread announces
// what is to come, and each round waits for a phase of its stage. Warps do not meet in a round: each says when it is
// over, and the one that starts copies waits until the round before is, once its own product has been started.
// CHECK-LABEL: func.func @product
// CHECK-DAG: %[[ROWS:.*]] = arith.extsi %arg3
// CHECK-DAG: %[[DEPTH:.*]] = arith.extsi %arg4
// CHECK-DAG: tile.tensor_map %arg0 of[%[[ROWS]], %[[DEPTH]]] by[%[[DEPTH]], %c1_i64] : <f16> -> <[128, 64], f16, 128>
// CHECK-DAG: tile.tensor_map %arg1 of[%[[DEPTH]], {{.*}}] by[{{.*}}, %c1_i64] : <f16> -> <[64, 64], f16, 128>
// CHECK-DAG: %[[FULL:.*]] = tile.mbarrier_alloc : <4>
// CHECK: tile.mbarrier_init %[[FULL]] : <4>
// CHECK-NEXT: tile.mbarrier_init %[[OVER:.*]] arrivals = 8 : <4>
// CHECK-NEXT: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK: tile.mbarrier_expect %[[FULL]][%c0_i32], 49152 if
// CHECK: tile.tensor_copy
// CHECK: tile.tensor_copy
// CHECK: tile.mbarrier_expect %[[FULL]][%c1_i32], 49152 if
// CHECK: scf.for {{.*}} iter_args({{.*}} %[[READ:[a-z0-9]*]] = %c0_i32, %[[WRITE:[a-z0-9]*]] = %c2_i32, %[[PARITY:[a-z0-9]*]] = %c0_i32)
// CHECK-NEXT: tile.mbarrier_wait %[[FULL]][%[[READ]]], %[[PARITY]]
// CHECK-NOT: tile.barrier
// CHECK: tile.dot_async
// CHECK: %[[ISFIRST:.*]] = arith.cmpi eq, %[[READ]], %c0_i32
// CHECK: %[[LESS:.*]] = arith.subi %[[READ]], %c1_i32
// CHECK: %[[BEFORE:.*]] = arith.select %[[ISFIRST]], %c3_i32, %[[LESS]]
// CHECK: %[[PHASE:.*]] = arith.xori %[[PARITY]]
// CHECK: tile.mbarrier_wait %[[OVER]][%[[BEFORE]]], %[[PHASE]] of_copies
// CHECK: tile.mbarrier_expect %[[FULL]][%[[WRITE]]], 49152 if
// CHECK: tile.tensor_copy
// CHECK: tile.dot_wait 1
// CHECK-NEXT: tile.mbarrier_arrive %[[OVER]][%[[READ]]]
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[READ]], %c3_i32
// CHECK: arith.xori %[[PARITY]]
// CHECK: tile.dot_wait 0
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: tile.mbarrier_end %[[FULL]]
// CHECK-NEXT: tile.mbarrier_end %[[OVER]]
// CHECK: tile.buffer_store %{{.*}}, %[[TILE:.*]][%c0_i32]
// CHECK-NEXT: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK: tile.tensor_store %[[TILE]][%c0_i32], %{{.*}} order = [0, 1]
// CHECK-NEXT: tile.tensor_store_wait
// CHECK-NEXT: return
// CHECK-NOT: tile.block
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %c: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %m: i32, %k: i32, %n: i32 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<128x256xf32>
  %rows = arith.extsi %m : i32 to i64
  %depth = arith.extsi %k : i32 to i64
  %columns = arith.extsi %n : i32 to i64
  %x = tile.program_id 0
  %y = tile.program_id 1
  %tall = arith.constant 128 : i32
  %wide = arith.constant 256 : i32
  %i = arith.muli %x, %tall : i32
  %j = arith.muli %y, %wide : i32
  %i64 = arith.extsi %i : i32 to i64
  %j64 = arith.extsi %j : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<128x256xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %l = tile.block_load %a[%i64, %d64] of [%rows, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<128x64xf16>
    %r = tile.block_load %b[%d64, %j64] of [%depth, %columns] by [%columns, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x256xf16>
    %next = tile.dot %l, %r, %acc : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  tile.block_store %sum, %c[%i64, %j64] of [%rows, %columns] by [%columns, %one] checked = [true, true]
     : tensor<128x256xf32>, !tile.ptr<f32>
  return
}

// Not by the engine: an array that is not known to begin at a multiple of 16 bytes, and one whose extents are loaded.
// CHECK-LABEL: func.func @by_threads
// CHECK-NOT: tile.tensor_copy
// CHECK: tile.async_copy
func.func @by_threads(%a: !tile.ptr<f16> {tile.divisibility = 8 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %c: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %s: !tile.ptr<i64>, %k: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %zero64 = arith.constant 0 : i64
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %size = arith.constant 4096 : i64
  %loaded = tile.load %s : !tile.ptr<i64>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %l = tile.block_load %a[%zero64, %d64] of [%size, %size] by [%size, %one] checked = [false, false]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %r = tile.block_load %b[%d64, %zero64] of [%loaded, %size] by [%size, %one] checked = [true, false]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %l, %r, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.block_store %sum, %c[%zero64, %zero64] of [%size, %size] by [%size, %one] checked = [false, false]
     : tensor<64x64xf32>, !tile.ptr<f32>
  return
}
