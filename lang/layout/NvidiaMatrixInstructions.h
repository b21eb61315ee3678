//===-- NvidiaMatrixInstructions.h - mma.sync, wgmma --------------------------------------===//
// The fragments in which tensor cores take their operands and give their results (PTX ISA, "Matrix
// Fragments for mma.m16n8k*"). g = lane / 4, t = lane mod 4, v = 32 / bits of an operand's element:
//
//   accumulator m16n8        register i: row g + 8 (i / 2), column 2t + i mod 2
//   accumulator m8n8 (f64)   register i: row g, column 2t + i
//   A, k = 8v                register i: row g + 8 (i / v mod 2), k = v t + i mod v + 4v (i / 2v)
//   B, k = 8v                register i: k = v t + i mod v + 4v (i / v), column g
//   A, B of f64 (k = 4)      row (column) g, k = t
//
// so k is 16 for elements of 16 bits, 32 for those of 8, 8 for tf32.
//
// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions") is of four warps, 64 rows and
// up to 256 columns: warp w has rows 16 w to 16 w + 15, of which it holds A and the accumulator as
// above, the latter's columns eight by eight. B is read out of shared memory, and A may be.
#pragma once

#include "lang/layout/MatrixInstruction.h"

namespace sectile::layout {

/// The instructions of one warp with sums of 32 or 64 bits: one for each pair of operands, named
/// "mma.m16n8k16.f32.f16.f16". Every GPU from sm_80 on has them, those of fp8 excepted.
llvm::ArrayRef<MatrixInstruction> mmaSyncInstructions();

/// The instructions of four warps, the widest first for each pair of operands, named
/// "wgmma.m64n256k16.f32.f16.f16". Operands of other than 16 bits are contiguous along the depth in
/// shared memory; of f32 there (tf32) the lowest 13 bits are not looked at. Sums of fp8 products
/// keep fewer digits than f32 has while an instruction adds. sm_90a alone has them.
llvm::ArrayRef<MatrixInstruction> wgmmaInstructions();

} // namespace sectile::layout
