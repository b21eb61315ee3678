//===-- TeamTurns.h - two programs of a block of threads that multiply by turns ---------------===//
// While a program stores its tile nothing multiplies, unless another program on the multiprocessor
// does. Two programs in blocks of their own have half of the stages each, too few to multiply at
// full speed alone, and nothing makes them end their tiles at different times. So where a block of
// threads runs several programs anyway (MakePersistent.h), it may have two teams of threads, whose
// programs use one ring of stages by turns:
//
//   team 0:  | products of 0 |  store 0  | products of 2 |  store 2  | ...
//   team 1:                  | products of 1 |  store 1  | products of 3 | ...
//
//   %t = tile.team_id
//   for %i = %worker + %t * %workers to %programs step 2 * %workers:
//     wait for turns[%t]
//     for k: wait for full[s]; dot_async; the warp of copies: wait for over[s - 1]; tensor_copy ...
//            dot_wait 1; arrive at over[s], but in the first round
//     arrive at turns[1 - %t]
//     dot_wait 0; arrive at over[s + 1]      for the other team's first round
//     store ...
//
// Rounds are counted through the programs of both teams: the team whose turn it is copies what the
// other one multiplies first, and each passes over the rounds of the other (NestSlice::skipRound).
// That the product of the round before is done, only the team knows that has started it; for the
// first round of a program that is the other one. Where a producer can (Producer.h), it starts the
// copies in place of the teams, and waits for the same.
#pragma once

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::optimizer {

/// The stages that programs which take turns have at least, if a thread has as many sums as
/// GpuShape::leastTurnWords; with more sums, over which a stage lasts longer, as many fewer. With
/// five, of 128x128x64 on an H200, two blocks of three stages each were as fast, and with four
/// faster.
inline constexpr int64_t kLeastStagesOfTurns = 6;

/// Whether the loop is that of a block of threads that runs several programs, and carries nothing
/// from one to the next.
bool isOfWorkers(mlir::scf::ForOp loop);
/// Whether two teams can go through the rounds of a kernel's own loop by turns, each through all
/// loops and branches around it: what the loop carries only counts its rounds, and the kernel
/// stores nothing, and orders nothing, but behind `inner` in the loop. What is accessed there keeps
/// its order from round to round (StoredRounds.h).
bool isSharedByRounds(mlir::scf::ForOp loop, mlir::scf::ForOp inner);

class TeamTurns {
public:
  /// The ring of stages has so many.
  TeamTurns(mlir::Location place, int64_t stageCount) : place(place), stageCount(stageCount) {}

  /// Makes the function one of two teams, and the memory barriers of their turns, at which `warps`
  /// arrive; the builder stands before the loop of programs.
  void make(mlir::OpBuilder &builder, mlir::func::FuncOp function, int64_t warps);
  /// Behind a meeting of all threads of the block: of what is before the first round of all the
  /// second team says that it is over.
  void begin(mlir::OpBuilder &builder, mlir::Value over);

  /// Returns the team's number; i32.
  mlir::Value number() const { return team; }
  /// Of this team and the other one; i1.
  mlir::Value isFirst() const { return isFirstTeam; }
  mlir::Value isSecond() const { return isSecondTeam; }

  /// Returns the parity of the phase that a team's first turn waits for.
  mlir::Value firstParity(mlir::OpBuilder &builder);
  void await(mlir::OpBuilder &builder, mlir::Value parity);
  void pass(mlir::OpBuilder &builder);

  /// Says how many rounds the inner loop has, at the builder's place.
  void countRounds(mlir::OpBuilder &builder, mlir::scf::ForOp inner);
  /// Says, in front of the loop, whose round its first one is: that of `number`, counted through
  /// all loops around, of which the teams have every other one; null: of 0. Returns the number of
  /// this team's first round.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::scf::ForOp programs, mlir::Value number);
  /// Whether the first round is the other team's; i1.
  mlir::Value isBehind() const { return isOfOther; }
  /// Returns the number of the next round behind the loop, whichever team's.
  mlir::Value numberBehind(mlir::OpBuilder &builder);
  /// Returns a stage and parity, those in front of the loop, behind it.
  std::pair<mlir::Value, mlir::Value> skipAll(mlir::OpBuilder &builder, mlir::Value stage,
                                              mlir::Value parity);
  /// Says behind the wait for the last product, where there was one, that the round before `stage`
  /// is over for the other team's first one.
  void endRounds(mlir::OpBuilder &builder, mlir::Value over, mlir::Value stage);
  /// Returns the stage, and the parity of its phase, so many rounds later.
  std::pair<mlir::Value, mlir::Value> skip(mlir::OpBuilder &builder, mlir::Value stage,
                                           mlir::Value parity);

  /// Lets each team go through its own programs, or rounds of a kernel's loop, alone. The memory
  /// barriers live as long as the block: a team that has no program left does not wait for the
  /// other one. Behind the loop, what it gives is what it gave.
  void share(mlir::OpBuilder &builder, mlir::scf::ForOp programs);

private:
  mlir::Value constant(mlir::OpBuilder &builder, int64_t number);
  std::pair<mlir::Value, mlir::Value> skip(mlir::OpBuilder &builder, mlir::Value stage,
                                           mlir::Value parity, mlir::Value rounds);
  /// Emits how many rounds the loop has, as a number of its index's type.
  mlir::Value roundsOf(mlir::OpBuilder &builder, mlir::scf::ForOp loop);
  /// Emits a whole number that is not negative as one of 32 bits, modulo an even `most`.
  mlir::Value modulo(mlir::OpBuilder &builder, mlir::Value number, int64_t most);

  mlir::Location place;
  int64_t stageCount;
  mlir::Value team, isFirstTeam, isSecondTeam, barriers;
  mlir::Value hasRounds; // i1
  mlir::Value rounds;    // i32, less what full turns of the ring and its parities are
  mlir::Value isOfOther; // i1
  mlir::Value first;     // the number of the loop's first round; null: 0
  mlir::Value tiles;     // the loop's rounds, of the type of its index; null: not asked for
};

} // namespace sectile::optimizer
