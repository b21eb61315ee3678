// DIAGNOSTICS

func.func @axis(%x: tensor<8xf32>) {
  // expected-error @below {{'tile.reduce' op axis 1 is out of range for rank 1}}
  %s = tile.reduce(%x) axis 1 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @inner(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %c: tensor<8x4xf32>) {
  // expected-error @below {{'tile.dot' op inner extents differ: 4 and 8}}
  %d = tile.dot %a, %b, %c : tensor<8x4xf32> * tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @order(%a: tensor<8x4xf32>) {
  // expected-error @below {{'tile.transpose' op order is not a permutation of the dimensions}}
  %b = tile.transpose %a [0, 0] : tensor<8x4xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @other(%p: !tile.ptr<f32>, %m: i1, %o: f32) {
  // expected-error @below {{'tile.atomic_rmw' op floating-point kind on integers}}
  %old = tile.atomic_rmw fadd, relaxed, gpu, %q, %i : !tile.ptr<i32>
  %q = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<i32>
  %i = arith.constant 1 : i32
  return
}
