// PIPELINE: --merge-reductions

// CHECK-LABEL: func.func @all
// CHECK: %[[FLAT:.*]] = tile.reshape %arg0 : tensor<4x8x16xf32> -> tensor<512xf32>
// CHECK-NEXT: tile.reduce(%[[FLAT]]) axis 0
// CHECK-NOT: tile.reduce
// CHECK: return
func.func @all(%x: tensor<4x8x16xf32>) -> f32 {
  %a = tile.reduce(%x) axis 2 : (tensor<4x8x16xf32>) -> tensor<4x8xf32> {
  ^bb0(%l: f32, %r: f32):
    %c = arith.addf %l, %r : f32
    tile.yield %c : f32
  }
  %b = tile.reduce(%a) axis 0 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%l: f32, %r: f32):
    %c = arith.addf %l, %r : f32
    tile.yield %c : f32
  }
  %s = tile.reduce(%b) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%l: f32, %r: f32):
    %c = arith.addf %l, %r : f32
    tile.yield %c : f32
  }
  return %s : f32
}

// Not a greatest sum, nor sums that something else takes.
// CHECK-LABEL: func.func @left
// CHECK-NOT: tile.reshape
// CHECK: return
func.func @left(%x: tensor<8x16xf32>) -> (f32, f32, tensor<8xf32>) {
  %a = tile.reduce(%x) axis 1 : (tensor<8x16xf32>) -> tensor<8xf32> {
  ^bb0(%l: f32, %r: f32):
    %c = arith.addf %l, %r : f32
    tile.yield %c : f32
  }
  %s = tile.reduce(%a) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%l: f32, %r: f32):
    %c = arith.maximumf %l, %r : f32
    tile.yield %c : f32
  }
  %b = tile.reduce(%x) axis 1 : (tensor<8x16xf32>) -> tensor<8xf32> {
  ^bb0(%l: f32, %r: f32):
    %c = arith.mulf %l, %r : f32
    tile.yield %c : f32
  }
  %t = tile.reduce(%b) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%l: f32, %r: f32):
    %c = arith.mulf %l, %r : f32
    tile.yield %c : f32
  }
  return %s, %t, %b : f32, f32, tensor<8xf32>
}
