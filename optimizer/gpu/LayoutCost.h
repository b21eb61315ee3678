//===-- LayoutCost.h - what a layout costs ----------------------------------------------------===//
// Estimates in cycles of one multiprocessor for all warps of a block, good enough to rank layouts:
//
//   registers   an operation on a register of a warp takes a quarter (four schedulers)
//   accesses    an instruction takes two, or one and what the 32-byte sectors take at four a cycle;
//               each sector takes one and a half from memory
//   shuffles    two each, and 20 for their latency
//   shared      128 bytes a cycle, each way; the barriers and the latency of a round trip 100
//
// Only differences matter, so what no layout can change is left out.
#pragma once

#include "lang/layout/TileLayout.h"
#include "optimizer/gpu/LayoutGraph.h"

namespace sectile::optimizer {

/// The cost of everything in the node, over all trips.
double nodeCost(const LayoutNode &node, const layout::TileLayout &layout);

/// The cost of one conversion of a tile of `bits` per element.
double conversionCost(const layout::TileLayout &from, const layout::TileLayout &to, unsigned bits);

/// The cost of reading a tile that lies in shared memory.
double sharedReadCost(const layout::TileLayout &layout, unsigned bits);

/// The cost of putting words of 32 bits together behind such a read when the elements of one were
/// not neighbours in the thread that wrote them, so that no word of shared memory is one.
double repackCost(const layout::TileLayout &from, const layout::TileLayout &to, unsigned bits);

/// The cost of putting a tile into a buffer that a product reads.
double storedForProductCost(const layout::TileLayout &layout, unsigned bits);

/// The cost of moving a tile through shared memory from one layout to one of as many registers.
double roundTripCost(const layout::TileLayout &layout, unsigned bits);

} // namespace sectile::optimizer
