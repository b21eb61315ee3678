//===-- Producer.h - a thread beside the program starts a loop's copies -----------------------===//
// Where threads of the program start the copies that later rounds read, they wait until all warps
// are through with a round before, and keep their group of warps from its own products meanwhile.
// A thread of the block that does nothing else may wait, and groups then drift apart freely: one
// multiplies while another computes softmax. H200, attention of 128 wide heads in blocks of
// 128x128, the same kernel written by hand with and without: 1.05 and 0.95 to 0.98 of cuDNN.
//
//   tile.producer {                              // beside:
//     for i: wait for over[..]; mbarrier_expect full[s]; tensor_copy ... full[s]
//   }
//   for i: wait for full[s]; products ...; arrive at over[s]
//
// What the producer computes it computes for itself: numbers that follow from arguments and from
// what program this is. Around the loop there may be one more, in each of whose rounds a producer
// may also copy what products of all inner rounds read (attention's queries):
//
//   for p: wait for over_q; expect full_q; tensor_copy ... full_q     // beside
//     for i: ...
//   for p: wait for full_q; for i: ...; arrive at over_q; store ...
//
// Where two programs take turns (TeamTurns.h) it copies for both, in the order of their turns.
#pragma once

#include "optimizer/gpu/LoopSlice.h"

namespace sectile::optimizer {

class Producer {
public:
  /// `outer` is the loop around `loop`, or null; `slice` is of `loop`, has what copies need, and
  /// stays as it is.
  Producer(mlir::scf::ForOp outer, mlir::scf::ForOp loop, LoopSlice &slice);

  /// Whether a producer can compute what copies need. Otherwise the reason is whyNot(), for a
  /// remark.
  bool isComplete() const { return reason.empty(); }
  const std::string &whyNot() const { return reason; }

  /// Emits what a round does, which `there` has the slice of, and returns its state for the next
  /// one.
  using Round = llvm::function_ref<llvm::SmallVector<mlir::Value>(const mlir::IRMapping &there,
                                                                  mlir::ValueRange state)>;
  /// Computes these numbers of the loop around, too, in each of its rounds. False where it cannot.
  bool addAround(llvm::ArrayRef<mlir::Value> values);
  /// Emits what a round of the loop around begins with, which `there` has the slice of; `parity` is
  /// 0 in the first, 1 in the second, and so on.
  using AroundRound = llvm::function_ref<void(const mlir::IRMapping &there, mlir::Value parity)>;
  /// Makes the operation, in front of the outermost of the loops, where the builder stands; it is
  /// behind it then. `begin` emits the first round's state.
  void make(mlir::OpBuilder &builder, llvm::function_ref<llvm::SmallVector<mlir::Value>()> begin,
            Round round, AroundRound aroundRound);

private:
  std::string find();
  /// Whether the number, from outside of the loops, can be computed again.
  bool mayRepeat(mlir::Value value) const;
  /// Computes it again, and what it is made of.
  mlir::Value repeat(mlir::OpBuilder &builder, mlir::Value value, mlir::IRMapping &repeated) const;
  /// What the slices and bounds of the loops take from outside of them.
  llvm::SmallVector<mlir::Value> outside() const;
  /// The rounds of `loop`, at the builder's place; returns the state behind the last.
  llvm::SmallVector<mlir::Value> makeRounds(mlir::OpBuilder &builder, mlir::IRMapping values,
                                            mlir::ValueRange state, Round round);

  mlir::scf::ForOp outer, loop;
  LoopSlice &slice;
  std::optional<LoopSlice> outerSlice;
  llvm::SmallVector<mlir::Value> ofAround; // from outside of both loops
  std::string reason;
};

} // namespace sectile::optimizer
