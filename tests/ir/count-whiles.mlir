// PIPELINE: --count-whiles
// A loop that counts, with a counted loop inside, is a for loop; what it carries stays.

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32 {tile.name = "n"}
// CHECK: %[[FIRST:.*]] = tile.program_id 0
// CHECK: %[[STEP:.*]] = tile.num_programs 0
// CHECK: scf.for %[[T:.*]] = %[[FIRST]] to %[[N]] step %[[STEP]] iter_args(%[[CARRIED:.*]] = %[[FIRST]]) -> (i32)
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.ptr_add %{{.*}}, %[[T]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %[[STEP]]
// CHECK-NEXT: scf.yield %[[NEXT]]
func.func @tiles(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %first = tile.program_id 0
  %step = tile.num_programs 0
  %last = scf.while (%t = %first) : (i32) -> i32 {
    %goes = arith.cmpi slt, %t, %n : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %step : i32
    scf.yield %next : i32
  }
  %end = tile.ptr_add %x, %last : !tile.ptr<i32>, i32
  tile.store %end, %last : !tile.ptr<i32>
  return
}

// A test may have terms that hold in all rounds if they hold in the first one, be turned round,
// be made of what does not change, and step by a number that the body makes.
// CHECK-LABEL: func.func @part_of_the_tiles(
// CHECK-SAME: %[[FROM:[a-z0-9]+]]: i32 {tile.name = "from"}, %[[COUNT:[a-z0-9]+]]: i32 {tile.name = "count"}, %[[RUNS:[a-z0-9]+]]: i1
// CHECK: %[[START:.*]] = tile.program_id 0
// CHECK: %[[BEGUN:.*]] = arith.cmpi sge, %[[START]], %[[FROM]]
// CHECK: %[[END:.*]] = arith.addi %[[FROM]], %[[COUNT]]
// CHECK: %[[ONE:.*]] = arith.select %[[BEGUN]], %[[END]], %[[START]]
// CHECK: %[[BOTH:.*]] = arith.select %[[RUNS]], %[[ONE]], %[[START]]
// CHECK: %[[BY:.*]] = arith.constant 132 : i32
// CHECK: scf.for %{{.*}} = %[[START]] to %[[BOTH]] step %[[BY]] iter_args
// CHECK-NOT: scf.while
func.func @part_of_the_tiles(%x: !tile.ptr<i32> {tile.name = "x"}, %from: i32 {tile.name = "from"}, %count: i32 {tile.name = "count"}, %runs: i1 {tile.name = "runs"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %start = tile.program_id 0
  %last = scf.while (%t = %start) : (i32) -> i32 {
    %begun = arith.cmpi sge, %t, %from : i32
    %end = arith.addi %from, %count : i32
    %goes = arith.cmpi sgt, %end, %t : i32
    %both = arith.andi %begun, %goes : i1
    %all = arith.andi %both, %runs : i1
    scf.condition(%all) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %count step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %c132 = arith.constant 132 : i32
    %next = arith.addi %c132, %t : i32
    scf.yield %next : i32
  }
  return
}

// Unsigned counters count unsigned.
// CHECK-LABEL: func.func @without_sign(
// CHECK: scf.for unsigned
func.func @without_sign(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = scf.while (%t = %c0) : (i32) -> i32 {
    %goes = arith.cmpi ult, %t, %n : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// These stay: one without a loop inside, a bound that changes, a step of unknown sign, a step back,
// a test that both signs take part in, a test that may end the loop again.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-6: scf.while
// CHECK-NOT: scf.while
func.func @others(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}, %s: i32 {tile.name = "s"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %back = arith.constant -1 : i32
  %first = scf.while (%t = %c0) : (i32) -> i32 {
    %goes = arith.cmpi slt, %t, %n : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
    tile.store %p, %t : !tile.ptr<i32>
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  %second:2 = scf.while (%t = %c0, %end = %n) : (i32, i32) -> (i32, i32) {
    %goes = arith.cmpi slt, %t, %end : i32
    scf.condition(%goes) %t, %end : i32, i32
  } do {
  ^bb0(%t: i32, %end: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %c1 : i32
    %less = arith.subi %end, %c1 : i32
    scf.yield %next, %less : i32, i32
  }
  %third = scf.while (%t = %c0) : (i32) -> i32 {
    %goes = arith.cmpi slt, %t, %n : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %s : i32
    scf.yield %next : i32
  }
  %fourth = scf.while (%t = %n) : (i32) -> i32 {
    %goes = arith.cmpi sgt, %t, %c0 : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %back : i32
    scf.yield %next : i32
  }
  %fifth = scf.while (%t = %c0) : (i32) -> i32 {
    %begun = arith.cmpi uge, %t, %s : i32
    %goes = arith.cmpi slt, %t, %n : i32
    %both = arith.andi %begun, %goes : i1
    scf.condition(%both) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  %sixth = scf.while (%t = %c0) : (i32) -> i32 {
    %goes = arith.cmpi ne, %t, %n : i32
    scf.condition(%goes) %t : i32
  } do {
  ^bb0(%t: i32):
    scf.for %i = %c0 to %n step %c1 : i32 {
      %p = tile.ptr_add %x, %t : !tile.ptr<i32>, i32
      tile.store %p, %i : !tile.ptr<i32>
    }
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  return
}
