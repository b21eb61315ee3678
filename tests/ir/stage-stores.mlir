// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=4,wgmma=true --stage-stores=maps=16,shared=232448 --canonicalize --cse

// Threads put the tile in shared memory, from where one of them has it stored; the kernel ends when it is read.
// CHECK-LABEL: func.func @one
// CHECK-DAG: %[[TILE:.*]] = tile.buffer_alloc
// CHECK-DAG: %[[MAP:.*]] = tile.tensor_map %arg1
// CHECK: tile.buffer_store %{{.*}}, %[[TILE]][%c0_i32]
// CHECK-NEXT: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK: tile.tensor_store %[[TILE]][%c0_i32], %[[MAP]]
// CHECK-NEXT: tile.tensor_store_wait
// CHECK-NEXT: return
func.func @one(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  tile.block_store %y, %c[%far, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  return
}

// Two that write rows below each other are waited for together.
// CHECK-LABEL: func.func @below_each_other
// CHECK: tile.tensor_store %
// CHECK-NOT: tile.tensor_store_wait
// CHECK: tile.tensor_store %
// CHECK-NEXT: tile.tensor_store_wait
// CHECK-NEXT: return
func.func @below_each_other(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %b = arith.constant 64 : i64
  %z = arith.negf %sum : tensor<64x64xf32>
  %w = arith.truncf %z : tensor<64x64xf32> to tensor<64x64xf16>
  tile.block_store %y, %c[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  tile.block_store %w, %c[%b, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  return
}

// The engine keeps no order among stores.
// CHECK-LABEL: func.func @overlapping
// CHECK-NOT: tile.tensor_
// CHECK: tile.store
// CHECK-NOT: tile.tensor_
// CHECK: return
func.func @overlapping(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %b = arith.constant 63 : i64
  %z = arith.negf %sum : tensor<64x64xf32>
  %w = arith.truncf %z : tensor<64x64xf32> to tensor<64x64xf16>
  tile.block_store %y, %c[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  tile.block_store %w, %c[%b, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  return
}

// What follows a row may be the next one.
// CHECK-LABEL: func.func @rows_that_reach_into_others
// CHECK-NOT: tile.tensor_
// CHECK: tile.store
// CHECK-NOT: tile.tensor_
// CHECK: return
func.func @rows_that_reach_into_others(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %b = arith.constant 64 : i64
  %z = arith.negf %sum : tensor<64x64xf32>
  %w = arith.truncf %z : tensor<64x64xf32> to tensor<64x64xf16>
  tile.block_store %y, %c[%zero, %zero] of [%n, %far] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  tile.block_store %w, %c[%b, %zero] of [%n, %far] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  return
}

// A load may have to see what is written.
// CHECK-LABEL: func.func @read_too
// CHECK-NOT: tile.tensor_
// CHECK: tile.store
// CHECK-NOT: tile.tensor_
// CHECK: return
func.func @read_too(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  %old = tile.block_load %c[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %w = arith.addf %y, %old : tensor<64x64xf16>
  tile.block_store %w, %c[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  return
}

// An atomic may let others know that it is written.
// CHECK-LABEL: func.func @counted
// CHECK-NOT: tile.tensor_
// CHECK: tile.store
// CHECK-NOT: tile.tensor_
// CHECK: return
func.func @counted(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : !tile.ptr<f16> -> tensor<64x64xf16>
  %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
  tile.block_store %y, %c[%zero, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
     : tensor<64x64xf16>, !tile.ptr<f16>
  %more = arith.constant 1 : i32
  %before = tile.atomic_rmw add, acq_rel, gpu, %count, %more : !tile.ptr<i32>
  return
}

// A round of a loop waits until the one before has written.
// CHECK-LABEL: func.func @rounds
// CHECK: scf.for
// CHECK: tile.tensor_store_wait written
// CHECK-NEXT: tile.barrier shared
// CHECK-NEXT: tile.buffer_store
// CHECK-NEXT: tile.proxy_fence
// CHECK-NEXT: tile.barrier shared
// CHECK: tile.tensor_store %
// CHECK: tile.tensor_store_wait
// CHECK-NEXT: return
func.func @rounds(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %n: i64 {tile.divisibility = 16 : i64}, %far: i64, %count: !tile.ptr<i32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %many = arith.constant 8 : i64
  scf.for %i = %zero to %many step %one : i64 {
    %x = tile.block_load %a[%i, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %sum = tile.dot %x, %x, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %y = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
    tile.block_store %y, %c[%far, %zero] of [%n, %n] by [%n, %one] checked = [true, true]
       : tensor<64x64xf16>, !tile.ptr<f16>
  }
  return
}
