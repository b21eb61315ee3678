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

// -----

func.func @convert_without_layout(%x: tensor<8xf32>) {
  // expected-error @below {{'tile.convert_layout' op tensor<8xf32> has no layout}}
  %y = tile.convert_layout %x : tensor<8xf32> -> tensor<8xf32, #tile.layout<8, register = [4], lane = [1 2]>>
  return
}

// -----

func.func @layouts_differ(%x: tensor<4xf32, #tile.layout<4, register = [1], lane = [2]>>,
                          %p: tensor<4x!tile.ptr<f32>, #tile.layout<4, register = [2], lane = [1]>>) {
  // expected-error @below {{'tile.store' op failed to verify that value is what ptr points to}}
  "tile.store"(%p, %x) : (tensor<4x!tile.ptr<f32>, #tile.layout<4, register = [2], lane = [1]>>,
                          tensor<4xf32, #tile.layout<4, register = [1], lane = [2]>>) -> ()
  return
}

// -----

// expected-error @below {{unknown attribute "tile.answer"}}
func.func @attribute_of_a_function(%x: f32) attributes {tile.answer = 42} {
  return
}

// -----

func.func @attribute_of_a_loop(%lo: i32, %hi: i32) {
  %one = arith.constant 1 : i32
  // expected-error @below {{unknown attribute "tile.num_stage"}}
  scf.for %i = %lo to %hi step %one : i32 {
  } {tile.num_stage = 3 : i64}
  return
}

// -----

// expected-error @below {{unknown attribute "tile.align"}}
func.func @attribute_of_an_argument(%x: i32 {tile.align = 16 : i64}) {
  return
}
