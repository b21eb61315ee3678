// PIPELINE: --describe-blocks --canonicalize --cse

// Rows modulo an extent, whose results the store masks off; the loop moves along the depth.
// CHECK-LABEL: func.func @tutorial
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c32_i32
// CHECK: scf.for %[[K:.*]] = %c0_i32
// CHECK-DAG: %[[K64:.*]] = arith.extsi %[[K]]
// CHECK-DAG: %[[M64:.*]] = arith.extsi %arg3
// CHECK-DAG: %[[DEPTH:.*]] = arith.extsi %arg4
// CHECK-DAG: %[[STRIDE:.*]] = arith.extsi %arg5
// CHECK: %[[BLOCK:.*]] = tile.block %arg0[%{{.*}}, %[[K64]]] of[%[[M64]], %[[DEPTH]]] by[%[[STRIDE]], %c1_i64]
// CHECK: tile.load %{{.*}}, %{{.*}} within %[[BLOCK]]
// CHECK: %[[OTHER:.*]] = tile.block %arg1[%[[K64]], %c0_i64] of[%[[DEPTH]], %c2147483648_i64] by[%c16_i64, %c1_i64]
// CHECK: tile.load %{{.*}}, %{{.*}} within %[[OTHER]]
func.func @tutorial(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %c: !tile.ptr<f32>, %m: i32, %k: i32,
    %lda: i32 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %none = arith.constant dense<0.0> : tensor<32x16xf16>
  %nothing = arith.constant dense<0.0> : tensor<32x32xf16>
  %start = arith.constant dense<0.0> : tensor<32x16xf32>
  %width = arith.constant dense<16> : tensor<32x1xi32>
  %steps = arith.constant dense<32> : tensor<32x32xi32>
  %rows16 = arith.constant dense<512> : tensor<32x16xi32>
  %x = tile.program_id 0
  %first = arith.muli %x, %step : i32
  %r = tile.arange 0, 32 : tensor<32xi32>
  %n = tile.arange 0, 16 : tensor<16xi32>
  %firsts = tile.splat %first : i32 -> tensor<32xi32>
  %row = arith.addi %firsts, %r : tensor<32xi32>
  %ms = tile.splat %m : i32 -> tensor<32xi32>
  %turned = arith.remsi %row, %ms : tensor<32xi32>
  %down = tile.expand_dims %turned {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %ld = tile.splat %lda : i32 -> tensor<32x1xi32>
  %rows = arith.muli %down, %ld : tensor<32x1xi32>
  %ap = tile.splat %a : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %ar = tile.ptr_add %ap, %rows : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
  %deep = tile.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %arb = tile.broadcast %ar : tensor<32x1x!tile.ptr<f16>> -> tensor<32x32x!tile.ptr<f16>>
  %deeps = tile.broadcast %deep : tensor<1x32xi32> -> tensor<32x32xi32>
  %as = tile.ptr_add %arb, %deeps : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  %tall = tile.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %talls = arith.muli %tall, %width : tensor<32x1xi32>
  %bp = tile.splat %b : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %br = tile.ptr_add %bp, %talls : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
  %wide = tile.expand_dims %n {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %brb = tile.broadcast %br : tensor<32x1x!tile.ptr<f16>> -> tensor<32x16x!tile.ptr<f16>>
  %wides = tile.broadcast %wide : tensor<1x16xi32> -> tensor<32x16xi32>
  %bs = tile.ptr_add %brb, %wides : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
  %sum:3 = scf.for %i = %zero to %k step %step iter_args(%acc = %start, %p = %as, %q = %bs)
      -> (tensor<32x16xf32>, tensor<32x32x!tile.ptr<f16>>, tensor<32x16x!tile.ptr<f16>>) : i32 {
    %left = arith.subi %k, %i : i32
    %lefts = tile.splat %left : i32 -> tensor<1x32xi32>
    %is = arith.cmpi slt, %deep, %lefts : tensor<1x32xi32>
    %mask = tile.broadcast %is : tensor<1x32xi1> -> tensor<32x32xi1>
    %l = tile.load %p, %mask, %nothing : tensor<32x32x!tile.ptr<f16>>
    %heights = tile.splat %left : i32 -> tensor<32x1xi32>
    %isin = arith.cmpi sgt, %heights, %tall : tensor<32x1xi32>
    %masks = tile.broadcast %isin : tensor<32x1xi1> -> tensor<32x16xi1>
    %t = tile.load %q, %masks, %none : tensor<32x16x!tile.ptr<f16>>
    %next = tile.dot %l, %t, %acc : tensor<32x32xf16> * tensor<32x16xf16> -> tensor<32x16xf32>
    %pn = tile.ptr_add %p, %steps : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %qn = tile.ptr_add %q, %rows16 : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
    scf.yield %next, %pn, %qn : tensor<32x16xf32>, tensor<32x32x!tile.ptr<f16>>, tensor<32x16x!tile.ptr<f16>>
  }
  %outs = tile.splat %c : !tile.ptr<f32> -> tensor<32x16x!tile.ptr<f32>>
  %o = tile.ptr_add %outs, %wides : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %within = arith.cmpi slt, %row, %ms : tensor<32xi32>
  %column = tile.expand_dims %within {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %kept = tile.broadcast %column : tensor<32x1xi1> -> tensor<32x16xi1>
  %twice = arith.addf %sum#0, %sum#0 : tensor<32x16xf32>
  tile.store %o, %twice, %kept : tensor<32x16x!tile.ptr<f32>>
  return
}

// Rows that are stored without a mask begin anew beyond the extent; numbers of 64 bits may leave what coordinates can
// say; a mask that is no comparison with an extent is something else. The store writes a block.
// CHECK-LABEL: func.func @no_blocks
// CHECK-NOT: within
// CHECK: scf.yield
// CHECK: tile.block %arg1
// CHECK: tile.store {{.*}} within
func.func @no_blocks(%a: !tile.ptr<f16>, %c: !tile.ptr<f32>, %m: i32, %far: i64, %t: i1) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant dense<0.0> : tensor<16x16xf32>
  %width = arith.constant dense<16> : tensor<16x1xi32>
  %r = tile.arange 0, 16 : tensor<16xi32>
  %ms = tile.splat %m : i32 -> tensor<16xi32>
  %turned = arith.remsi %r, %ms : tensor<16xi32>
  %down = tile.expand_dims %turned {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %plain = tile.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %rows = arith.muli %down, %width : tensor<16x1xi32>
  %plains = arith.muli %plain, %width : tensor<16x1xi32>
  %wide = tile.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %wides = tile.broadcast %wide : tensor<1x16xi32> -> tensor<16x16xi32>
  %turnedb = tile.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
  %plainb = tile.broadcast %plains : tensor<16x1xi32> -> tensor<16x16xi32>
  %ap = tile.splat %a : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
  %p0 = tile.ptr_add %ap, %turnedb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %p = tile.ptr_add %p0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %moved = tile.ptr_add %a, %far : !tile.ptr<f16>, i64
  %mp = tile.splat %moved : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
  %q0 = tile.ptr_add %mp, %plainb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %q = tile.ptr_add %q0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %s0 = tile.ptr_add %ap, %plainb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %s = tile.ptr_add %s0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %ts = tile.splat %t : i1 -> tensor<16x16xi1>
  %sum = scf.for %i = %zero to %m step %one iter_args(%acc = %start) -> (tensor<16x16xf32>) : i32 {
    %x = tile.load %p : tensor<16x16x!tile.ptr<f16>>
    %y = tile.load %q : tensor<16x16x!tile.ptr<f16>>
    %z = tile.load %s, %ts : tensor<16x16x!tile.ptr<f16>>
    %some = tile.dot %x, %y, %acc : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %next = tile.dot %x, %z, %some : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %outs = tile.splat %c : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %o = tile.ptr_add %outs, %plainb : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %o1 = tile.ptr_add %o, %wides : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  tile.store %o1, %sum : tensor<16x16x!tile.ptr<f32>>
  return
}

// Blocks have +0.0 outside of their arrays; steps of nothing lead nowhere.
// CHECK-LABEL: func.func @other_numbers
// CHECK-NOT: within
// CHECK: return
func.func @other_numbers(%a: !tile.ptr<f16>, %c: !tile.ptr<f32>, %m: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<-0.0> : tensor<16x16xf16>
  %start = arith.constant dense<0.0> : tensor<16x16xf32>
  %width = arith.constant dense<16> : tensor<16x1xi32>
  %still = arith.constant dense<0> : tensor<16x1xi32>
  %steps = arith.constant dense<-9223372036854775808> : tensor<16x16xi64>
  %r = tile.arange 0, 16 : tensor<16xi32>
  %down = tile.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %wide = tile.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %wides = tile.broadcast %wide : tensor<1x16xi32> -> tensor<16x16xi32>
  %ap = tile.splat %a : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
  %rows = arith.muli %down, %width : tensor<16x1xi32>
  %rowsb = tile.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
  %p0 = tile.ptr_add %ap, %rowsb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %p = tile.ptr_add %p0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %same = arith.muli %down, %still : tensor<16x1xi32>
  %sameb = tile.broadcast %same : tensor<16x1xi32> -> tensor<16x16xi32>
  %q0 = tile.ptr_add %ap, %sameb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %q1 = tile.ptr_add %q0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %ms = tile.splat %m : i32 -> tensor<16x1xi32>
  %is = arith.cmpi slt, %down, %ms : tensor<16x1xi32>
  %mask = tile.broadcast %is : tensor<16x1xi1> -> tensor<16x16xi1>
  %sum:2 = scf.for %i = %zero to %m step %one iter_args(%acc = %start, %q = %q1)
      -> (tensor<16x16xf32>, tensor<16x16x!tile.ptr<f16>>) : i32 {
    %x = tile.load %p, %mask, %none : tensor<16x16x!tile.ptr<f16>>
    %y = tile.load %q : tensor<16x16x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %qn = tile.ptr_add %q, %steps : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi64>
    scf.yield %next, %qn : tensor<16x16xf32>, tensor<16x16x!tile.ptr<f16>>
  }
  %cs = tile.splat %c : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  tile.store %cs, %sum#0 : tensor<16x16x!tile.ptr<f32>>
  return
}

// Bounds of 8 bits wrap before they are compared; starts of 64 bits do not wrap where the mask's do.
// CHECK-LABEL: func.func @narrow_and_wide
// CHECK-NOT: within
// CHECK: return
func.func @narrow_and_wide(%a: !tile.ptr<f16>, %c: !tile.ptr<f32>, %m: i32, %b: i8) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant dense<0.0> : tensor<16x16xf32>
  %width = arith.constant dense<16> : tensor<16x1xi32>
  %width64 = arith.constant dense<16> : tensor<16x1xi64>
  %r = tile.arange 0, 16 : tensor<16xi32>
  %down = tile.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %wide = tile.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %wides = tile.broadcast %wide : tensor<1x16xi32> -> tensor<16x16xi32>
  %ap = tile.splat %a : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
  %rows = arith.muli %down, %width : tensor<16x1xi32>
  %rowsb = tile.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
  %p0 = tile.ptr_add %ap, %rowsb : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %p = tile.ptr_add %p0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %twice = arith.addi %b, %b : i8
  %bound = arith.extsi %twice : i8 to i32
  %bounds = tile.splat %bound : i32 -> tensor<16x1xi32>
  %is = arith.cmpi slt, %down, %bounds : tensor<16x1xi32>
  %mask = tile.broadcast %is : tensor<16x1xi1> -> tensor<16x16xi1>
  %x = tile.program_id 0
  %first = arith.muli %x, %one : i32
  %far = arith.extsi %x : i32 to i64
  %fars = tile.splat %far : i64 -> tensor<16x1xi64>
  %down64 = arith.extsi %down : tensor<16x1xi32> to tensor<16x1xi64>
  %row64 = arith.addi %fars, %down64 : tensor<16x1xi64>
  %rows64 = arith.muli %row64, %width64 : tensor<16x1xi64>
  %rows64b = tile.broadcast %rows64 : tensor<16x1xi64> -> tensor<16x16xi64>
  %q0 = tile.ptr_add %ap, %rows64b : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi64>
  %q = tile.ptr_add %q0, %wides : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
  %nears = tile.splat %x : i32 -> tensor<16x1xi32>
  %row = arith.addi %nears, %down : tensor<16x1xi32>
  %ms = tile.splat %m : i32 -> tensor<16x1xi32>
  %isin = arith.cmpi slt, %row, %ms : tensor<16x1xi32>
  %masks = tile.broadcast %isin : tensor<16x1xi1> -> tensor<16x16xi1>
  %sum = scf.for %i = %zero to %m step %one iter_args(%acc = %start) -> (tensor<16x16xf32>) : i32 {
    %l = tile.load %p, %mask : tensor<16x16x!tile.ptr<f16>>
    %k = tile.load %q, %masks : tensor<16x16x!tile.ptr<f16>>
    %next = tile.dot %l, %k, %acc : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %cs = tile.splat %c : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  tile.store %cs, %sum : tensor<16x16x!tile.ptr<f32>>
  return
}

// Rows beyond the extent are row 0, and the store masks off what is made of them.
// CHECK-LABEL: func.func @rows_or_0
// CHECK-DAG: %[[ROWS:.*]] = arith.extsi %arg3
// CHECK-DAG: %[[DEPTHS:.*]] = arith.extsi %arg4
// CHECK: tile.block %arg0[%{{.*}}, %{{.*}}] of[%[[ROWS]], %[[DEPTHS]]]
func.func @rows_or_0(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %c: !tile.ptr<f32>, %m: i32, %k: i32,
    %lda: i32 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %none = arith.constant dense<0.0> : tensor<32x16xf16>
  %nothing = arith.constant dense<0.0> : tensor<32x32xf16>
  %start = arith.constant dense<0.0> : tensor<32x16xf32>
  %width = arith.constant dense<16> : tensor<32x1xi32>
  %steps = arith.constant dense<32> : tensor<32x32xi32>
  %rows16 = arith.constant dense<512> : tensor<32x16xi32>
  %x = tile.program_id 0
  %first = arith.muli %x, %step : i32
  %r = tile.arange 0, 32 : tensor<32xi32>
  %n = tile.arange 0, 16 : tensor<16xi32>
  %firsts = tile.splat %first : i32 -> tensor<32xi32>
  %row = arith.addi %firsts, %r : tensor<32xi32>
  %ms = tile.splat %m : i32 -> tensor<32xi32>
  %nowhere = arith.constant dense<0> : tensor<32xi32>
  %inside = arith.cmpi slt, %row, %ms : tensor<32xi32>
  %turned = arith.select %inside, %row, %nowhere : tensor<32xi1>, tensor<32xi32>
  %down = tile.expand_dims %turned {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %ld = tile.splat %lda : i32 -> tensor<32x1xi32>
  %rows = arith.muli %down, %ld : tensor<32x1xi32>
  %ap = tile.splat %a : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %ar = tile.ptr_add %ap, %rows : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
  %deep = tile.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %arb = tile.broadcast %ar : tensor<32x1x!tile.ptr<f16>> -> tensor<32x32x!tile.ptr<f16>>
  %deeps = tile.broadcast %deep : tensor<1x32xi32> -> tensor<32x32xi32>
  %as = tile.ptr_add %arb, %deeps : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  %tall = tile.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %talls = arith.muli %tall, %width : tensor<32x1xi32>
  %bp = tile.splat %b : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %br = tile.ptr_add %bp, %talls : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
  %wide = tile.expand_dims %n {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %brb = tile.broadcast %br : tensor<32x1x!tile.ptr<f16>> -> tensor<32x16x!tile.ptr<f16>>
  %wides = tile.broadcast %wide : tensor<1x16xi32> -> tensor<32x16xi32>
  %bs = tile.ptr_add %brb, %wides : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
  %sum:3 = scf.for %i = %zero to %k step %step iter_args(%acc = %start, %p = %as, %q = %bs)
      -> (tensor<32x16xf32>, tensor<32x32x!tile.ptr<f16>>, tensor<32x16x!tile.ptr<f16>>) : i32 {
    %left = arith.subi %k, %i : i32
    %lefts = tile.splat %left : i32 -> tensor<1x32xi32>
    %is = arith.cmpi slt, %deep, %lefts : tensor<1x32xi32>
    %mask = tile.broadcast %is : tensor<1x32xi1> -> tensor<32x32xi1>
    %l = tile.load %p, %mask, %nothing : tensor<32x32x!tile.ptr<f16>>
    %heights = tile.splat %left : i32 -> tensor<32x1xi32>
    %isin = arith.cmpi sgt, %heights, %tall : tensor<32x1xi32>
    %masks = tile.broadcast %isin : tensor<32x1xi1> -> tensor<32x16xi1>
    %t = tile.load %q, %masks, %none : tensor<32x16x!tile.ptr<f16>>
    %next = tile.dot %l, %t, %acc : tensor<32x32xf16> * tensor<32x16xf16> -> tensor<32x16xf32>
    %pn = tile.ptr_add %p, %steps : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %qn = tile.ptr_add %q, %rows16 : tensor<32x16x!tile.ptr<f16>>, tensor<32x16xi32>
    scf.yield %next, %pn, %qn : tensor<32x16xf32>, tensor<32x32x!tile.ptr<f16>>, tensor<32x16x!tile.ptr<f16>>
  }
  %outs = tile.splat %c : !tile.ptr<f32> -> tensor<32x16x!tile.ptr<f32>>
  %o = tile.ptr_add %outs, %wides : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %within = arith.cmpi slt, %row, %ms : tensor<32xi32>
  %column = tile.expand_dims %within {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %kept = tile.broadcast %column : tensor<32x1xi1> -> tensor<32x16xi1>
  %twice = arith.addf %sum#0, %sum#0 : tensor<32x16xf32>
  tile.store %o, %twice, %kept : tensor<32x16x!tile.ptr<f32>>
  return
}

// Heads have a dimension of their own, whether they are added to the address or to the columns' numbers. A constant is
// where the columns begin.
// CHECK-LABEL: func.func @heads
// CHECK: scf.for
// CHECK-DAG: %[[HEAD:.*]] = arith.extsi %0 : i32 to i64
// CHECK-DAG: %[[BATCH:.*]] = arith.extsi %arg4
// CHECK-DAG: %[[I:.*]] = arith.extsi %arg6
// CHECK-DAG: %[[ROW:.*]] = arith.extsi %arg3
// CHECK: %[[K:.*]] = tile.block %arg0[%[[HEAD]], %[[I]], %c64_i64] of[%c2147483648_i64, %c2147483648_i64, %c2147483648_i64] by[%[[BATCH]], %[[ROW]], %c1_i64]
// CHECK: tile.load %{{.*}} within %[[K]]
// CHECK: %[[LENGTH:.*]] = arith.extsi %arg5
// CHECK: %[[APART:.*]] = arith.muli %[[LENGTH]], %c32_i64
// CHECK: %[[V:.*]] = tile.block %arg1[%[[HEAD]], %[[I]], %c0_i64] of[%c2147483648_i64, %c2147483648_i64, %c30_i64] by[%[[APART]], %[[ROW]], %c1_i64]
// CHECK: tile.load %{{.*}} within %[[V]]
func.func @heads(%k: !tile.ptr<f16>, %v: !tile.ptr<f16>, %o: !tile.ptr<f32>, %ld: i32 {tile.divisibility = 16 : i64},
    %batch: i32 {tile.divisibility = 16 : i64}, %length: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %columns64 = arith.constant 64 : i32
  %start = arith.constant dense<0.0> : tensor<32x32xf32>
  %thirty = arith.constant dense<30> : tensor<1x32xi32>
  %head = tile.program_id 0
  %r = tile.arange 0, 32 : tensor<32xi32>
  %down = tile.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %across = tile.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %to = arith.muli %batch, %head : i32
  %kb = tile.ptr_add %k, %to : !tile.ptr<f16>, i32
  %kc = tile.ptr_add %kb, %columns64 : !tile.ptr<f16>, i32
  %ks = tile.splat %kc : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %vs = tile.splat %v : !tile.ptr<f16> -> tensor<32x1x!tile.ptr<f16>>
  %before = arith.muli %head, %length : i32
  %elements = arith.muli %before, %step : i32
  %heads = tile.splat %elements : i32 -> tensor<1x32xi32>
  %columns = arith.addi %heads, %across : tensor<1x32xi32>
  %lds = tile.splat %ld : i32 -> tensor<32x1xi32>
  %cut = arith.cmpi slt, %across, %thirty : tensor<1x32xi32>
  %mask = tile.broadcast %cut : tensor<1x32xi1> -> tensor<32x32xi1>
  %sum = scf.for %i = %zero to %length step %step iter_args(%acc = %start) -> (tensor<32x32xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<32x1xi32>
    %at = arith.addi %is, %down : tensor<32x1xi32>
    %rows = arith.muli %at, %lds : tensor<32x1xi32>
    %kr = tile.ptr_add %ks, %rows : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %krb = tile.broadcast %kr : tensor<32x1x!tile.ptr<f16>> -> tensor<32x32x!tile.ptr<f16>>
    %acrossb = tile.broadcast %across : tensor<1x32xi32> -> tensor<32x32xi32>
    %kp = tile.ptr_add %krb, %acrossb : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %x = tile.load %kp : tensor<32x32x!tile.ptr<f16>>
    %vr = tile.ptr_add %vs, %rows : tensor<32x1x!tile.ptr<f16>>, tensor<32x1xi32>
    %vrb = tile.broadcast %vr : tensor<32x1x!tile.ptr<f16>> -> tensor<32x32x!tile.ptr<f16>>
    %columnsb = tile.broadcast %columns : tensor<1x32xi32> -> tensor<32x32xi32>
    %vp = tile.ptr_add %vrb, %columnsb : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
    %y = tile.load %vp, %mask : tensor<32x32x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %os, %sum : tensor<32x32x!tile.ptr<f32>>
  return
}

// So has an array that begins at an offset of an argument; not where the offset may be negative.
// CHECK-LABEL: func.func @arrays_from_each_head_on
// CHECK-DAG: %[[HEAD:.*]] = arith.extsi %0 : i32 to i64
// CHECK-DAG: %[[BATCH:.*]] = arith.extsi %arg2
// CHECK: %[[K:.*]] = tile.block %arg0[%[[HEAD]], %{{.*}}, %c0_i64] of[%c2147483648_i64, %c64_i64, %c32_i64] by[%[[BATCH]], %c32_i64, %c1_i64]
// CHECK: tile.load %{{.*}} within %[[K]]
// CHECK: %[[V:.*]] = tile.block %{{[0-9]+}}[%{{.*}}, %c0_i64] of[%c64_i64, %c32_i64] by[%c32_i64, %c1_i64]
// CHECK: tile.load %{{.*}} within %[[V]]
func.func @arrays_from_each_head_on(%k: !tile.ptr<f16>, %o: !tile.ptr<f32>, %batch: i32 {tile.divisibility = 16 : i64},
    %ks: tensor<32x32x!tile.ptr<f16>>, %offset: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one64 = arith.constant 1 : i64
  %zero64 = arith.constant 0 : i64
  %row = arith.constant 32 : i64
  %rows = arith.constant 64 : i64
  %step = arith.constant 32 : i32
  %end = arith.constant 64 : i32
  %start = arith.constant dense<0.0> : tensor<32x32xf32>
  %head = tile.program_id 0
  %to = arith.muli %batch, %head : i32
  %kb = tile.ptr_add %k, %to : !tile.ptr<f16>, i32
  %other = arith.muli %batch, %offset : i32
  %vb = tile.ptr_add %k, %other : !tile.ptr<f16>, i32
  %sum = scf.for %i = %zero to %end step %step iter_args(%acc = %start) -> (tensor<32x32xf32>) : i32 {
    %at = arith.extsi %i : i32 to i64
    %x = tile.block %kb[%at, %zero64] of [%rows, %row] by [%row, %one64] : !tile.ptr<f16>
    %y = tile.load %ks within %x : tensor<32x32x!tile.ptr<f16>>
    %u = tile.block %vb[%at, %zero64] of [%rows, %row] by [%row, %one64] : !tile.ptr<f16>
    %w = tile.load %ks within %u : tensor<32x32x!tile.ptr<f16>>
    %next = tile.dot %y, %w, %acc : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %os, %sum : tensor<32x32x!tile.ptr<f32>>
  return
}
