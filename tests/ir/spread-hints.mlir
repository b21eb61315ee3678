// PIPELINE: --spread-hints

// What stands behind a hint that nobody takes is about the hinted value; what stands before it is not.
// CHECK-LABEL: func.func @statement
// CHECK: arith.addi %[[X:[a-z0-9]+]], %[[X]]
// CHECK: %[[H:[a-z0-9]+]] = tile.hint %[[X]]
// CHECK: scf.if
// CHECK: arith.muli %[[H]], %[[H]]
func.func @statement(%x: i32, %out: !tile.ptr<i32>, %c: i1) {
  %before = arith.addi %x, %x : i32
  %h = tile.hint %x {divisibility = array<i64: 16>} : i32
  scf.if %c {
    %y = arith.muli %x, %x : i32
    %z = arith.addi %y, %before : i32
    tile.store %out, %z : !tile.ptr<i32>
  }
  return
}

// Two statements, and a hint of a hint, come together.
// CHECK-LABEL: func.func @several
// CHECK: %[[A:[a-z0-9]+]] = tile.hint %arg0 {divisibility
// CHECK: %[[B:[a-z0-9]+]] = tile.hint %[[A]] {contiguity
// CHECK: %[[C:[a-z0-9]+]] = tile.hint %[[B]] {constancy
// CHECK: %[[D:[a-z0-9]+]] = tile.hint %[[C]] {divisibility = array<i64: 32>
// CHECK: arith.muli %[[D]], %[[D]]
func.func @several(%x: tensor<16xi32>, %out: tensor<16x!tile.ptr<i32>>) {
  %a = tile.hint %x {divisibility = array<i64: 16>} : tensor<16xi32>
  %b = tile.hint %x {contiguity = array<i64: 16>} : tensor<16xi32>
  %c = tile.hint %x {constancy = array<i64: 1>} : tensor<16xi32>
  %d = tile.hint %c {divisibility = array<i64: 32>} : tensor<16xi32>
  %y = arith.muli %x, %x : tensor<16xi32>
  tile.store %out, %y : tensor<16x!tile.ptr<i32>>
  return
}

// A hint in a branch is of the branch. One that is taken stays as it is.
// CHECK-LABEL: func.func @elsewhere
// CHECK: scf.if
// CHECK: tile.hint %arg0
// CHECK: %[[T:[a-z0-9]+]] = tile.hint %arg0
// CHECK: %[[Y:[a-z0-9]+]] = arith.addi %arg0, %[[T]]
// CHECK: tile.store %{{.*}}, %[[Y]]
func.func @elsewhere(%x: i32, %out: !tile.ptr<i32>, %c: i1) {
  scf.if %c {
    %h = tile.hint %x {divisibility = array<i64: 16>} : i32
  }
  %t = tile.hint %x {divisibility = array<i64: 4>} : i32
  %y = arith.addi %x, %t : i32
  tile.store %out, %y : !tile.ptr<i32>
  return
}
