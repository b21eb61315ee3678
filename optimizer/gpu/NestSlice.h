//===-- NestSlice.h - iterations of a loop in a loop, computed ahead of both ------------------===//
// Copies for a loop in a loop need not end with it: those of the next round of the outer loop may
// be under way while this round ends. The rounds of both loops are one row then, and a position in
// it is a list of numbers.
//
//   for t:                          position: t, i, base, and what both loops carry for f and g;
//     base = f(t)                   behind the last round t is the end of its loop
//     for i:
//       address = g(base, i)
//
//   NestSlice nest(outer, loop, slice);      // slice: the LoopSlice of `loop` that has g
//   if (nest.isComplete()) {
//     NestPosition position = nest.first(builder);             // before `outer`
//     IRMapping there = nest.clone(builder, position);         // there: address, at that position
//     position = nest.next(builder, position, there);          // anywhere
//   }
//
// In the inner loop itself a branch would cost more than what it skips: threads that may part are
// no place for a copy engine. But a round of the outer loop has as many inner rounds as any other,
// so positions pass from one outer round to the next just once in it, and where to is known before
// (`behind`):
//
//   crossing = behind(position)                      // before `outer`
//   for t:
//     for i: ...; position = advance(position, there, crossing)
//     crossing = behind(crossing)
//
// The bounds of the inner loop are those of all rounds: they are made outside of the outer one. f
// runs where a round of the outer loop begins, under a condition, so that it may divide.
#pragma once

#include "optimizer/gpu/LoopSlice.h"

namespace sectile::optimizer {

struct NestPosition {
  mlir::Value innerIndex;
  mlir::Value outerIndex; // the loop's upper bound behind the last round
  llvm::SmallVector<mlir::Value> outerCarried;
  /// What the inner slice takes from the outer loop's body; numbers that are widened there are
  /// carried as they are before.
  llvm::SmallVector<mlir::Value> outside;
  llvm::SmallVector<mlir::Value> innerCarried;

  /// What changes from inner round to inner round, for loops that carry it.
  llvm::SmallVector<mlir::Value> ofInner() const;
  void setOfInner(mlir::ValueRange values);
  /// All of it.
  llvm::SmallVector<mlir::Value> all() const;
  void setAll(mlir::ValueRange values);
};

class NestSlice {
public:
  /// `inner` is in `outer`, and `slice` is of it and stays as it is.
  NestSlice(mlir::scf::ForOp outer, mlir::scf::ForOp inner, LoopSlice &slice);

  /// Whether positions can be computed. Otherwise the reason is whyNot(), for a remark.
  bool isComplete() const { return reason.empty(); }
  const std::string &whyNot() const { return reason; }

  /// Returns the first position; the builder stands before the outer loop.
  NestPosition first(mlir::OpBuilder &builder);
  /// Returns the first position of the outer loop's own round, in front of the inner loop.
  NestPosition here(mlir::OpBuilder &builder);
  /// Returns the position if `condition`, else the end of the outer loop.
  NestPosition onlyIf(mlir::OpBuilder &builder, mlir::Value condition, NestPosition position);
  /// Returns whether there is a round at the position. Made anew each time: assemblers take what
  /// loops carry as a truth value for one that threads differ in.
  mlir::Value exists(mlir::OpBuilder &builder, const NestPosition &position);
  /// Computes the inner slice at the position.
  mlir::IRMapping clone(mlir::OpBuilder &builder, const NestPosition &position);
  /// Returns the position behind `position`, whose inner slice `there` has.
  NestPosition next(mlir::OpBuilder &builder, const NestPosition &position,
                    const mlir::IRMapping &there);
  /// The same within the outer round of `position`, which has another inner round.
  NestPosition nextInner(mlir::OpBuilder &builder, const NestPosition &position,
                         const mlir::IRMapping &there);
  /// Returns the first position of the outer round behind that of `position`.
  NestPosition behind(mlir::OpBuilder &builder, const NestPosition &position);
  /// Returns the position behind `position` without a branch: `crossing` where its outer round
  /// ends. Of the result only what changes from inner round to inner round is meant.
  NestPosition advance(mlir::OpBuilder &builder, const NestPosition &position,
                       const mlir::IRMapping &there, const NestPosition &crossing);

  /// Returns the position an outer round behind `position`, whose `crossing` leads into that round:
  /// as far into it as `position` is into its own. Of the result only what changes from inner round
  /// to inner round is meant.
  NestPosition skipRound(mlir::OpBuilder &builder, const NestPosition &position,
                         const NestPosition &crossing);

  /// In the outer loop's body, at its begin, takes what `position` has for what the body computes
  /// itself, where the position is in that round.
  void reuse(mlir::OpBuilder &builder, const NestPosition &position);

private:
  /// A value that the inner slice takes from the outer loop's body, and the number that positions
  /// have for it: itself, or what it widens.
  struct Outside {
    mlir::Value value, narrow;
    mlir::Value of(mlir::OpBuilder &builder, mlir::Value made) const;
  };

  std::string find();
  /// The first inner round in the round `index` of the outer loop.
  NestPosition enter(mlir::OpBuilder &builder, mlir::Value index, mlir::ValueRange carried,
                     mlir::Value exists);

  mlir::scf::ForOp outer, inner;
  LoopSlice &innerSlice;
  LoopSlice outerSlice;
  llvm::SmallVector<Outside> outside;
  std::string reason;
};

} // namespace sectile::optimizer
