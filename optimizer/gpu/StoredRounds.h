//===-- StoredRounds.h - what a producer reads that the program may have stored ----------------===//
// A producer (Producer.h) is ahead of the program, by up to all stages. Where the kernel stores
// through addresses that it has loaded, as products of a list do, what the producer reads may be
// what the program has yet to store. So the program says at the end of each round of the loop of
// tiles, and of that loop, that what it has stored is there, and the producer waits for it where it
// finds that the bytes meet:
//
//   tile.producer {
//     for g: (visit v of the loop of tiles)
//       %m = load ...               // in front of it: if stored bytes are read, wait for left[v - 1]
//       if arrays that are read meet what was stored: wait for left[v - 1];  %map = tensor_map ...
//       for t: (round n)
//         wait for stored[n - 2]; if arrays that are read meet those that are stored: stored[n - 1]
//         for k: ... tensor_copy ...
//       wait for left[v - 1]
//   }
//   for g:
//     for t: for k: ... ; store ...; if they meet: tensor_store_wait written; arrive at stored[n]
//     tensor_store_wait written; arrive at left[v]
//
// Rounds and visits are counted across all loops around. Two memory barriers take turns for either,
// and the producer waits for each phase but the last one: its parity names the last one.
// What a producer loads of the list in a round, and the program stores over in the same one, is
// read in either order where the round has no product to wait for.
//
// Where two teams go through the rounds by turns (TeamTurns.h), each also waits for the other one's
// round before, in front of what it stores itself: memory gets what it got.
#pragma once

#include "optimizer/gpu/ApartArrays.h"
#include "optimizer/gpu/Producer.h"
#include "optimizer/gpu/TeamTurns.h"

namespace sectile::optimizer {

class StoredRounds {
public:
  /// `outer` is the loop of tiles, which `apart` is of: nothing where the producer reads nothing
  /// that the kernel stores. `guarded` are its loads of what the kernel may store, in front of that
  /// loop.
  StoredRounds(mlir::scf::ForOp outer, const std::optional<ArraysApart> &apart,
               llvm::ArrayRef<tile::LoadOp> guarded, int64_t teams)
      : outer(outer), apart(apart), guarded(guarded), teams(teams) {}

  /// Makes the memory barriers where the builder stands, at which `warps` of each team arrive.
  void makeBarriers(mlir::OpBuilder &builder, int64_t warps);

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
  /// In the round of that number: waits until the other team has stored the one before.
  void awaitOtherTeam(mlir::OpBuilder &builder, mlir::Value number);
  /// At the end of the round of that number; returns the team's next one.
  mlir::Value endRound(mlir::OpBuilder &builder, mlir::Value number);
  /// Behind the loop, at the end of the visit of that number; returns the next one.
  mlir::Value leave(mlir::OpBuilder &builder, mlir::Value visit);

private:
  mlir::Value constant(mlir::OpBuilder &builder, int64_t number);
  mlir::Value add(mlir::OpBuilder &builder, mlir::Value number, int64_t more);
  mlir::Value placeOf(mlir::OpBuilder &builder, mlir::Value number);
  /// Waits for the phase of that number, less `before`.
  void await(mlir::OpBuilder &builder, mlir::Value barriers, mlir::Value number, int64_t before);
  /// The same if there is reason to; copies then see what was stored.
  void awaitIf(mlir::OpBuilder &builder, mlir::Value reason, mlir::Value barriers,
               mlir::Value number, int64_t before);

  mlir::scf::ForOp outer;
  std::optional<ArraysApart> apart;
  llvm::SmallVector<tile::LoadOp> guarded;
  int64_t teams;
  mlir::Value stored, left; // memory barriers
  mlir::Value areApart;     // in the program; null: they are, as far as anything asks
};

} // namespace sectile::optimizer
