//===-- ScanPlan.h - who holds what along the axis of a scan ----------------------------------===//
// Along the axis, from neighbours to what is far apart, elements lie in registers (a *run*), then
// in lanes, then in warps, and beyond that in further runs of registers:
//
//   coordinate bits    0 1 | 2 3 4 5 6 | 7 8 | 9 10, repetitions
//   held by            run | lanes     | warps | runs
//
// Any part may be missing. Layouts in another order are converted to `reducible` first.
#pragma once

#include "lang/layout/TileLayout.h"

namespace sectile::gpu {

struct ScanPlan {
  bool isDirect = false;
  /// One bit each, neighbours first.
  llvm::SmallVector<unsigned, 6> laneMasks;
  /// A warp's place along the axis: the xor of the bases of its bits.
  llvm::SmallVector<int64_t, 6> placeOfWarp;
  int64_t warpCount = 1;
  /// [register of sliceOf(layout, axis)][run] registers in order of their coordinates. Registers
  /// that only hold padding are left out.
  using Run = llvm::SmallVector<int, 8>;
  std::vector<llvm::SmallVector<Run, 2>> lines;

  bool isWithinThread() const { return laneMasks.empty() && warpCount == 1; }
  size_t runCount() const;
};

ScanPlan planScan(const layout::TileLayout &layout, int axis);

} // namespace sectile::gpu
