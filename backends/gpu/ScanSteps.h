//===-- ScanSteps.h - what a scan does, in order ----------------------------------------------===//
// Known from the op's types alone, as ReduceSteps.h is; EmitScan.cpp emits it.
//
//   source -> `scanned` -> ScanPlan -> the result's layout
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "backends/gpu/ScanPlan.h"

namespace sectile::gpu {

struct ScanSteps {
  ScanSteps(tile::ScanOp op, const GpuTarget &target);

  int64_t scratchBytes(tile::ScanOp op, const GpuTarget &target) const;

  llvm::SmallVector<layout::TileLayout, 2> sources;
  layout::TileLayout scanned; // what the operands are converted to first
  ScanPlan plan;
  layout::TileLayout slice;
  /// Bytes of one run of each operand (the flags are the last operand), and where they begin.
  llvm::SmallVector<int64_t, 3> totalBytes, totalOffsets;
  int64_t bytes = 0;

private:
  void planFor(tile::ScanOp op);
};

} // namespace sectile::gpu
