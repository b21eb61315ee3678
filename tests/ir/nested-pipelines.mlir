// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --pipeline-loops=warps=4,async=lanes,maps=16,wgmma=true,shared=232448 --drop-blocks --canonicalize --cse

// Copies go on from round to round of the outer loop. Barriers are made in front of it, and the first copies start
// there: those of the first round without a branch for each where it is long enough.
// CHECK-LABEL: func.func @tiles
// CHECK: tile.mbarrier_init %[[FULL:.*]] :
// CHECK-DAG: %[[HASTILES:.*]] = arith.cmpi slt, %[[P:[0-9]*]], %arg3
// CHECK-DAG: %[[HASDEPTH:.*]] = arith.cmpi sgt, %arg4, %c0_i32
// CHECK: %[[EXISTS:.*]] = arith.andi %[[HASTILES]], %[[HASDEPTH]]
// CHECK: %[[ROW:.*]] = scf.if %[[EXISTS]] -> (i32)
// CHECK-NEXT: arith.divsi %[[P]], %arg5
// CHECK: %[[FIRST:.*]] = arith.select %[[EXISTS]], %[[P]], %arg3
// CHECK: %[[AHEAD:.*]]:3 = scf.if
// CHECK: tile.mbarrier_expect %[[FULL]][%c0_i32]
// CHECK: tile.tensor_copy
// CHECK: tile.mbarrier_expect %[[FULL]][%c1_i32]
// CHECK: } else {
// CHECK: scf.for
// CHECK: tile.tensor_copy
// CHECK: scf.if
// Where the next round of the outer loop will have them is computed behind.
// CHECK: arith.addi %[[AHEAD]]#1
// CHECK: scf.if {{.*}} -> (i32)
// CHECK-NEXT: arith.divsi
// CHECK: scf.for %[[TILE:[a-z0-9]*]] = %[[P]] to %arg3 step %{{.*}} iter_args(%[[INDEX:[a-z0-9]*]] = %[[AHEAD]]#0, %[[OUTER:[a-z0-9]*]] = %[[AHEAD]]#1, %[[KNOWN:[a-z0-9]*]] = %[[AHEAD]]#2,
// This round's own number is at hand, or made again.
// CHECK: %[[ISTHERE:.*]] = arith.cmpi eq, %[[OUTER]], %[[TILE]]
// CHECK: scf.if %[[ISTHERE]] -> (i32)
// CHECK-NEXT: scf.yield %[[KNOWN]]
// CHECK: arith.divsi %[[TILE]], %arg5
// The inner loop has no branch.
// CHECK: scf.for %{{.*}} = %c0_i32 to %arg4 step %c64_i32 iter_args(
// CHECK: tile.mbarrier_wait %[[FULL]]
// CHECK: tile.dot_async
// CHECK-NEXT: tile.barrier shared
// CHECK-NOT: scf.if
// CHECK: tile.tensor_copy
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: tile.dot_wait 1
// CHECK: }
// The next one is computed under the last product.
// CHECK: scf.if
// CHECK: arith.divsi
// CHECK: tile.dot_wait 0
// CHECK-NOT: tile.mbarrier_end
// CHECK: tile.store
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: tile.mbarrier_end %[[FULL]]
func.func @tiles(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32, %group: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %tile = %p to %count step %programs : i32 {
    %row = arith.divsi %tile, %group : i32
    %start = arith.muli %row, %step : i32
    %i = arith.extsi %start : i32 to i64
    %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
      %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  }
  return
}

// What a round of the outer loop loads says where the next copies are: they begin anew in each.
// CHECK-LABEL: func.func @where_memory_says
// CHECK: scf.for
// CHECK: tile.mbarrier_init
// CHECK: scf.for
// CHECK: tile.mbarrier_end
// CHECK: tile.store
func.func @where_memory_says(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32, %rows: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %tile = %p to %count step %programs : i32 {
    %at = tile.ptr_add %rows, %tile : !tile.ptr<i32>, i32
    %row = tile.load %at : !tile.ptr<i32>
    %i = arith.extsi %row : i32 to i64
    %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
      %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  }
  return
}

// So it does where rounds are not of one length.
// CHECK-LABEL: func.func @of_different_lengths
// CHECK: scf.for
// CHECK: tile.mbarrier_init
// CHECK: scf.for
// CHECK: tile.mbarrier_end
// CHECK: tile.store
func.func @of_different_lengths(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %count: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %tile = %p to %count step %programs : i32 {
    %end = arith.muli %tile, %step : i32
    %i = arith.extsi %end : i32 to i64
    %sum = scf.for %d = %zero to %end step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
      %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  }
  return
}

// Stages of two loops would lie beside each other.
// CHECK-LABEL: func.func @two_loops
// CHECK: scf.for
// CHECK: tile.mbarrier_init
// CHECK: scf.for
// CHECK: tile.mbarrier_end
// CHECK: tile.mbarrier_init
// CHECK: scf.for
// CHECK: tile.mbarrier_end
// CHECK: tile.store
func.func @two_loops(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %tile = %p to %count step %programs : i32 {
    %start = arith.muli %tile, %step : i32
    %i = arith.extsi %start : i32 to i64
    %half = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
      %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %half) -> (tensor<64x64xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%d64, %i] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
      %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  }
  return
}
