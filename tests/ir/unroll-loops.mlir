// PIPELINE: --unroll-loops --canonicalize

// CHECK-LABEL: func.func @a_bound_known_at_run_time
func.func @a_bound_known_at_run_time(%p: !tile.ptr<i32>, %n: i32) {
  // CHECK: %[[TURNS:.*]] = arith.select
  // CHECK: %[[LEFT:.*]] = arith.remui %[[TURNS]], %{{.*}} : i32
  // CHECK: %[[WHOLE:.*]] = arith.subi %[[TURNS]], %[[LEFT]] : i32
  // CHECK: scf.for unsigned %[[T:.*]] = %{{.*}} to %[[WHOLE]] step %{{.*}}
  // CHECK: %[[I:.*]] = arith.muli %[[T]], %{{.*}} : i32
  // CHECK: tile.store %{{.*}}, %[[I]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %{{.*}} : i32
  // CHECK: %[[J:.*]] = arith.muli %[[NEXT]], %{{.*}} : i32
  // CHECK: tile.store %{{.*}}, %[[J]]
  // CHECK: } {tile.num_stages = 4 : i64}
  // CHECK: scf.for unsigned %{{.*}} = %[[WHOLE]] to %[[TURNS]] step
  // CHECK: tile.store
  // CHECK-NOT: tile.store
  // CHECK: } {tile.num_stages = 1 : i64}
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  scf.for %i = %zero to %n step %step : i32 {
    tile.store %p, %i : !tile.ptr<i32>
  } {tile.loop_unroll_factor = 2 : i64, tile.num_stages = 4 : i64}
  return
}

// Three turns, of which two are one: no loop is left.
// CHECK-LABEL: func.func @constant_bounds
func.func @constant_bounds(%p: !tile.ptr<i32>) {
  // CHECK-NOT: scf.for
  // CHECK: tile.store %{{.*}}, %c2147483640_i32
  // CHECK: tile.store %{{.*}}, %c2147483643_i32
  // CHECK: tile.store %{{.*}}, %c2147483646_i32
  // CHECK-NOT: tile.store
  %low = arith.constant 2147483640 : i32
  %high = arith.constant 2147483647 : i32
  %step = arith.constant 3 : i32
  scf.for %i = %low to %high step %step : i32 {
    tile.store %p, %i : !tile.ptr<i32>
  } {tile.loop_unroll_factor = 2 : i64}
  return
}

// What one copy yields, the next begins with.
// CHECK-LABEL: func.func @carried
func.func @carried(%p: !tile.ptr<i32>, %n: i32) {
  // CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}) -> (i32)
  // CHECK: %[[Y:.*]] = arith.addi %[[X]], %[[X]] : i32
  // CHECK: %[[Z:.*]] = arith.addi %[[Y]], %[[Y]] : i32
  // CHECK: scf.yield %[[Z]]
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SUM]]) -> (i32)
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %one) -> (i32) : i32 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  } {tile.loop_unroll_factor = 2 : i64}
  tile.store %p, %r : !tile.ptr<i32>
  return
}
