//===-- ProgramSlice.h - part of a program, computed beside it ---------------------------------===//
// A thread beside the program that starts its copies (Producer.h) goes through the same loops and
// branches and computes what the copies take, and nothing else: no tile, no product, no store.
//
//   ProgramSlice slice(outermost, mayLoad);           // an operation of the function's body
//   if (slice.add(offsets) && slice.addPlace(op)) {
//     ProgramSlice::Steps steps;
//     steps[op].push_back([&](const IRMapping &there, State &state) { ... there.lookup(..) ... });
//     slice.clone(builder, values, state, steps);     // values: for slice.outside()
//   }
//
// A step is emitted where the program has the operation that it stands in front of, with what the
// slice has computed there. The state is a list of values that steps change; all loops and branches
// with steps carry it.
#pragma once

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <functional>

namespace sectile::optimizer {

class ProgramSlice {
public:
  using State = llvm::SmallVector<mlir::Value>;
  using Step = std::function<void(mlir::IRMapping &there, State &state)>;
  /// By the operation that they stand in front of, in their order.
  using Steps = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Step, 1>>;

  /// `mayLoad` says which loads of numbers may be repeated.
  ProgramSlice(mlir::Operation *outermost, std::function<bool(tile::LoadOp)> mayLoad)
      : outermost(outermost), mayLoad(std::move(mayLoad)) {}

  /// Adds what these values are made of; null values are made of nothing. When that is more than
  /// arithmetic and loads of numbers, adds nothing and returns false.
  bool add(llvm::ArrayRef<mlir::Value> values);
  /// Adds the loops and branches around the operation, likewise.
  bool addPlace(mlir::Operation *op);

  /// What the slice takes from outside of the outermost operation.
  llvm::ArrayRef<mlir::Value> outside() const { return parts.outside.getArrayRef(); }
  /// Its loads, in no order.
  llvm::SmallVector<tile::LoadOp> loads() const;

  /// Emits the slice with its steps, all of which stand at places that it has, or in front of it.
  /// `values` maps what is outside, `state` is that in front and becomes that behind.
  void clone(mlir::OpBuilder &builder, mlir::IRMapping &values, State &state, const Steps &steps);

private:
  struct Parts {
    llvm::SetVector<mlir::Operation *> ops;
    /// Numbers of what loops carry and branches give.
    llvm::DenseMap<mlir::Operation *, llvm::SetVector<unsigned>> carried;
    llvm::SetVector<mlir::Value> outside;
  };
  class Cloner;

  bool isInside(mlir::Operation *owner) const {
    return outermost == owner || outermost->isProperAncestor(owner);
  }
  bool addTo(Parts &grown, mlir::Value value) const;
  bool addTo(Parts &grown, mlir::Operation *op) const;
  bool addAround(Parts &grown, mlir::Operation *op) const;
  /// Adds a value that the loop carries, or the branch gives.
  bool addCarried(Parts &grown, mlir::Operation *op, unsigned number) const;
  bool mayRun(mlir::Operation *op) const;

  mlir::Operation *outermost;
  std::function<bool(tile::LoadOp)> mayLoad;
  Parts parts;
};

} // namespace sectile::optimizer
