// PIPELINE: --count-by-index --canonicalize
// What stores a tile counts as what computes it does: one number.

// CHECK-LABEL: func.func @persistent(
// CHECK: %[[P:.*]] = tile.program_id 0
// CHECK: scf.for %[[T:.*]] = %[[P]] to %{{.*}} step %c132_i32 : i32 {
// CHECK-NEXT: %[[SUM:.*]] = scf.for
// CHECK: tile.ptr_add %{{.*}}, %[[T]]
// CHECK-NOT: iter_args
func.func @persistent(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c132 = arith.constant 132 : i32
  %p = tile.program_id 0
  %before = arith.subi %p, %c132 : i32
  %end = scf.for %t = %p to %n step %c132 iter_args(%c = %before) -> (i32) : i32 {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (i32) : i32 {
      %q = tile.ptr_add %x, %i : !tile.ptr<i32>, i32
      %y = tile.load %q : !tile.ptr<i32>
      %z = arith.addi %s, %y : i32
      scf.yield %z : i32
    }
    %next = arith.addi %c, %c132 : i32
    %at = tile.ptr_add %x, %next : !tile.ptr<i32>, i32
    tile.store %at, %sum : !tile.ptr<i32>
    scf.yield %next : i32
  }
  return
}

// What it is behind the loop it is still.
// CHECK-LABEL: func.func @wanted_behind(
// CHECK: %[[END:.*]] = scf.for %[[T:.*]] = %c0_i32 to %{{.*}} step %[[STEP:.*]] iter_args(%{{.*}} = %c7_i32)
// CHECK: %[[NUMBER:.*]] = arith.addi %[[T]], %c7_i32
// CHECK: %[[AT:.*]] = tile.ptr_add %{{.*}}, %[[NUMBER]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[NUMBER]], %[[STEP]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.ptr_add %{{.*}}, %[[END]]
func.func @wanted_behind(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %step = tile.num_programs 0
  %again = tile.num_programs 0
  %end = scf.for %t = %c0 to %n step %step iter_args(%c = %c7) -> (i32) : i32 {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %at = tile.ptr_add %x, %c : !tile.ptr<i32>, i32
      tile.store %at, %i : !tile.ptr<i32>
    }
    %next = arith.addi %c, %again : i32
    scf.yield %next : i32
  }
  %behind = tile.ptr_add %x, %end : !tile.ptr<i32>, i32
  tile.store %behind, %n : !tile.ptr<i32>
  return
}

// Not these: another step, a distance that is not known, a loop without one inside.
// CHECK-LABEL: func.func @others(
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %c0_i32, %[[B:.*]] = %{{.*}}) -> (i32, i32)
// CHECK: tile.ptr_add %{{.*}}, %[[A]]
// CHECK: tile.ptr_add %{{.*}}, %[[B]]
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %c1_i32)
// CHECK: tile.ptr_add %{{.*}}, %[[C]]
func.func @others(%x: !tile.ptr<i32> {tile.name = "x"}, %n: i32 {tile.name = "n"}, %m: i32 {tile.name = "m"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %end:2 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %c0, %b = %m) -> (i32, i32) : i32 {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %at = tile.ptr_add %x, %a : !tile.ptr<i32>, i32
      tile.store %at, %i : !tile.ptr<i32>
      %at2 = tile.ptr_add %x, %b : !tile.ptr<i32>, i32
      tile.store %at2, %i : !tile.ptr<i32>
    }
    %next = arith.addi %a, %c2 : i32
    %next2 = arith.addi %b, %c1 : i32
    scf.yield %next, %next2 : i32, i32
  }
  %last = scf.for %t = %c0 to %n step %c1 iter_args(%c = %c1) -> (i32) : i32 {
    %at = tile.ptr_add %x, %c : !tile.ptr<i32>, i32
    tile.store %at, %t : !tile.ptr<i32>
    %next = arith.addi %c, %c1 : i32
    scf.yield %next : i32
  }
  return
}
