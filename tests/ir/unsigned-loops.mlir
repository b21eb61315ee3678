// PIPELINE: --optimize

// Passes that rebuild a loop, MLIR's included, leave its signedness: from 2147483646 to 2147483651 an
// unsigned loop makes five turns, a signed one none.

// CHECK-LABEL: func.func @a_tile_that_only_moves
func.func @a_tile_that_only_moves(%p: !tile.ptr<i32>, %a: i32, %b: i32) attributes {tile.kernel} {
  // CHECK: scf.for unsigned {{.*}} iter_args({{.*}}) -> (i32)
  // CHECK: } {tile.num_stages = 4 : i64}
  %c1 = arith.constant 1 : i32
  %z = arith.constant dense<0> : tensor<4xi32>
  %o = arith.constant dense<1> : tensor<4xi32>
  %r = scf.for unsigned %i = %a to %b step %c1 iter_args(%t = %z) -> (tensor<4xi32>) : i32 {
    %n = arith.addi %t, %o : tensor<4xi32>
    scf.yield %n : tensor<4xi32>
  } {tile.num_stages = 4 : i64}
  %i = tile.arange 0, 4 : tensor<4xi32>
  %q = tile.splat %p : !tile.ptr<i32> -> tensor<4x!tile.ptr<i32>>
  %s = tile.ptr_add %q, %i : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
  tile.store %s, %r : tensor<4x!tile.ptr<i32>>
  return
}

// CHECK-LABEL: func.func @a_value_that_nothing_changes
func.func @a_value_that_nothing_changes(%p: !tile.ptr<i32>, %a: i32, %b: i32) attributes {tile.kernel} {
  // CHECK: scf.for unsigned
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for unsigned %i = %a to %b step %c1 iter_args(%t = %a, %u = %b) -> (i32, i32) : i32 {
    %n = arith.addi %u, %i : i32
    scf.yield %t, %n : i32, i32
  }
  %s = arith.addi %r#0, %r#1 : i32
  tile.store %p, %s : !tile.ptr<i32>
  return
}
