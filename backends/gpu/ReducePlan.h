//===-- ReducePlan.h - which threads a reduction combines -------------------------------------===//
// Along the axis, elements differ by registers of a thread, by lanes of a warp, and by warps. A
// reduction combines them in this order:
//
//   registers   those of equal coordinates on the other axes
//   lanes       by shuffles with `laneMasks`, each of which moves along the axis only
//   warps       one partial result of each of `partialCount` warps, in shared memory
//
// Lanes and warps that hold copies are in none of the masks, so that nothing is counted twice.
// A layout whose bits mix the axis with others cannot be reduced so: it is converted first.
#pragma once

#include "lang/layout/TileLayout.h"

namespace sectile::gpu {

struct ReducePlan {
  /// False: convert to `reducible` first, and plan again.
  bool isDirect = false;
  llvm::SmallVector<unsigned, 6> laneMasks;
  /// Which partial result a warp makes: the xor of the bases of its bits.
  llvm::SmallVector<int64_t, 6> partialOfWarp;
  int64_t partialCount = 1;
  /// Registers in groups that are combined with each other. One group per register of
  /// sliceOf(layout, axis), in its order; empty where only padding is.
  std::vector<llvm::SmallVector<int, 8>> groups;
};

ReducePlan planReduce(const layout::TileLayout &layout, int axis);

/// A layout of the same tile that can be reduced and scanned along `axis` directly, and within
/// single warps where the other axes have work for all of them.
layout::TileLayout reducible(const layout::TileLayout &layout, int axis);

} // namespace sectile::gpu
