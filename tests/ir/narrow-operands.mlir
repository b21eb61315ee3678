// PIPELINE: --narrow-operands --canonicalize

!a = tensor<16x32xf16>
!b = tensor<32x16xf16>
!c = tensor<16x16xf32>

// CHECK-LABEL: func.func @halves
// CHECK-NEXT: tile.dot %arg0, %arg1, %arg2 : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>
// CHECK-NEXT: return
func.func @halves(%a: !a, %b: !b, %c: !c) -> !c {
  %x = arith.extf %a : !a to tensor<16x32xf32>
  %y = arith.extf %b : !b to tensor<32x16xf32>
  %p = tile.dot %x, %y, %c : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @moved
// CHECK: %[[Y:.*]] = tile.transpose %arg1 [1, 0] : {{.*}} -> tensor<32x16xbf16>
// CHECK-NEXT: tile.dot %arg0, %[[Y]], %arg2 precision = tf32x3 : tensor<16x32xbf16> * tensor<32x16xbf16>
func.func @moved(%a: tensor<16x32xbf16>, %b: tensor<16x32xbf16>, %c: !c) -> !c {
  %x = arith.extf %a : tensor<16x32xbf16> to tensor<16x32xf32>
  %y = arith.extf %b : tensor<16x32xbf16> to tensor<16x32xf32>
  %t = tile.transpose %y [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
  %p = tile.dot %x, %t, %c precision = tf32x3 : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}

// IEEE's sums are not those of instructions of halves.
// CHECK-LABEL: func.func @exact
// CHECK: tile.dot {{.*}} precision = ieee : tensor<16x32xf32>
func.func @exact(%a: !a, %b: !b, %c: !c) -> !c {
  %x = arith.extf %a : !a to tensor<16x32xf32>
  %y = arith.extf %b : !b to tensor<32x16xf32>
  %p = tile.dot %x, %y, %c precision = ieee : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @two_types
// CHECK: tile.dot {{.*}} : tensor<16x32xf32>
func.func @two_types(%a: !a, %b: tensor<32x16xbf16>, %c: !c) -> !c {
  %x = arith.extf %a : !a to tensor<16x32xf32>
  %y = arith.extf %b : tensor<32x16xbf16> to tensor<32x16xf32>
  %p = tile.dot %x, %y, %c : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}

// CHECK-LABEL: func.func @one_of_them
// CHECK: tile.dot {{.*}} : tensor<16x32xf32>
func.func @one_of_them(%a: !a, %y: tensor<32x16xf32>, %c: !c) -> !c {
  %x = arith.extf %a : !a to tensor<16x32xf32>
  %p = tile.dot %x, %y, %c : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}

// Nothing is left of them to split.
// CHECK-LABEL: func.func @parts
// CHECK: tile.dot %arg0, %arg1, %arg2 precision = bf16x6 : tensor<16x32xf16>
func.func @parts(%a: !a, %b: !b, %c: !c) -> !c {
  %x = arith.extf %a : !a to tensor<16x32xf32>
  %y = arith.extf %b : !b to tensor<32x16xf32>
  %p = tile.dot %x, %y, %c precision = bf16x6 : tensor<16x32xf32> * tensor<32x16xf32> -> !c
  return %p : !c
}
