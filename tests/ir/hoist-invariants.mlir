// PIPELINE: --hoist-invariants

// CHECK-LABEL: func.func @leave
func.func @leave(%p: !tile.ptr<i32>, %n: i32) {
  // CHECK: arith.muli
  // CHECK: scf.for
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %square = arith.muli %n, %n : i32
    tile.store %p, %square : !tile.ptr<i32>
  }
  return
}

// A loop may ask to keep what it computes; what an inner loop gives up stays in it, too.
// CHECK-LABEL: func.func @stay
func.func @stay(%p: !tile.ptr<i32>, %n: i32) {
  // CHECK-NOT: arith.muli
  // CHECK: scf.for
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: scf.for
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %square = arith.muli %n, %n : i32
      tile.store %p, %square : !tile.ptr<i32>
    }
  } {tile.disable_licm}
  return
}
