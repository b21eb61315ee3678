// PIPELINE: --widen-sums

!a = tensor<16x16xf16>

// CHECK-LABEL: func.func @fresh
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
// CHECK: %[[SUM:.*]] = tile.dot %arg0, %arg1, %[[ZERO]] {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: arith.truncf %[[SUM]] : tensor<16x16xf32> to tensor<16x16xf16>
func.func @fresh(%a: !a, %b: !a) -> !a {
  %none = arith.constant dense<0.0> : !a
  %p = tile.dot %a, %b, %none precision = ieee : !a * !a -> !a
  return %p : !a
}

// CHECK-LABEL: func.func @begun
// CHECK: %[[WIDE:.*]] = arith.extf %arg2
// CHECK-NEXT: tile.dot %arg0, %arg1, %[[WIDE]]
func.func @begun(%a: !a, %b: !a, %c: !a) -> !a {
  %p = tile.dot %a, %b, %c : !a * !a -> !a
  return %p : !a
}

// CHECK-LABEL: func.func @wide
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @wide(%a: !a, %b: !a, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = tile.dot %a, %b, %c : !a * !a -> tensor<16x16xf32>
  return %p : tensor<16x16xf32>
}
