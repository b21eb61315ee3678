//===-- DotPlan.h - how a matrix product is computed ------------------------------------------===//
// By the matrix instruction that layout assignment has named on the product, else by multiply-adds
// on operands in shared memory. EmitDot.cpp emits it.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// The target's instructions for the product's elements, the preferred first; those that read
/// shared memory before the others.
layout::MatrixInstructions matrixInstructions(tile::DotOp op, const GpuTarget &target);
/// The one that the product names; null when the target has none of that name.
const layout::MatrixInstruction *instructionOf(tile::DotOp op, const GpuTarget &target);
const layout::MatrixInstruction *instructionOf(tile::DotAsyncOp op, const GpuTarget &target);

/// Whether operands that lie in buffers are read some steps ahead of the instructions that take
/// them. Not those of a tile that is stored in the very round that reads it: there is no room for
/// more in registers then (optimizer/gpu/StageLoads.h).
bool readsAhead(tile::DotOp op);

/// A rank-2 or batched operand in shared memory, row-major.
int64_t operandBytes(mlir::RankedTensorType type);
/// Shared memory for the operands of a product by multiply-adds; 0 with matrix instructions.
int64_t dotScratchBytes(tile::DotOp op);

} // namespace sectile::gpu
