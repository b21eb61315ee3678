// PIPELINE: --assign-layouts=warps=4,matrix=true --pipeline-loops=async=lanes,stages=3

// Two turns are on their way before the loop; each turn waits for its own, starts the copies of the turn two
// ahead and multiplies from the buffers. Behind the loop nothing is on its way.
// CHECK-LABEL: func.func @product
// CHECK-NEXT: %[[B:.*]] = tile.buffer_alloc : <3, [64, 64], f16,
// CHECK-NEXT: %[[A:.*]] = tile.buffer_alloc : <3, [64, 64], f16,
// CHECK-COUNT-2: tile.async_copy {{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_commit
// CHECK-COUNT-2: tile.async_copy {{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_commit
// CHECK-NOT: tile.async_copy
// CHECK: scf.for
// CHECK-NEXT: tile.async_wait 1
// CHECK-NEXT: tile.barrier
// CHECK-COUNT-2: tile.async_copy {{.*}} {axis = 1 : i32, width = 8 : i32}
// CHECK: tile.async_commit
// CHECK-NOT: tile.load
// CHECK: %[[X:.*]] = tile.buffer_load %[[A]]
// CHECK-NEXT: %[[Y:.*]] = tile.buffer_load %[[B]]
// CHECK: tile.dot %[[X]], %[[Y]]
// CHECK: scf.yield
// CHECK: tile.async_wait 0
// CHECK: tile.store
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
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
  %sum = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %start = arith.muli %k, %size : i32
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i32
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.ptr_add %bs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %p : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %q : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}

// A loop may ask for one stage: nothing runs ahead.
// CHECK-LABEL: func.func @one_stage
// CHECK-NOT: tile.async_copy
// CHECK: scf.for
// CHECK-COUNT-2: tile.load
// CHECK: tile.dot
// CHECK: return
func.func @one_stage(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
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
  %sum = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %start = arith.muli %k, %size : i32
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i32
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %q = tile.ptr_add %bs, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %p : tensor<64x64x!tile.ptr<f16>>
    %y = tile.load %q : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  } {tile.num_stages = 1 : i64}
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %at : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}
