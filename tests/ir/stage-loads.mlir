// PIPELINE: --assign-layouts=warps=4,matrix=true --pipeline-loops=matrix=true,registers=262144,shared=131072

// The first round's tiles are stored before the loop. Each round but the last loads those of the next one, which
// wait in registers while it multiplies, and go to the other stage behind the products.
// CHECK-LABEL: func.func @two_stages
// CHECK: %[[A:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK-NEXT: %[[B:.*]] = tile.buffer_alloc : <2, [64, 64], f16,
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %arg3 : i32
// CHECK: %[[A0:.*]] = tile.load {{.*}}, %{{.*}} :
// CHECK: %[[B0:.*]] = tile.load {{.*}}, %{{.*}} :
// CHECK: tile.buffer_store %[[A0]], %[[A]]
// CHECK-NEXT: tile.buffer_store %[[B0]], %[[B]]
// CHECK: scf.for
// CHECK-NEXT: tile.barrier shared
// CHECK: %[[A1:.*]] = tile.load
// CHECK: %[[B1:.*]] = tile.load
// CHECK-NEXT: tile.schedule_barrier
// CHECK: %[[X:.*]] = tile.buffer_load %[[A]][%[[STAGE:.*]]] :
// CHECK-NEXT: %[[Y:.*]] = tile.buffer_load %[[B]][%[[STAGE]]] :
// CHECK-NEXT: tile.dot %[[X]], %[[Y]]
// CHECK-NEXT: tile.schedule_barrier
// CHECK-NEXT: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[STAGE]] : i32
// CHECK-NEXT: tile.buffer_store %[[A1]], %[[A]][%[[OTHER]]]
// CHECK-NEXT: tile.buffer_store %[[B1]], %[[B]][%[[OTHER]]]
// CHECK-NEXT: scf.yield
// CHECK: scf.if %[[EXISTS]]
// CHECK-NEXT: tile.barrier shared
// CHECK-NOT: tile.load
// CHECK: tile.buffer_load %[[A]]
// CHECK-NEXT: tile.buffer_load %[[B]]
// CHECK-NEXT: tile.dot
// CHECK: else
// CHECK-NOT: tile.barrier
// CHECK: tile.store
func.func @two_stages(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
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

// Two stages would leave no room for the programs that have registers: one, and all threads have read it before it is written.
// CHECK-LABEL: func.func @one_stage
// CHECK: tile.buffer_alloc : <1, [64, 128], f16,
// CHECK-NEXT: tile.buffer_alloc : <1, [128, 64], f16,
// CHECK: scf.for
// CHECK-NEXT: tile.barrier shared
// CHECK-COUNT-2: tile.load
// CHECK: tile.dot
// CHECK-NEXT: tile.schedule_barrier
// CHECK-NEXT: tile.barrier shared
// CHECK-COUNT-2: tile.buffer_store
// CHECK: scf.if
// CHECK: tile.dot
func.func @one_stage(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 65536 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %j = tile.arange 0, 64 : tensor<64xi32>
  %k = tile.arange 0, 128 : tensor<128xi32>
  %arows = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %acolumns = tile.expand_dims %k {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %awidth = arith.constant dense<128> : tensor<64x1xi32>
  %adown = arith.muli %arows, %awidth : tensor<64x1xi32>
  %adowns = tile.broadcast %adown : tensor<64x1xi32> -> tensor<64x128xi32>
  %aacross = tile.broadcast %acolumns : tensor<1x128xi32> -> tensor<64x128xi32>
  %aat = arith.addi %adowns, %aacross : tensor<64x128xi32>
  %brows = tile.expand_dims %k {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
  %bcolumns = tile.expand_dims %j {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %bwidth = arith.constant dense<64> : tensor<128x1xi32>
  %bdown = arith.muli %brows, %bwidth : tensor<128x1xi32>
  %bdowns = tile.broadcast %bdown : tensor<128x1xi32> -> tensor<128x64xi32>
  %bacross = tile.broadcast %bcolumns : tensor<1x64xi32> -> tensor<128x64xi32>
  %bat = arith.addi %bdowns, %bacross : tensor<128x64xi32>
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
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<64x128x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<128x64x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %aat : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xi32>
    %q = tile.ptr_add %bs, %bat : tensor<128x64x!tile.ptr<f16>>, tensor<128x64xi32>
    %x = tile.load %p : tensor<64x128x!tile.ptr<f16>>
    %y = tile.load %q : tensor<128x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x128xf16> * tensor<128x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %oat : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}

// A thread has too few registers for the next round: tiles go to their buffers in the round that reads them.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-2: tile.buffer_alloc : <1, [128, 128], f16,
// CHECK-NOT: tile.load
// CHECK: scf.for
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: tile.buffer_store %[[X]]
// CHECK: %[[Y:.*]] = tile.load
// CHECK-NEXT: tile.buffer_store %[[Y]]
// CHECK: tile.barrier shared
// CHECK-COUNT-2: tile.buffer_load
// CHECK-NEXT: tile.dot
// CHECK-NOT: scf.if
// CHECK: return
func.func @in_place(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 65536 : i32
  %none = arith.constant dense<0.0> : tensor<128x128xf32>
  %i = tile.arange 0, 128 : tensor<128xi32>
  %j = tile.arange 0, 128 : tensor<128xi32>
  %k = tile.arange 0, 128 : tensor<128xi32>
  %arows = tile.expand_dims %i {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
  %acolumns = tile.expand_dims %k {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %awidth = arith.constant dense<128> : tensor<128x1xi32>
  %adown = arith.muli %arows, %awidth : tensor<128x1xi32>
  %adowns = tile.broadcast %adown : tensor<128x1xi32> -> tensor<128x128xi32>
  %aacross = tile.broadcast %acolumns : tensor<1x128xi32> -> tensor<128x128xi32>
  %aat = arith.addi %adowns, %aacross : tensor<128x128xi32>
  %brows = tile.expand_dims %k {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
  %bcolumns = tile.expand_dims %j {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %bwidth = arith.constant dense<128> : tensor<128x1xi32>
  %bdown = arith.muli %brows, %bwidth : tensor<128x1xi32>
  %bdowns = tile.broadcast %bdown : tensor<128x1xi32> -> tensor<128x128xi32>
  %bacross = tile.broadcast %bcolumns : tensor<1x128xi32> -> tensor<128x128xi32>
  %bat = arith.addi %bdowns, %bacross : tensor<128x128xi32>
  %orows = tile.expand_dims %i {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
  %ocolumns = tile.expand_dims %j {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %owidth = arith.constant dense<128> : tensor<128x1xi32>
  %odown = arith.muli %orows, %owidth : tensor<128x1xi32>
  %odowns = tile.broadcast %odown : tensor<128x1xi32> -> tensor<128x128xi32>
  %oacross = tile.broadcast %ocolumns : tensor<1x128xi32> -> tensor<128x128xi32>
  %oat = arith.addi %odowns, %oacross : tensor<128x128xi32>
  %sum = scf.for %step = %zero to %n step %one iter_args(%acc = %none) -> (tensor<128x128xf32>) : i32 {
    %start = arith.muli %step, %size : i32
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i32
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i32
    %as = tile.splat %ak : !tile.ptr<f16> -> tensor<128x128x!tile.ptr<f16>>
    %bs = tile.splat %bk : !tile.ptr<f16> -> tensor<128x128x!tile.ptr<f16>>
    %p = tile.ptr_add %as, %aat : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xi32>
    %q = tile.ptr_add %bs, %bat : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xi32>
    %x = tile.load %p : tensor<128x128x!tile.ptr<f16>>
    %y = tile.load %q : tensor<128x128x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<128x128xf16> * tensor<128x128xf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<128x128x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %oat : tensor<128x128x!tile.ptr<f32>>, tensor<128x128xi32>
  tile.store %r, %sum : tensor<128x128x!tile.ptr<f32>>
  return
}

// A loop may ask for one stage: nothing runs ahead.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NOT: tile.buffer_alloc
// CHECK: return
func.func @as_it_is(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
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
  } {tile.num_stages = 1 : i64}
  %outs = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %r = tile.ptr_add %outs, %oat : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %r, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}
