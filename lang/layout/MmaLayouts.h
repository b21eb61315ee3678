//===-- MmaLayouts.h - fragments of mma.sync ----------------------------------------------===//
// The layouts in which tensor cores take their operands and give their results (PTX ISA, "Matrix
// Fragments for mma.m16n8k*"), as bases. g = lane / 4, t = lane mod 4, v = 32 / elementBits:
//
//   accumulator m16n8        register i: row g + 8 (i / 2), column 2t + i mod 2
//   accumulator m8n8 (f64)   register i: row g, column 2t + i
//   A, k = 8v                register i: row g + 8 (i / v mod 2), k = v t + i mod v + 4v (i / 2v)
//   B, k = 8v                register i: k = v t + i mod v + 4v (i / v), column g
//   A, B of f64 (k = 4)      row (column) g, k = t
//
// so k is 16 for 16-bit elements, 32 for 8-bit ones, 8 for tf32. With `kWidth` = v * j a thread
// holds kWidth neighbours along k, as memory or a conversion from narrower elements likes it, which
// makes j instructions: instruction n takes registers with (i mod kWidth) / v == n. Both operands
// must have the same kWidth: k is then permuted alike, and a sum does not mind.
//
// Warps lie side by side, one instruction's rows (columns) apart, the first axis fastest; the rest
// is repetition.
#pragma once

#include "lang/layout/TileLayout.h"

namespace sectile::layout {

enum class MmaOperand : uint8_t { A, B };

struct MmaShape {
  int64_t m, n, k;
  bool operator==(const MmaShape &) const = default;
};

/// The instruction for operands of `operandBits` (8, 16, 32 as tf32, 64).
MmaShape mmaShape(unsigned operandBits);

/// The accumulator of a dot: `shape` is [batch ...] x M x N, `warps` has one power of two per axis;
/// `operandBits` selects the instruction: m8n8 for 64 bits, m16n8 for all others.
TileLayout mmaAccumulator(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> warps,
                          unsigned operandBits);

/// An operand: `shape` is [batch ...] x M x K for A, [batch ...] x K x N for B. `warps` are the
/// accumulator's; warps along the axis that the operand lacks hold copies. kWidth 0 is the
/// instruction's own.
TileLayout mmaOperand(MmaOperand operand, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> warps, unsigned elementBits, int64_t kWidth = 0);

} // namespace sectile::layout
