// PIPELINE: --add-to-products=exact-only=true

// Floats keep the order of their sums, integers have none.
// CHECK-LABEL: func.func @floats
// CHECK: arith.addf
func.func @floats(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %c2 = tile.dot %a, %a, %c : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %p = tile.dot %a, %b, %none : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %sum = arith.addf %p, %c2 : tensor<16x16xf32>
  return %sum : tensor<16x16xf32>
}

// CHECK-LABEL: func.func @integers
// CHECK-NOT: arith.addi
// CHECK: return
func.func @integers(%a: tensor<16x16xi8>, %b: tensor<16x16xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %none = arith.constant dense<0> : tensor<16x16xi32>
  %c2 = tile.dot %a, %a, %c : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  %p = tile.dot %a, %b, %none : tensor<16x16xi8> * tensor<16x16xi8> -> tensor<16x16xi32>
  %sum = arith.addi %p, %c2 : tensor<16x16xi32>
  return %sum : tensor<16x16xi32>
}
