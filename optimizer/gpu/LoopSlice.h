//===-- LoopSlice.h - part of an iteration, computed for another one --------------------------===//
// Loads that run ahead of their iteration need its addresses and masks early.
//
//   LoopSlice slice(loop);
//   if (slice.add({load.getPtr(), load.getMask()})) {
//     IRMapping there = slice.clone(builder, index, carried);   // carried: for slice.carried()
//     Value pointer = there.lookupOrDefault(load.getPtr());
//     carried = slice.next(there);
//   }
//
// Addresses may be made of what the loop loads (block tables, lists of rows). Where a user of the
// slice can load that early, it is given to clones like a carried value: GivenLoads.
#pragma once

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <functional>

namespace sectile::optimizer {

/// Why a load does not run ahead when LoopSlice::add() fails for it.
inline constexpr const char *kAddressNeedsIteration =
    "its address or mask depends on more than arithmetic: on what the iteration loads, say";

/// The operations of a loop's body that some values are made by, and the carried values they need.
class LoopSlice {
public:
  /// Where clones of the slice run: anywhere, so that they are pure (divisions are guarded), or
  /// only where the iteration that they are of exists.
  enum class Runs { Anywhere, WhereItsIterationDoes };

  /// `mayBeGiven` says which loads of the body clones can be given the results of; null: none.
  explicit LoopSlice(mlir::scf::ForOp loop, Runs runs = Runs::Anywhere,
                     std::function<bool(tile::LoadOp)> mayBeGiven = nullptr)
      : loop(loop), runs(runs), mayBeGiven(std::move(mayBeGiven)) {}

  /// Adds what `values` need; null values need nothing. When that is more than arithmetic, adds
  /// nothing and returns false.
  bool add(llvm::ArrayRef<mlir::Value> values);

  /// The values that the carried values of the slice have in the first iteration.
  llvm::SmallVector<mlir::Value> initial() const;
  /// The loop's own values for carried values of the slice.
  llvm::SmallVector<mlir::Value> carried() const;
  bool has(mlir::Operation *op) const { return parts.ops.contains(op); }
  /// The loads whose results clones are given, by `clone`'s last argument.
  llvm::ArrayRef<tile::LoadOp> given() const { return parts.given.getArrayRef(); }
  /// Erases those of the slice's operations that have no use; the slice is of no use then.
  void eraseUnused();
  /// What the slice takes from outside of the loop, but for initial().
  llvm::ArrayRef<mlir::Value> outside() const { return parts.outside.getArrayRef(); }

  /// The slice of one iteration, `index` and `carried` in place of the loop's own; `outside` has
  /// other values for some of those.
  mlir::IRMapping clone(mlir::OpBuilder &builder, mlir::Value index, mlir::ValueRange carried,
                        mlir::IRMapping outside = {});
  /// The carried values of the iteration after the cloned one.
  llvm::SmallVector<mlir::Value> next(const mlir::IRMapping &cloned);

private:
  struct Parts {
    llvm::SetVector<mlir::Operation *> ops;
    llvm::SetVector<unsigned> carried; // numbers of iteration arguments
    llvm::SetVector<mlir::Value> outside;
    llvm::SetVector<tile::LoadOp> given;
  };
  /// Whether clones of the operation may run where they do: it is pure, or a branch of such.
  bool mayRun(mlir::Operation *op) const;
  bool addTo(Parts &grown, mlir::Value value);

  mlir::scf::ForOp loop;
  Runs runs;
  std::function<bool(tile::LoadOp)> mayBeGiven;
  Parts parts;
};

/// Computes which iterations there are, without overflow wherever the bounds lie.
class LoopExtent {
public:
  /// Emits what does not change from iteration to iteration at the builder's place, before the
  /// loop.
  LoopExtent(mlir::OpBuilder &builder, mlir::scf::ForOp loop, int64_t distance);

  /// Whether there is a first iteration.
  mlir::Value hasFirst(mlir::OpBuilder &builder);
  /// Whether one follows that of `index`, which exists.
  mlir::Value hasNext(mlir::OpBuilder &builder, mlir::Value index);
  /// Whether there is one `distance` later than that of `index`, which exists.
  mlir::Value hasLater(mlir::OpBuilder &builder, mlir::Value index);
  /// The index of that iteration, if it exists.
  mlir::Value later(mlir::OpBuilder &builder, mlir::Value index);

private:
  mlir::Value isLeft(mlir::OpBuilder &builder, mlir::Value index, mlir::Value steps);

  mlir::scf::ForOp loop;
  mlir::Value reach; // distance * step
  mlir::Value fits;  // whether that is a number of the index type; null means that it is
};

} // namespace sectile::optimizer
