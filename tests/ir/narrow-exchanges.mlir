// PIPELINE: --narrow-exchanges
// Numbers are narrowed before they change threads.

#rows = #tile.layout<32x16, register = [(0, 1) (0, 2) (0, 4) (0, 8)], lane = [(1, 0) (2, 0) (4, 0) (8, 0) (16, 0)], warp = []>
#columns = #tile.layout<32x16, register = [(1, 0) (2, 0) (4, 0) (8, 0)], lane = [(0, 1) (0, 2) (0, 4) (0, 8) (16, 0)], warp = []>

// CHECK-LABEL: func.func @narrowed
// CHECK-SAME: %[[X:.*]]: tensor<32x16xf32
// CHECK-NEXT: %[[N:.*]] = arith.truncf %[[X]]
// CHECK-NEXT: %[[Y:.*]] = tile.convert_layout %[[N]] : tensor<32x16xf16
// CHECK-NEXT: return %[[Y]]
func.func @narrowed(%x: tensor<32x16xf32, #rows>) -> tensor<32x16xf16, #columns> {
  %y = tile.convert_layout %x : tensor<32x16xf32, #rows> -> tensor<32x16xf32, #columns>
  %z = arith.truncf %y : tensor<32x16xf32, #columns> to tensor<32x16xf16, #columns>
  return %z : tensor<32x16xf16, #columns>
}

// What is wanted as it is, too, stays; so does what another block narrows, and what is widened.
// CHECK-LABEL: func.func @others
// CHECK: %[[A:.*]] = tile.convert_layout %{{.*}} : tensor<32x16xf32
// CHECK-NEXT: arith.truncf %[[A]]
// CHECK-NEXT: %[[B:.*]] = tile.convert_layout %{{.*}} : tensor<32x16xf32
// CHECK: scf.for
// CHECK-NEXT: arith.truncf %[[B]]
// CHECK: %[[C:.*]] = tile.convert_layout %{{.*}} : tensor<32x16xf16
// CHECK-NEXT: arith.extf %[[C]]
func.func @others(%x: tensor<32x16xf32, #rows>, %w: tensor<32x16xf32, #rows>, %h: tensor<32x16xf16, #rows>, %n: i32)
    -> (tensor<32x16xf32, #columns>, tensor<32x16xf16, #columns>, tensor<32x16xf16, #columns>, tensor<32x16xf32, #columns>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<32x16xf16, #columns>
  %y = tile.convert_layout %x : tensor<32x16xf32, #rows> -> tensor<32x16xf32, #columns>
  %z = arith.truncf %y : tensor<32x16xf32, #columns> to tensor<32x16xf16, #columns>
  %v = tile.convert_layout %w : tensor<32x16xf32, #rows> -> tensor<32x16xf32, #columns>
  %u = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<32x16xf16, #columns>) : i32 {
    %t = arith.truncf %v : tensor<32x16xf32, #columns> to tensor<32x16xf16, #columns>
    scf.yield %t : tensor<32x16xf16, #columns>
  }
  %g = tile.convert_layout %h : tensor<32x16xf16, #rows> -> tensor<32x16xf16, #columns>
  %f = arith.extf %g : tensor<32x16xf16, #columns> to tensor<32x16xf32, #columns>
  return %y, %z, %u, %f : tensor<32x16xf32, #columns>, tensor<32x16xf16, #columns>, tensor<32x16xf16, #columns>, tensor<32x16xf32, #columns>
}
