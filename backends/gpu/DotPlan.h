//===-- DotPlan.h - how a matrix product is computed ------------------------------------------===//
// By the warps' matrix instructions when all three tiles have the layouts of their fragments
// (layout assignment sees to it where the target has an instruction), else by multiply-adds on
// operands in shared memory. EmitDot.cpp emits it.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// What a product of this accumulator's type is accumulated in.
mlir::Type computedIn(mlir::Type acc);

/// There are instructions for its element types.
bool hasMatrixInstructions(tile::DotOp op, const GpuTarget &target);
/// And all three tiles have the layouts of their fragments.
bool usesMatrixInstructions(tile::DotOp op, const GpuTarget &target);

/// A rank-2 or batched operand in shared memory, row-major.
int64_t operandBytes(mlir::RankedTensorType type);
/// Shared memory for the operands of a product by multiply-adds; 0 with matrix instructions.
int64_t dotScratchBytes(tile::DotOp op, const GpuTarget &target);

} // namespace sectile::gpu
