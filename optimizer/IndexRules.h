//===-- IndexRules.h - how each operation turns facts into facts ------------------------------===//
// The transfer functions of IndexAnalysis. Along one dimension every elementwise operation is an
// operation on sequences, so each rule is stated and tested for one dimension. Rules have names;
// IndexRules.cpp has them with their proofs.
#pragma once

#include "optimizer/IndexAnalysis.h"

#include "mlir/IR/Operation.h"

namespace sectile::optimizer {

/// Nothing known, with the extents and number range of `type`.
IndexFacts unknownFacts(mlir::Type type);
/// What holds of a value that is one of `a` and `b`.
IndexFacts joinFacts(const IndexFacts &a, const IndexFacts &b);
/// Size in memory of what a pointer (or tile of pointers) points to; 1 for anything else.
int64_t elementBytes(mlir::Type type);

/// Facts of each result of an operation without regions. `of` gives those of its operands.
llvm::SmallVector<IndexFacts, 1> applyRules(mlir::Operation *op,
                                            llvm::function_ref<const IndexFacts &(mlir::Value)> of);

} // namespace sectile::optimizer
