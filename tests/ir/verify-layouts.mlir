// DIAGNOSTICS: --verify-layouts=warps=1,lanes=2

func.func @without_a_layout() {
  // expected-error @below {{'tile.arange' op layouts: 'tensor<4xi32>' has none}}
  %i = tile.arange 0, 4 : tensor<4xi32>
  return
}

// -----

func.func @of_other_threads() {
  // expected-error @below {{is not of 1 warps of 2 lanes}}
  %i = tile.arange 0, 4 : tensor<4xi32, #tile.layout<4, lane = [1 2]>>
  return
}

// -----

func.func @no_slice() {
  %i = tile.arange 0, 4 : tensor<4xi32, #tile.layout<4, register = [1], lane = [2]>>
  // expected-error @below {{'tile.expand_dims' op layouts: the source is no slice of the result}}
  %e = tile.expand_dims %i {axis = 0 : i32} : tensor<4xi32, #tile.layout<4, register = [1], lane = [2]>>
    -> tensor<1x4xi32, #tile.layout<1x4, register = [(0, 2)], lane = [(0, 1)]>>
  return
}

// -----

func.func @fits() {
  %i = tile.arange 0, 4 : tensor<4xi32, #tile.layout<4, register = [1], lane = [2]>>
  %e = tile.expand_dims %i {axis = 0 : i32} : tensor<4xi32, #tile.layout<4, register = [1], lane = [2]>>
    -> tensor<1x4xi32, #tile.layout<1x4, register = [(0, 1)], lane = [(0, 2)]>>
  return
}
