//===-- AmdMatrixInstructions.h - MFMA and WMMA -------------------------------------------===//
// AMD's matrix instructions with sums of 32 or 64 bits and one block: MFMA of gfx90a, gfx942 and
// gfx950 (64 lanes), WMMA of gfx1100 and gfx1201 (32 lanes). Lanes stand for rows of A and columns
// of B, 16 or 32 of them, then for k; registers hold neighbours along k, and of a result elements
// below each other:
//
//   MFMA 16x16     operand: lane bits 0-3 are the row, 4-5 the upper bits of k, registers the lower
//                  result: lane bits 0-3 are the column, registers row bits 0-1, lane bits 4-5 row
//                  bits 2-3; of f64 lanes row bits 0-1, registers row bits 2-3
//   MFMA 32x32     operand: lane bits 0-4 are the row, bit 5 the upper bit of k
//                  result: registers are row bits 0-1, lane bit 5 row bit 2, registers row bits 3-4
//   WMMA gfx1100   operand: lane bits 0-3 are the row, bit 4 a copy, registers all of k
//                  result: lane bit 4 is row bit 0, registers row bits 1-3
//   WMMA gfx1201   operand: lane bit 4 is bit 2 of k of 16-bit elements, bit 3 of 8-bit ones
//                  result: registers are row bits 0-2, lane bit 4 row bit 3
//
// Tests compare them with what AMD's matrix instruction calculator prints, lane by lane; it does
// not know gfx950, whose own instructions follow the rule of MFMA.
#pragma once

#include "lang/layout/MatrixInstruction.h"

namespace sectile::layout {

/// The instructions of a chip as its manual describes them, named "mfma.m16n16k16.f32.f16.f16"; of
/// several with one result and the same elements the deepest first. Empty for a chip that is not
/// named above. Tf32 is AMD's xf32.
llvm::ArrayRef<MatrixInstruction> amdMatrixInstructions(llvm::StringRef chip);

/// The same as products of tiles take them: k renumbered so that a thread holds neighbours, those
/// with exchanged operands first, then those without.
llvm::ArrayRef<MatrixInstruction> amdProductInstructions(llvm::StringRef chip);

} // namespace sectile::layout
