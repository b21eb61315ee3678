//===-- ChooseLayouts.h - one layout for every node of a layout graph -------------------------===//
// Nodes that should have the same layout (linked by LinkKind::Same) form a *component*, and share a
// list of candidates: what suits their accesses and products, and what the layouts of neighbouring
// components make of them by broadcasting, reducing, transposing ... The sum of all costs is then
// lowered:
//
//   1. component by component, all nodes alike: the heaviest first, then its neighbours;
//   2. nodes of one layout together, and each for itself, as long as the sum falls.
//
// So a load of transposed data takes its own layout, at the price of one conversion, when that is
// cheaper than a bad access.
#pragma once

#include "optimizer/gpu/LayoutGraph.h"

namespace sectile::optimizer {

/// By number of the node.
std::vector<layout::TileLayout> chooseLayouts(const LayoutGraph &graph, const GpuShape &shape);

} // namespace sectile::optimizer
