//===-- ScratchBytes.h - shared memory that an op wants while it runs -------------------------===//
// What SharedMemoryPlan.h places. One case per op family, each from what plans its emission: there
// is no other record.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// 0: none.
int64_t scratchBytes(mlir::Operation *op, const GpuTarget &target);

} // namespace sectile::gpu
