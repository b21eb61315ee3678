// PIPELINE: --add-to-products

!a = tensor<16x16xf16>
!s = tensor<16x16xf32>

// A sum that is there before the product is where it begins.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK-NEXT: %[[SUM:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK-NEXT: scf.yield %[[SUM]]
func.func @carried(%a: !a, %b: !a, %n: i32) -> !s {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %r = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (!s) : i32 {
    %p = tile.dot %a, %b, %none : !a * !a -> !s
    %sum = arith.addf %acc, %p : !s
    scf.yield %sum : !s
  }
  return %r : !s
}

// Two products become one sum.
// CHECK-LABEL: func.func @two
// CHECK: %[[ONE:.*]] = tile.dot %{{.*}}, %{{.*}}, %cst
// CHECK-NEXT: %[[BOTH:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[ONE]]
// CHECK-NEXT: return %[[BOTH]]
func.func @two(%a: !a, %b: !a) -> !s {
  %none = arith.constant dense<0.0> : !s
  %p = tile.dot %a, %b, %none : !a * !a -> !s
  %q = tile.dot %b, %a, %none : !a * !a -> !s
  %sum = arith.addf %p, %q : !s
  return %sum : !s
}

// What a loop carries may be changed before.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK-NEXT: %[[SUM:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK-NEXT: scf.yield %[[SUM]]
func.func @scaled(%a: !a, %b: !a, %rows: tensor<16x1xf32>, %n: i32) -> !s {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %factor = tile.broadcast %rows : tensor<16x1xf32> -> !s
  %r = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (!s) : i32 {
    %scaled = arith.mulf %factor, %acc : !s
    %p = tile.dot %a, %b, %none : !a * !a -> !s
    %sum = arith.addf %p, %scaled : !s
    scf.yield %sum : !s
  }
  return %r : !s
}

// CHECK-LABEL: func.func @integers
// CHECK: %[[ONE:.*]] = tile.dot
// CHECK-NEXT: tile.dot %{{.*}}, %{{.*}}, %[[ONE]]
// CHECK-NEXT: return
func.func @integers(%a: tensor<16x16xi8>, %b: tensor<16x16xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %none = arith.constant dense<0> : tensor<16x16xi32>
  %c2 = tile.dot %a, %a, %c : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  %p = tile.dot %a, %b, %none : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  %sum = arith.addi %p, %c2 : tensor<16x16xi32>
  return %sum : tensor<16x16xi32>
}

// Not where the product has another use or begins with something, or where what it is added to is no running sum:
// the product need not wait for that.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-4: arith.addf
func.func @left(%a: !a, %b: !a, %c: !s) -> (!s, !s, !s, !s, !s) {
  %none = arith.constant dense<0.0> : !s
  %p = tile.dot %a, %b, %none : !a * !a -> !s
  %used = arith.addf %p, %c : !s
  %q = tile.dot %b, %a, %c : !a * !a -> !s
  %begun = arith.addf %q, %c : !s
  %made = math.exp %c : !s
  %r = tile.dot %b, %b, %none : !a * !a -> !s
  %late = arith.addf %r, %made : !s
  %d = tile.dot %a, %a, %none : !a * !a -> !s
  %twice = arith.addf %d, %d : !s
  return %used, %p, %begun, %late, %twice : !s, !s, !s, !s, !s
}

// Kernels add products of fp8 outside for the digits that instructions drop.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.addf
func.func @narrow(%a: tensor<16x16xf8E5M2>, %b: tensor<16x16xf8E5M2>, %c: !s) -> !s {
  %none = arith.constant dense<0.0> : !s
  %p = tile.dot %a, %b, %none : tensor<16x16xf8E5M2> * tensor<16x16xf8E5M2> -> !s
  %sum = arith.addf %p, %c : !s
  return %sum : !s
}
