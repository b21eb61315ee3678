// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --make-persistent=warps=4,async=lanes,maps=16,wgmma=true,shared=232448 --canonicalize --cse

// What follows from the arguments stays in front, also what divides; the rest is run for one program after another.
// CHECK-LABEL: func.func @product
// CHECK: %[[TILES:.*]] = arith.divsi
// CHECK: %[[FIRST:.*]] = tile.worker_id
// CHECK-NEXT: %[[WORKERS:.*]] = tile.num_workers
// CHECK-NEXT: %[[PROGRAMS:.*]] = tile.num_programs 0
// CHECK-NEXT: scf.for %[[ROUND:.*]] = %[[FIRST]] to %[[PROGRAMS]] step %[[WORKERS]]
// CHECK-NEXT: %[[PROGRAM:.*]] = tile.program_id 0 of %[[ROUND]]
// CHECK-NOT: tile.program_id 0{{$}}
// CHECK: arith.remsi %[[PROGRAM]], %[[TILES]]
// CHECK: scf.for
// CHECK: tile.dot_async
// CHECK: }
// CHECK: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %tiles = arith.divsi %count, %step : i32
  %row = arith.remsi %p, %tiles : i32
  %start = arith.muli %row, %step : i32
  %i = arith.extsi %start : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Where programs have numbers along other axes, the blocks share those of the whole grid.
// CHECK-LABEL: func.func @batches
// CHECK: %[[FIRST:.*]] = tile.worker_id of_grid
// CHECK: %[[X:.*]] = tile.num_programs 0
// CHECK: %[[Y:.*]] = tile.num_programs 1
// CHECK: %[[XY:.*]] = arith.muli %[[X]], %[[Y]]
// CHECK: %[[ALL:.*]] = arith.muli %[[XY]], %{{.*}}
// CHECK: scf.for %[[ROUND:.*]] = %[[FIRST]] to %[[ALL]] step
// CHECK-DAG: %[[COLUMN:.*]] = arith.remsi %[[ROUND]], %[[X]]
// CHECK-DAG: tile.program_id 0 of %[[COLUMN]]
// CHECK-DAG: %[[LEFT:.*]] = arith.divsi %[[ROUND]], %[[X]]
// CHECK-DAG: %[[BATCH:.*]] = arith.remsi %[[LEFT]], %[[Y]]
// CHECK-DAG: tile.program_id 1 of %[[BATCH]]
// CHECK: scf.for
func.func @batches(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %k: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %b = tile.program_id 1
  %i = arith.extsi %p : i32 to i64
  %j = arith.extsi %b : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%j, %i, %d64] of [%n, %n, %n] by [%n, %n, %one] checked = [true, true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.block_store %sum, %c[%j, %i, %i] of [%n, %n, %n] by [%n, %n, %one] checked = [true, true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// The number of rounds is the program's own: one with many would come last.
// CHECK-LABEL: func.func @of_different_lengths
// CHECK-NOT: tile.worker_id
// CHECK: return
func.func @of_different_lengths(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %end = arith.muli %p, %step : i32
  %i = arith.extsi %end : i32 to i64
  %sum = scf.for %d = %zero to %end step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Programs may wait for each other.
// CHECK-LABEL: func.func @in_order
// CHECK-NOT: tile.worker_id
// CHECK: return
func.func @in_order(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %k: i32, %turn: !tile.ptr<i32>, %kept: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %more = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %i = arith.extsi %p : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%i, %d64] of [%n, %n] by [%n, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %x, %x, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %before = tile.atomic_rmw add, relaxed, gpu, %turn, %more : !tile.ptr<i32>
  tile.store %kept, %before : !tile.ptr<i32>
  tile.block_store %sum, %c[%i, %i] of [%n, %n] by [%n, %one] checked = [true, true] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}
