//===-- StoredRounds.h - what a producer reads that the program may have stored ----------------===//
// A producer (Producer.h) is ahead of the program, by up to all stages. Where the kernel stores
// through addresses that it has loaded, as products of a list do, what the producer reads may be
// what the program has yet to store. So the program says at the end of each round of the loop of
// tiles, and once more behind that loop, that the round's stores are done, and the producer waits
// for it where it finds that the bytes meet:
//
//   tile.producer {
//     for g: %m = load ...                        // in front of it: wait if stored bytes are read
//       wait if the arrays that are read meet those stored before; %map = tensor_map ...
//       for t:
//         wait for the round before the last; for the last, if arrays read meet those stored
//         for k: ... tensor_copy ...
//   }
//   for g: ...
//     for t: for k: ... ; store ...; if they meet: tensor_store_wait written; arrive at stored[n]
//     tensor_store_wait written; arrive at stored[n]
//
// Rounds are counted (n) across the loops around, two memory barriers take turns, and the producer
// is never two rounds of tiles ahead, so that a phase's parity names it. What a producer loads of
// the list in a round, and the program stores over in the same one, is read in either order where
// the round has no product to wait for.
#pragma once

#include "optimizer/gpu/ApartArrays.h"
#include "optimizer/gpu/Producer.h"
#include "optimizer/gpu/TeamTurns.h"

namespace sectile::optimizer {

class StoredRounds {
public:
  /// `outer` is the loop of tiles, which `apart` is of; `guarded` are the producer's loads of what
  /// the kernel may store, in front of that loop.
  StoredRounds(mlir::scf::ForOp outer, const ArraysApart &apart,
               llvm::ArrayRef<tile::LoadOp> guarded)
      : outer(outer), apart(apart), guarded(guarded) {}

  /// Makes the memory barriers where the builder stands, at which `warps` of a program arrive; of
  /// `teams` of them each arrives at its own.
  void makeBarriers(mlir::OpBuilder &builder, int64_t warps, int64_t teams);

  //-- In the producer ----------------------------------------------------------------------------

  /// Appends its part of the state.
  void begin(mlir::OpBuilder &builder, ProgramSlice::State &state);
  /// Adds its steps, to which `enter` belongs where the loop of tiles begins. Its part of the state
  /// begins at `first`.
  void addSteps(mlir::OpBuilder &builder, size_t first, ProgramSlice::Step enter,
                ProgramSlice::Steps &steps);

  //-- In the program -----------------------------------------------------------------------------

  /// In front of the loop of tiles, which is `outer` now: looks where the arrays lie.
  void enter(mlir::OpBuilder &builder, mlir::scf::ForOp outer);
  /// At the end of the round of that number; returns the next one's.
  mlir::Value endRound(mlir::OpBuilder &builder, mlir::Value number);
  /// Behind the loop, likewise.
  mlir::Value leave(mlir::OpBuilder &builder, mlir::Value number);

private:
  mlir::Value constant(mlir::OpBuilder &builder, int64_t number);
  mlir::Value add(mlir::OpBuilder &builder, mlir::Value number, int64_t more);
  mlir::Value placeOf(mlir::OpBuilder &builder, mlir::Value number);
  void arrive(mlir::OpBuilder &builder, mlir::Value number);
  /// Waits until the round `before` that one has stored.
  void await(mlir::OpBuilder &builder, mlir::Value number, int64_t before);
  /// Waits until all rounds have stored that the producer has gone through, if there is reason to.
  void awaitAllIf(mlir::OpBuilder &builder, mlir::Value reason, mlir::Value number);

  mlir::scf::ForOp outer;
  ArraysApart apart;
  llvm::SmallVector<tile::LoadOp> guarded;
  int64_t teams = 1;
  mlir::Value stored;   // memory barriers
  mlir::Value areApart; // in the program
};

} // namespace sectile::optimizer
