// PIPELINE: --split-operands=matrix=true

!a = tensor<16x32xf32>
!b = tensor<32x16xf32>
!c = tensor<16x16xf32>

// CHECK-LABEL: func.func @two_parts
// CHECK: %[[A0:.*]] = arith.truncf %arg0 : tensor<16x32xf32> to tensor<16x32xbf16>
// CHECK: %[[B0:.*]] = arith.truncf %arg1 : tensor<32x16xf32> to tensor<32x16xbf16>
// CHECK: %[[A:.*]] = arith.extf %[[A0]]
// CHECK: %[[A_REST:.*]] = arith.subf %arg0, %[[A]]
// CHECK: %[[A1:.*]] = arith.truncf %[[A_REST]]
// CHECK: %[[B:.*]] = arith.extf %[[B0]]
// CHECK: %[[B_REST:.*]] = arith.subf %arg1, %[[B]]
// CHECK: %[[B1:.*]] = arith.truncf %[[B_REST]]
// CHECK: %[[FIRST:.*]] = tile.dot %[[A0]], %[[B1]], %cst
// CHECK: %[[SMALL:.*]] = tile.dot %[[A1]], %[[B0]], %[[FIRST]]
// CHECK: %[[SIZE:.*]] = math.absf %[[SMALL]]
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %[[SIZE]]
// CHECK: %[[KEPT:.*]] = arith.select %[[FINITE]], %[[SMALL]]
// CHECK: %[[PRODUCT:.*]] = tile.dot %[[A0]], %[[B0]], %[[KEPT]] : tensor<16x32xbf16> * tensor<32x16xbf16> -> tensor<16x16xf32>
// CHECK: %[[SUM:.*]] = arith.addf %arg2, %[[PRODUCT]]
// CHECK-NEXT: return %[[SUM]]
func.func @two_parts(%a: !a, %b: !b, %c: !c) -> !c {
  %p = tile.dot %a, %b, %c precision = bf16x3 : !a * !b -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @three_parts
// CHECK-COUNT-6: tile.dot {{.*}}xbf16>
// CHECK-NOT: tile.dot
// CHECK: return
func.func @three_parts(%a: !a, %b: !b, %c: !c) -> !c {
  %p = tile.dot %a, %b, %c precision = bf16x6 : !a * !b -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @apart
// CHECK: %[[PRODUCT:.*]] = tile.dot %arg0, %arg1, %cst precision = tf32x3 :
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %arg2, %[[PRODUCT]]
// CHECK-NEXT: return %[[SUM]]
func.func @apart(%a: !a, %b: !b, %c: !c) -> !c {
  %p = tile.dot %a, %b, %c precision = tf32x3 : !a * !b -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @first
// CHECK: %[[PRODUCT:.*]] = tile.dot %arg0, %arg1, %cst precision = tf32x3 :
// CHECK-NEXT: return %[[PRODUCT]]
func.func @first(%a: !a, %b: !b) -> !c {
  %zero = arith.constant dense<0.0> : !c
  %p = tile.dot %a, %b, %zero precision = tf32x3 : !a * !b -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT: tile.dot %arg0, %arg1, %arg2 precision = ieee :
// CHECK-NEXT: tile.dot %arg0, %arg1, %{{.*}} :
// CHECK-NEXT: return
func.func @others(%a: !a, %b: !b, %c: !c) -> !c {
  %p = tile.dot %a, %b, %c precision = ieee : !a * !b -> !c
  %q = tile.dot %a, %b, %p : !a * !b -> !c
  return %q : !c
}

// No instruction is of a depth of 8.
// CHECK-LABEL: func.func @too_short
// CHECK-NEXT: tile.dot %arg0, %arg1, %arg2 precision = bf16x3 : tensor<16x8xf32>
// CHECK-NEXT: return
func.func @too_short(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %c: !c) -> !c {
  %p = tile.dot %a, %b, %c precision = bf16x3 : tensor<16x8xf32> * tensor<8x16xf32> -> !c
  return %p : !c
}
