//===-- EmittedScalars.h - what the scalars of a kernel have become ---------------------------===//
//   scalars.set(op.getResult(), emitted);
//   if (llvm::Value *known = scalars.find(value, constantOf)) ...
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sectile::backends {

/// How a back end writes a constant of an element type.
using ConstantMaker = llvm::function_ref<llvm::Constant *(mlir::Attribute, mlir::Type)>;

class EmittedScalars {
public:
  void set(mlir::Value value, llvm::Value *emitted) { values[value] = emitted; }
  /// Null before it is emitted. Constants are never set: they are made where they are used.
  llvm::Value *find(mlir::Value value, ConstantMaker constantOf) const {
    if (llvm::Value *known = values.lookup(value))
      return known;
    auto constant = value.getDefiningOp<mlir::arith::ConstantOp>();
    return constant ? constantOf(constant.getValue(), constant.getType()) : nullptr;
  }

private:
  llvm::DenseMap<mlir::Value, llvm::Value *> values;
};

} // namespace sectile::backends
