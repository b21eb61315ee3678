//===-- EmitReduce.h - reductions over registers, lanes and warps -----------------------------===//
// ReducePlan.h says who combines what. Warps meet once: each writes its partial results to shared
// memory, and after one barrier every thread reads all of those that its results need.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

int64_t reduceScratchBytes(tile::ReduceOp op, const GpuTarget &target);

} // namespace sectile::gpu
