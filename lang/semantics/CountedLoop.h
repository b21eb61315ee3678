//===-- CountedLoop.h - a loop over range(start, end, step), through Python's numbers ---------===//
// Both front ends make their counted loops here. A loop runs through the same numbers as Python's
// range(), whatever the types of its bounds and step are, wherever in these types they lie, and
// whichever of them are known only at run time.
//
//   FailureOr<CountedLoop> range = CountedLoop::make(sema, start, end, step);
//   scf::ForOp loop = range->open(sema, initial);   // the builder now stands in its empty body
//   Value index = range->index(sema);
//   ... the body
//   loop = range->close(sema, next);                // the next values of those carried
//
// A body that may leave the loop (by a break) is closed by endEarly instead. It makes the loop
// over:
//
//   scf.while (%goes = start < end, %i = start, carried...) {
//     scf.condition(%goes) %i, carried...
//   } do {
//     ... the body
//     scf.yield !leaves and (end - %i unsigned> step), %i + step, next...
//   }
//
// The counter of the loop has a type that holds every number that start and end may be: the type
// that they and the step promote to (lang/README.md, Promotion), the same with the other sign, or
// twice as wide. The index has the promoted type; a number that it does not hold wraps, as in a
// cast.
//
//   the step is           the loop                                        the index
//   positive for sure     scf.for %i = start to end step step             %i
//   a negative constant   scf.for %t = end to start step -step            start - %t + end
//   anything else         scf.for unsigned %t = 0 to |end - start|        start + %t or start - %t
//                                 step |step|
//
// In the last kind of loop the direction is chosen at run time, and |end - start| is 0 where end
// does not lie in that direction. Kernels seldom have one: the step is an argument there, or
// computed from some. A step that is 0 at run time makes no turn; with assertions (debug=True) it
// is an error. A constant 0 is an error when the kernel is compiled.
//
// Neither scf.for nor what back ends make of it may overflow: a turn follows if index + step < end
// as numbers, not as integers of so many bits.
#pragma once

#include "lang/semantics/Semantics.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::lang {

class CountedLoop {
public:
  /// Emits what the loop needs before it. Reports bounds and steps that are no integers, a step
  /// that is the constant 0, and bounds that no one type holds.
  static mlir::FailureOr<CountedLoop> make(Semantics &sema, const Operand &start,
                                           const Operand &end, const Operand &step);

  /// Makes the loop, without a terminator, and sets the builder to the end of its body.
  mlir::scf::ForOp open(Semantics &sema, llvm::ArrayRef<mlir::Value> initial);

  /// Ends the body at the builder's place: `next` are the values carried to the next turn. Values
  /// that turned out to be carried while the body was made come last, by what they are before the
  /// loop and after a turn.
  mlir::scf::ForOp close(Semantics &sema, llvm::ArrayRef<mlir::Value> next,
                         llvm::ArrayRef<mlir::Value> furtherInitial = {},
                         llvm::ArrayRef<mlir::Value> furtherNext = {});
  /// The same for a loop that ends after a turn where `leaves`. The index of the turn is the first
  /// result, which no caller has a use for; what is carried follows.
  mlir::scf::WhileOp endEarly(Semantics &sema, mlir::Value leaves, llvm::ArrayRef<mlir::Value> next,
                              llvm::ArrayRef<mlir::Value> furtherInitial = {},
                              llvm::ArrayRef<mlir::Value> furtherNext = {});

  /// Whether there is a turn; emitted at the builder's place.
  mlir::Value isEntered(Semantics &sema) const;
  /// Whether it is known at compile time that there is a turn.
  bool isSurelyEntered() const;
  /// What the induction variable is in the first turn.
  mlir::Value first() const { return lower; }

  /// The number of the current turn, emitted at the builder's place in the body of the loop.
  Value index(Semantics &sema) const;

private:
  class Maker;

  DType indexType;
  /// Bounds and step of the scf.for.
  mlir::Value lower, upper, step;
  bool isUnsigned = false;

  /// From the induction variable of the scf.for to the index.
  enum class Mapping {
    Itself,
    Mirrored, // start - t + end
    Upward,   // start + t
    Downward, // start - t
    Either,   // start + t * direction
  };
  Mapping mapping = Mapping::Itself;
  mlir::Value start, end, direction;
  mlir::scf::ForOp loop;
};

} // namespace sectile::lang
