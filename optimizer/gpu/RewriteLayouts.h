//===-- RewriteLayouts.h - writes chosen layouts into the IR ----------------------------------===//
// Sets the types of all tiles that have a node, copies cheap values for every layout they are
// wanted in, and inserts conversions. A conversion directly follows the operation that makes its
// source, outside of the loops that its source is outside of. Where the operations that made the
// source can be repeated on values that have the wanted layout already, they are: nothing moves.
#pragma once

#include "optimizer/gpu/LayoutGraph.h"

namespace sectile::optimizer {

/// `layouts` by number of the node.
void rewriteLayouts(mlir::func::FuncOp function, const CheapValues &cheap, const LayoutGraph &graph,
                    llvm::ArrayRef<layout::TileLayout> layouts, const GpuShape &shape);

} // namespace sectile::optimizer
