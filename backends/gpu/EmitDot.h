//===-- EmitDot.h - how a matrix product is computed ------------------------------------------===//
// By the warps' matrix instructions when all three tiles have the layouts of their fragments
// (layout assignment sees to it where the target has an instruction), else by multiply-adds on
// operands in shared memory.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// There are instructions for its element types.
bool hasMatrixInstructions(tile::DotOp op, const GpuTarget &target);
/// And all three tiles have the layouts of their fragments.
bool usesMatrixInstructions(tile::DotOp op, const GpuTarget &target);

/// Shared memory for the operands of a product by multiply-adds; 0 with matrix instructions.
int64_t dotScratchBytes(tile::DotOp op, const GpuTarget &target);

} // namespace sectile::gpu
