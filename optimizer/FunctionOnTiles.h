//===-- FunctionOnTiles.h - a function of elements, applied to whole tiles --------------------===//
//   SmallVector<Value> results = applyToTiles(builder, op.getFunction().front(), op.getSrcs());
//
// Each operation of the function becomes the same operation on tiles; a branch becomes a selection
// of what both sides compute. An operation with effects stays one operation, which has its effects
// for every element of the tiles, once; in a branch, for the elements that take it.
#pragma once

#include "mlir/IR/Builders.h"

namespace sectile::optimizer {

/// Whether every operation of the function, which may branch, has a counterpart on tiles that may
/// run for elements that do not need it.
bool hasFormOnTiles(mlir::Block &function);

/// Builds what the function's terminator yields for the elements of `tiles`, one tile for each of
/// its arguments. The function has such a form; or it has effects, nothing in it loops, and what
/// has effects in branches can be masked.
llvm::SmallVector<mlir::Value> applyToTiles(mlir::OpBuilder &builder, mlir::Block &function,
                                            mlir::ValueRange tiles);

} // namespace sectile::optimizer
