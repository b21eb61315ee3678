// PIPELINE: --nest-loops --canonicalize

// The first step of a tile says where it is, the last one stores and begins the sum anew.
// CHECK-LABEL: func.func @steps_of_tiles
// CHECK-SAME: %[[P:[^:]*]]: !tile.ptr<i32>, %[[N:[^:]*]]: i32, %[[M:[^:]*]]: i32
func.func @steps_of_tiles(%p: !tile.ptr<i32>, %n: i32, %m: i32, %start: i32) {
  // CHECK: %[[RUNS:.*]] = arith.cmpi sgt, %[[N]], %c0_i32
  // CHECK: %[[TILES:.*]] = arith.select %[[RUNS]], %[[M]], %c0_i32
  // CHECK: scf.for %[[T:.*]] = %c0_i32 to %[[TILES]] step %c1_i32
  // CHECK: %[[MORE:.*]] = arith.muli %[[T]], %c8_i32
  // CHECK: %[[TILE:.*]] = arith.addi %{{.*}}, %[[MORE]]
  // CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %c0_i32 to %[[N]] step %c1_i32 iter_args(%[[X:.*]] = %c0_i32)
  // CHECK: %[[Y:.*]] = arith.addi %[[X]], %[[K]]
  // CHECK: scf.yield %[[Y]]
  // CHECK: } {tile.num_stages = 4 : i64}
  // CHECK: %[[AT:.*]] = tile.ptr_add %[[P]], %[[TILE]]
  // CHECK: tile.store %[[AT]], %[[SUM]]
  // CHECK-NOT: scf.if
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %before = arith.constant -1 : i32
  %init = arith.subi %start, %eight : i32
  %turns = arith.muli %n, %m : i32
  scf.for %t = %zero to %turns step %one iter_args(%k0 = %before, %tile0 = %init, %x = %zero) -> (i32, i32, i32) : i32 {
    %end = arith.subi %n, %one : i32
    %was = arith.cmpi eq, %k0, %end : i32
    %k1 = arith.addi %k0, %one : i32
    %k = arith.select %was, %zero, %k1 : i32
    %is_first = arith.cmpi eq, %k, %zero : i32
    %tile = scf.if %is_first -> (i32) {
      %next = arith.addi %tile0, %eight : i32
      scf.yield %next : i32
    } else {
      scf.yield %tile0 : i32
    }
    %y = arith.addi %x, %k : i32
    %end2 = arith.subi %n, %one : i32
    %is_last = arith.cmpi eq, %k, %end2 : i32
    %z = scf.if %is_last -> (i32) {
      %at = tile.ptr_add %p, %tile : !tile.ptr<i32>, i32
      tile.store %at, %y : !tile.ptr<i32>
      scf.yield %zero : i32
    } else {
      scf.yield %y : i32
    }
    scf.yield %k, %tile, %z : i32, i32, i32
  } {tile.num_stages = 4 : i64}
  return
}

// The counter goes round elsewhere than the number of turns says.
// CHECK-LABEL: func.func @another_number
// CHECK-COUNT-1: scf.for
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK: return
func.func @another_number(%p: !tile.ptr<i32>, %n: i32, %m: i32, %start: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %before = arith.constant -1 : i32
  %turns = arith.muli %start, %m : i32
  scf.for %t = %zero to %turns step %one iter_args(%k0 = %before) -> (i32) : i32 {
    %end = arith.subi %n, %one : i32
    %was = arith.cmpi eq, %k0, %end : i32
    %k1 = arith.addi %k0, %one : i32
    %k = arith.select %was, %zero, %k1 : i32
    %is_last = arith.cmpi eq, %k, %end : i32
    scf.if %is_last {
      tile.store %p, %k : !tile.ptr<i32>
    }
    scf.yield %k : i32
  }
  return
}
