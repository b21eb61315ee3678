//===-- CheapValues.h - tiles that any thread can make for itself -----------------------------===//
// An arange, a splat, a constant, and what few elementwise operations make of them: positions,
// pointers, masks. No memory is read for them, so a thread can compute whichever elements it needs:
// such a tile is in every layout at once, and each user gets a copy of its computation.
//
//   %i = tile.arange 0, 128        cheap
//   %p = tile.ptr_add %ps, %i      cheap
//   %x = tile.load %p              not cheap: it has one layout
//
// Long computations (random numbers, say) are cheap only at their beginning: each copy would cost
// more than moving the result.
#pragma once

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace sectile::optimizer {

/// One result element from the operand elements at the same place; no effects.
bool isElementwise(mlir::Operation *op);

/// Whether the operands and results that are tiles have one layout, whichever it is.
bool hasOneLayout(mlir::Operation *op);

class CheapValues {
public:
  explicit CheapValues(mlir::func::FuncOp function);
  bool contains(mlir::Value tile) const { return costs.contains(tile); }

private:
  void examine(mlir::Operation *op);

  /// Operations that a copy takes.
  llvm::DenseMap<mlir::Value, unsigned> costs;
};

} // namespace sectile::optimizer
