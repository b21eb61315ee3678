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
  "tile.store"(%p, %x) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
      : (tensor<4x!tile.ptr<f32>, #tile.layout<4, register = [2], lane = [1]>>,
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

// -----

func.func @block_of_fewer_dimensions(%p: !tile.ptr<f16>, %i: i64) {
  // expected-error @below {{'tile.block_load' op a tile of 2 dimensions is no block of an array of 1}}
  %x = tile.block_load %p[%i] of [%i] by [%i] checked = [true] : !tile.ptr<f16> -> tensor<8x8xf16>
  return
}

// -----

func.func @boxes_of_more_than_the_stage(%map: !tile.tensor_map<[2, 64, 64], f16, 128>, %f: !tile.mbarriers<1>,
    %b: !tile.buffer<1, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, %i: i32, %t: i1) {
  // expected-error @below {{'tile.tensor_copy' op boxes have more than the stages' axes}}
  tile.tensor_copy %map[%i, %i, %i], %b[%i], %f[%i] order = [0, 1] if %t : !tile.tensor_map<[2, 64, 64], f16, 128>, !tile.buffer<1, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, !tile.mbarriers<1>
  return
}

// -----

func.func @block_of_another_rank(%p: !tile.ptr<f16>, %q: tensor<8x8x!tile.ptr<f16>>, %i: i64) {
  %b = tile.block %p[%i] of [%i] by [%i] : !tile.ptr<f16>
  // expected-error @below {{'tile.load' op reads a tile of rank 2 within a block of rank 1}}
  %x = tile.load %q within %b : tensor<8x8x!tile.ptr<f16>>
  return
}

// -----

func.func @other_beside_a_block(%p: !tile.ptr<f16>, %q: tensor<8x!tile.ptr<f16>>, %m: tensor<8xi1>, %o: tensor<8xf16>, %i: i64) {
  %b = tile.block %p[%i] of [%i] by [%i] : !tile.ptr<f16>
  // expected-error @below {{'tile.load' op `other` beside a block, outside of which are zeros}}
  %x = tile.load %q, %m, %o within %b : tensor<8x!tile.ptr<f16>>
  return
}

// -----

func.func @map_of_another_type(%p: !tile.ptr<f16>, %i: i64) {
  // expected-error @below {{'tile.tensor_map' op describes elements of type 'f32', the array has 'f16'}}
  %map = tile.tensor_map %p of [%i, %i] by [%i, %i] : !tile.ptr<f16> -> !tile.tensor_map<[8, 32], f32, 128>
  return
}

// -----

func.func @boxes_that_do_not_fill(%map: !tile.tensor_map<[48, 64], f16, 128>, %f: !tile.mbarriers<1>,
    %b: !tile.buffer<1, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, %i: i32, %t: i1) {
  // expected-error @below {{'tile.tensor_copy' op stages of 64x64 are not filled by boxes of 48x64}}
  tile.tensor_copy %map[%i, %i], %b[%i], %f[%i] order = [0, 1] if %t : !tile.tensor_map<[48, 64], f16, 128>, !tile.buffer<1, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, !tile.mbarriers<1>
  return
}

// -----

func.func @barriers_of_other_stages(%map: !tile.tensor_map<[64, 64], f16, 128>, %f: !tile.mbarriers<1>,
    %b: !tile.buffer<2, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, %i: i32, %t: i1) {
  // expected-error @below {{'tile.tensor_copy' op needs a memory barrier for each stage}}
  tile.tensor_copy %map[%i, %i], %b[%i], %f[%i] order = [0, 1] if %t : !tile.tensor_map<[64, 64], f16, 128>, !tile.buffer<2, [64, 64], f16, #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>, !tile.mbarriers<1>
  return
}

// -----

func.func @producer_of_tiles() {
  // expected-error @below {{'tile.arange' op makes a tile, which a producer has no threads for}}
  tile.producer words = 0 { %x = tile.arange 0, 8 : tensor<8xi32> }
  return
}

// -----

func.func @producer_that_takes(%n: i32) {
  %i = tile.program_id 0
  // expected-error @below {{'arith.addi' op takes what a producer does not have: it computes its numbers itself}}
  tile.producer words = 0 { %x = arith.addi %i, %n : i32 }
  return
}

// -----

func.func @producer_that_meets() {
  // expected-error @below {{'tile.barrier' op cannot be done by a producer}}
  tile.producer words = 0 { tile.barrier shared }
  return
}

// -----

func.func @producer_in_a_branch(%c: i1) {
  scf.if %c {
    // expected-error @below {{'tile.producer' op stands within another operation of the kernel}}
    tile.producer words = 0 { %x = tile.program_id 0 }
  }
  return
}

// -----

func.func @second_producer() {
  tile.producer words = 0 { %x = tile.program_id 0 }
  // expected-error @below {{'tile.producer' op is the second one of the kernel}}
  tile.producer words = 0 { %x = tile.program_id 0 }
  return
}


// -----

func.func @partial_without_a_mask(%p: tensor<8x!tile.ptr<f16>>, %x: tensor<8xf16>) {
  // expected-error @below {{'tile.store' op only stores with a mask are partial}}
  tile.store %p, %x access = <axis = 0, width = 8, partial = true> : tensor<8x!tile.ptr<f16>>
  return
}

// -----

func.func @partial_load(%p: tensor<8x!tile.ptr<f16>>, %m: tensor<8xi1>) {
  // expected-error @below {{'tile.load' op only stores with a mask are partial}}
  %x = tile.load %p, %m access = <axis = 0, width = 8, partial = true> : tensor<8x!tile.ptr<f16>>
  return
}

// -----

func.func @more_maps_than_memory(%memory: !tile.map_memory<1>, %p: !tile.ptr<f16>, %n: i64) {
  // expected-error @below {{the memory has 1 maps, and none of number 1}}
  %map = tile.edited_map %memory[1], %p of [%n, %n] by [%n, %n] : !tile.map_memory<1>, !tile.ptr<f16> -> !tile.tensor_map<[64, 64], f16, 128>
  return
}

// -----

func.func @fewer_places_than_turns(%memory: !tile.map_memory<1>, %p: !tile.ptr<f16>, %n: i64, %t: i32) {
  // expected-error @below {{the memory has 1 maps, and none of number 1}}
  %map = tile.edited_map %memory[0], %p of [%n, %n] by [%n, %n] turn %t : !tile.map_memory<1>, !tile.ptr<f16> -> !tile.tensor_map<[64, 64], f16, 128>
  return
}
