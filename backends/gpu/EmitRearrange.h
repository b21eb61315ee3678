//===-- EmitRearrange.h - ops that put elements elsewhere -------------------------------------===//
// transpose, reshape, join, split, flip, cat and gather. What the layouts allow is a renaming of
// registers; else a conversion of layouts before or after one; else the whole tile goes through
// shared memory, row-major.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

bool isRearrangement(mlir::Operation *op);
int64_t rearrangeScratchBytes(mlir::Operation *op, const GpuTarget &target);

} // namespace sectile::gpu
