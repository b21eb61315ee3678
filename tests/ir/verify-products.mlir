// DIAGNOSTICS: --verify-layouts=warps=1,lanes=32,matrix=true

#lhs = #tile.layout<16x16, register = [(0, 1) (8, 0) (0, 8)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#rhs = #tile.layout<16x8, register = [(1, 0) (8, 0)], lane = [(2, 0) (4, 0) (0, 1) (0, 2) (0, 4)]>
#acc = #tile.layout<16x8, register = [(0, 1) (8, 0)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
func.func @right(%a: tensor<16x16xf16, #lhs>, %b: tensor<16x8xf16, #rhs>, %c: tensor<16x8xf32, #acc>) {
  %d = tile.dot %a, %b, %c instruction = "mma.m16n8k16.f32.f16.f16"
      : tensor<16x16xf16, #lhs> * tensor<16x8xf16, #rhs> -> tensor<16x8xf32, #acc>
  return
}

// -----

#lhs = #tile.layout<16x16, register = [(0, 1) (8, 0) (0, 8)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#rhs = #tile.layout<16x8, register = [(1, 0) (8, 0)], lane = [(2, 0) (4, 0) (0, 1) (0, 2) (0, 4)]>
#acc = #tile.layout<16x8, register = [(0, 1) (8, 0)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
func.func @unnamed(%a: tensor<16x16xf16, #lhs>, %b: tensor<16x8xf16, #rhs>, %c: tensor<16x8xf32, #acc>) {
  // expected-error @below {{layouts: the product has no instruction, and there is mma.m16n8k16.f32.f16.f16}}
  %d = tile.dot %a, %b, %c : tensor<16x16xf16, #lhs> * tensor<16x8xf16, #rhs> -> tensor<16x8xf32, #acc>
  return
}

// -----

#lhs = #tile.layout<16x16, register = [(0, 1) (8, 0) (0, 8)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#rhs = #tile.layout<16x8, register = [(1, 0) (8, 0)], lane = [(2, 0) (4, 0) (0, 1) (0, 2) (0, 4)]>
#acc = #tile.layout<16x8, register = [(0, 1) (8, 0)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
func.func @of_other_elements(%a: tensor<16x16xf16, #lhs>, %b: tensor<16x8xf16, #rhs>, %c: tensor<16x8xf32, #acc>) {
  // expected-error @below {{layouts: there is no instruction "mma.m16n8k16.f32.bf16.bf16" for this product}}
  %d = tile.dot %a, %b, %c instruction = "mma.m16n8k16.f32.bf16.bf16"
      : tensor<16x16xf16, #lhs> * tensor<16x8xf16, #rhs> -> tensor<16x8xf32, #acc>
  return
}

// -----

#lhs = #tile.layout<16x16, register = [(0, 1) (8, 0) (0, 8)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#rhs = #tile.layout<16x8, register = [(1, 0) (8, 0)], lane = [(2, 0) (4, 0) (0, 1) (0, 2) (0, 4)]>
#rows = #tile.layout<16x8, register = [(0, 1) (0, 2)], lane = [(0, 4) (1, 0) (2, 0) (4, 0) (8, 0)]>
func.func @accumulator(%a: tensor<16x16xf16, #lhs>, %b: tensor<16x8xf16, #rhs>, %c: tensor<16x8xf32, #rows>) {
  // expected-error @below {{layouts: the accumulator is none of "mma.m16n8k16.f32.f16.f16"}}
  %d = tile.dot %a, %b, %c instruction = "mma.m16n8k16.f32.f16.f16"
      : tensor<16x16xf16, #lhs> * tensor<16x8xf16, #rhs> -> tensor<16x8xf32, #rows>
  return
}

// -----

#lhs = #tile.layout<16x16, register = [(0, 1) (8, 0) (0, 8)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#acc = #tile.layout<16x8, register = [(0, 1) (8, 0)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]>
#rows = #tile.layout<16x8, register = [(0, 1) (0, 2)], lane = [(0, 4) (1, 0) (2, 0) (4, 0) (8, 0)]>
func.func @operand(%a: tensor<16x16xf16, #lhs>, %b: tensor<16x8xf16, #rows>, %c: tensor<16x8xf32, #acc>) {
  // expected-error @below {{layouts: the operands do not fit the accumulator}}
  %d = tile.dot %a, %b, %c instruction = "mma.m16n8k16.f32.f16.f16"
      : tensor<16x16xf16, #lhs> * tensor<16x8xf16, #rows> -> tensor<16x8xf32, #acc>
  return
}
