//===-- BlockedLayouts.h - layouts that suit accesses to memory -------------------------------===//
// Threads in rectangles, with the axis along which memory is contiguous fastest. What the access
// leaves open (how wide a thread's vector is, how far a warp reaches along the fast axis, over
// which axis the warps spread) is tried in every sensible way; LayoutCost.h judges.
#pragma once

#include "optimizer/gpu/DotLayouts.h"
#include "optimizer/gpu/LayoutGraph.h"

namespace sectile::optimizer {

/// For a tile nothing is known of: rows, several elements per thread when there are enough.
layout::TileLayout defaultLayout(llvm::ArrayRef<int64_t> extents, const GpuShape &shape);

/// For nodes of one shape that should share a layout, the best `kept` of each fast axis by the
/// costs of the nodes themselves. `runAxis` (-1: none) is one along which a user wants neighbours
/// in a thread: each candidate that is contiguous along another axis comes a second time, with as
/// many rows of a thread side by side as fill 8 bytes; a thread that has too few elements for that
/// takes narrower pieces of them, of 8 bytes at least.
LayoutList blockedCandidates(llvm::ArrayRef<const LayoutNode *> nodes, const GpuShape &shape,
                             unsigned kept, int runAxis = -1);

} // namespace sectile::optimizer
