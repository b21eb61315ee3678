//===-- EmitScan.h - running combinations along an axis ---------------------------------------===//
// ScanPlan.h says who holds what. Every run of registers is scanned on its own; the totals of runs
// then go through the lanes, the warps (by way of shared memory, one barrier) and the further runs
// of the thread, and what came before a run is combined into its registers once, at the end.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

int64_t scanScratchBytes(tile::ScanOp op, const GpuTarget &target);

} // namespace sectile::gpu
