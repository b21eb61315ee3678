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
// The producer goes through all loops and branches around that loop (ProgramSlice.h), and computes
// for itself what copies take: numbers that follow from arguments, from what program this is, and
// from numbers that the kernel loads. Around the loop it may also copy what products of all its
// rounds read (attention's queries):
//
//   for p: wait for over_q; expect full_q; tensor_copy ... full_q     // beside
//     for i: ...
//   for p: wait for full_q; for i: ...; arrive at over_q; store ...
//
// Where two programs take turns (TeamTurns.h) it copies for both, in the order of their turns. Of a
// list of products whose addresses are loaded it edits the maps (EditMaps.h), ahead of the program
// (StoredRounds.h).
#pragma once

#include "optimizer/gpu/ProgramSlice.h"

namespace sectile::optimizer {

class Producer {
public:
  /// `mayLoad` says which loads of numbers it may repeat, early.
  Producer(mlir::scf::ForOp loop, std::function<bool(tile::LoadOp)> mayLoad);

  /// Whether a producer can go where the loop is. Otherwise the reason is whyNot(), for a remark.
  bool isComplete() const { return reason.empty(); }
  const std::string &whyNot() const { return reason; }

  /// Lets it do something in front of `place`, which takes these numbers. False where it cannot
  /// compute them.
  bool add(llvm::ArrayRef<mlir::Value> values, mlir::Operation *place);
  /// Returns the operation of the function's body that the loop is in.
  mlir::Operation *outermost() const { return around; }
  llvm::SmallVector<tile::LoadOp> loads() const { return slice->loads(); }

  /// Makes the operation where the builder stands, which is behind it then. The builder stands at
  /// each step's place when that is called. `begin` emits what is before the first one, and returns
  /// the state; `end` emits what is behind the last.
  /// A thread of the program wants so many `words` of registers.
  void make(mlir::OpBuilder &builder, int64_t words,
            llvm::function_ref<ProgramSlice::State()> begin, const ProgramSlice::Steps &steps,
            llvm::function_ref<void(const ProgramSlice::State &)> end);

private:
  /// Whether the number, from outside of the loops, can be computed again.
  bool mayRepeat(mlir::Value value) const;
  /// Computes it again, and what it is made of.
  mlir::Value repeat(mlir::OpBuilder &builder, mlir::Value value, mlir::IRMapping &repeated) const;

  mlir::Operation *around;
  std::function<bool(tile::LoadOp)> mayLoad;
  std::optional<ProgramSlice> slice;
  std::string reason;
};

} // namespace sectile::optimizer
