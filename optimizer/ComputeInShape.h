//===-- ComputeInShape.h - elementwise operations on tiles of another shape -------------------===//
// What is computed element by element may be computed before a tile is repeated, or with fewer
// axes:
//
//   addf(broadcast(x), splat(y))   ==>   broadcast(addf(x, splat(y)))
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace sectile::optimizer {

/// Whether the operation computes one tile element by element, without effects.
bool makesTileElementwise(mlir::Operation *op);

/// Whether the value is a scalar, or a tile that repeats one.
bool isUniform(mlir::Value value);

/// Returns the scalar that a uniform value is, or repeats.
mlir::Value scalarOf(mlir::Value value, mlir::OpBuilder &builder);

/// Returns the same operation on other operands, with a result of that type.
mlir::Value rebuild(mlir::Operation *op, mlir::ValueRange operands, mlir::Type type,
                    mlir::OpBuilder &builder);

/// Returns the operation's result in another shape: of each operand that is not uniform `inShape`
/// gives the tile of that shape.
mlir::Value computeInShape(mlir::Operation *op, llvm::ArrayRef<int64_t> shape,
                           mlir::OpBuilder &builder,
                           llvm::function_ref<mlir::Value(mlir::Value)> inShape);

} // namespace sectile::optimizer
