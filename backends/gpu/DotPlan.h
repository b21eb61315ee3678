//===-- DotPlan.h - how a matrix product is computed ------------------------------------------===//
// A product is computed by the matrix instruction that layout assignment has named on it, else by
// multiply-adds on operands in shared memory. EmitDot.cpp emits `dot`, EmitBufferProducts.cpp
// `dot_async`, whose instruction reads buffers itself.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// Returns the target's instructions for the product's elements, the preferred first; those that
/// read shared memory themselves come before the others.
layout::MatrixInstructions matrixInstructions(tile::DotOp op, const GpuTarget &target);
/// Returns the one that the product names; null when the target has none of that name.
const layout::MatrixInstruction *instructionOf(tile::DotOp op, const GpuTarget &target);
const layout::MatrixInstruction *instructionOf(tile::DotAsyncOp op, const GpuTarget &target);

/// Whether operands that are loaded from buffers are read some steps ahead of the instructions that
/// take them. A tile that is stored in the very round that reads it is not: there is no room for
/// more in registers then (optimizer/gpu/StageLoads.h).
bool readsAhead(tile::DotOp op);

/// How a product by multiply-adds has its operands in shared memory, both row-major: the left one
/// first, with the rows so far apart that threads read several at once from different banks.
struct MultiplyAddOperands {
  explicit MultiplyAddOperands(tile::DotOp op);

  int64_t lhsPitch;           // elements from one row of the left operand to the next
  int64_t lhsBytes, rhsBytes; // multiples of 16
  /// Steps of depth that a thread reads of a row at once: a power of two that divides the depth.
  int64_t steps;
};

/// Returns the bytes of shared memory for the operands of a product by multiply-adds; 0 with matrix
/// instructions.
int64_t dotScratchBytes(tile::DotOp op);

} // namespace sectile::gpu
