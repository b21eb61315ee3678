// PIPELINE: --canonicalize

// Loops of constant bounds that MLIR by itself takes for empty, and removes: -128, -1 and 126.
// CHECK-LABEL: func.func @more_than_half_of_all_numbers
func.func @more_than_half_of_all_numbers(%p: !tile.ptr<i8>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i8
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i8
  // CHECK-DAG: %[[LOW:.*]] = arith.constant -128 : i8
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 127 : i8
  // CHECK-DAG: %[[TURNS:.*]] = arith.constant 3 : i8
  // CHECK: scf.for unsigned %[[T:.*]] = %[[ZERO]] to %[[TURNS]] step %[[ONE]]
  // CHECK-NEXT: %[[MOVED:.*]] = arith.muli %[[T]], %[[STEP]] : i8
  // CHECK-NEXT: %[[I:.*]] = arith.addi %[[MOVED]], %[[LOW]] : i8
  // CHECK-NEXT: tile.store %{{.*}}, %[[I]]
  %low = arith.constant -128 : i8
  %high = arith.constant 127 : i8
  scf.for %i = %low to %high step %high : i8 {
    tile.store %p, %i : !tile.ptr<i8>
  }
  return
}

// One turn, which is no loop any more.
// CHECK-LABEL: func.func @unsigned_steps_of_more_than_half
func.func @unsigned_steps_of_more_than_half(%p: !tile.ptr<i8>) {
  // CHECK-NEXT: %[[LOW:.*]] = arith.constant 100 : i8
  // CHECK-NEXT: tile.store %{{.*}}, %[[LOW]]
  // CHECK-NEXT: return
  %low = arith.constant 100 : i8
  %high = arith.constant -56 : i8
  %step = arith.constant -6 : i8
  scf.for unsigned %i = %low to %high step %step : i8 {
    tile.store %p, %i : !tile.ptr<i8>
  }
  return
}

// CHECK-LABEL: func.func @unsigned_steps_of_more_than_half_from_and_to_anywhere
func.func @unsigned_steps_of_more_than_half_from_and_to_anywhere(%p: !tile.ptr<i8>, %a: i8, %b: i8) {
  // CHECK-DAG: %[[RUNS:.*]] = arith.cmpi ult, %[[A:.*]], %[[B:.*]] : i8
  // CHECK-DAG: %[[DISTANCE:.*]] = arith.subi %[[B]], %[[A]] : i8
  // CHECK-DAG: %[[FAR:.*]] = arith.cmpi ugt, %[[DISTANCE]], %{{.*}} : i8
  // CHECK-DAG: %[[SOME:.*]] = arith.select %[[FAR]], %c2_i8, %c1_i8 : i8
  // CHECK-DAG: %[[TURNS:.*]] = arith.select %[[RUNS]], %[[SOME]], %c0_i8 : i8
  // CHECK: scf.for unsigned %{{.*}} = %c0_i8 to %[[TURNS]] step %c1_i8
  %step = arith.constant -56 : i8
  scf.for unsigned %i = %a to %b step %step : i8 {
    tile.store %p, %i : !tile.ptr<i8>
  }
  return
}

// CHECK-LABEL: func.func @empty
func.func @empty(%p: !tile.ptr<i8>) {
  // CHECK-NEXT: return
  %low = arith.constant 127 : i8
  %high = arith.constant -128 : i8
  scf.for %i = %low to %high step %low : i8 {
    tile.store %p, %i : !tile.ptr<i8>
  }
  return
}

// The usual loop stays what it is.
// CHECK-LABEL: func.func @usual
func.func @usual(%p: !tile.ptr<i32>, %n: i32) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 64 : i32
  // CHECK: scf.for %{{.*}} = %[[ZERO]] to %{{.*}} step %[[STEP]] : i32
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  scf.for %i = %zero to %n step %step : i32 {
    tile.store %p, %i : !tile.ptr<i32>
  }
  return
}
