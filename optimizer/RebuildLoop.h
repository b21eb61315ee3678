//===-- RebuildLoop.h - the same loop with other carried values or bounds ---------------------===//
// A pass that changes what a loop carries, or which turns it makes, needs a new scf.for. Here it is
// made with all that the old one was besides: its signedness, its place, what the kernel wishes of
// it (tile.num_stages and the like).
//
//   scf::ForOp made = rebuildLoop(builder, loop, initial);   // its body is empty: no terminator
//   builder.setInsertionPointToStart(made.getBody());
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::optimizer {

/// First number, end and step of a loop.
struct LoopBounds {
  mlir::Value lower, upper, step;
  bool isUnsigned = false;

  static LoopBounds of(mlir::scf::ForOp loop) {
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), loop.getUnsignedCmp()};
  }
};

/// A loop through the same numbers, carrying `initial`, at the builder's place.
mlir::scf::ForOp rebuildLoop(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                             mlir::ValueRange initial);
/// The same loop, its body and results in place of the old one's, which carries `more` behind what
/// it carried. The terminator wants as many operands more.
mlir::scf::ForOp carryMore(mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::ValueRange more);
/// Lets all loops and branches around a loop carry more, from in front of the outermost one to that
/// loop and from behind it on.
class CarriedThrough {
public:
  /// The values that the outermost one is to begin with; `loop` itself stays as it is.
  CarriedThrough(mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::ValueRange initial);
  /// Returns what they are in front of the loop.
  mlir::ValueRange entering() const { return values; }
  /// Says what they are behind the loop.
  void leave(llvm::ArrayRef<mlir::Value> leaving);

private:
  llvm::SmallVector<mlir::Operation *, 2> around; // from the outermost on
  llvm::SmallVector<mlir::Value> values;
  mlir::Block *innermost;
};
/// A loop through other numbers.
mlir::scf::ForOp rebuildLoop(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                             const LoopBounds &bounds, mlir::ValueRange initial);

} // namespace sectile::optimizer
