//===-- EffectMasks.h - operations whose effects a condition may leave out --------------------===//
//   if (canBeMasked(op))
//     maskEffects(builder, op, isWanted);
//
// A branch that single elements take becomes straight code for whole tiles when what has effects in
// it leaves out the elements that are elsewhere: loads, stores and atomic operations have a mask,
// an assertion holds for elements that do not assert. What prints has neither.
#pragma once

#include "mlir/IR/Builders.h"

namespace sectile::tile {

bool canBeMasked(mlir::Operation *op);

/// Leaves the effects of an operation that can be masked to the elements where `isWanted`, an i1 or
/// a tile of them in the shape of its operands, is true.
void maskEffects(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value isWanted);

/// Where the condition, an i1 or a tile of them, does not hold.
mlir::Value negated(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition);

} // namespace sectile::tile
