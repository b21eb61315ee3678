//===-- StageRings.h - the stages that a producer fills ----------------------------------------===//
// Loads whose stages are free at the same time have a ring of them. The program waits for the bytes
// of a stage, and says when they are read, of each ring for itself; the producer waits for that,
// and fills the stage again. Both count through the rounds of all loops around.
//
//   StageRings rings(plan);
//   rings.makeBarriers(builder);
//   rings.makeProducer(builder, stored);              // in front of the outermost loop
//   running = rings.first(builder);                   // a round's stages and phases: what loops carry
//   rings.enter(running); ... rings.awaitBytes(builder, ring) ...; running = rings.next(builder);
#pragma once

#include "optimizer/gpu/StagePlan.h"
#include "optimizer/gpu/StoredRounds.h"

namespace sectile::optimizer {

/// Says how many bytes of those loads the stage's memory barrier is to wait for.
void announceBytes(mlir::OpBuilder &builder, llvm::ArrayRef<const AsyncLoad *> loads,
                   mlir::Value barriers, mlir::Value stage, mlir::Value exists);

/// Returns the stage behind one of a ring of so many; and whether that is the last; and a parity
/// that changes where the condition is true.
mlir::Value nextStage(mlir::OpBuilder &builder, mlir::Location place, mlir::Value stage,
                      int64_t count);
mlir::Value isLastStage(mlir::OpBuilder &builder, mlir::Location place, mlir::Value stage,
                        int64_t count);
mlir::Value flipped(mlir::OpBuilder &builder, mlir::Location place, mlir::Value parity,
                    mlir::Value condition);

struct StageRing {
  llvm::SmallVector<const AsyncLoad *, 2> loads = {};
  int64_t count = 1;                   // of its stages
  bool isReadOn = false;               // in the round behind the one that the stage is of
  mlir::Value full = {}, over = {};    // memory barriers of the stages
  mlir::Value stage = {}, parity = {}; // of the round
};

class StageRings {
public:
  /// The plan's loads have their buffers.
  explicit StageRings(StagePlan &plan);

  /// Makes the memory barriers where the builder stands.
  void makeBarriers(mlir::OpBuilder &builder, int64_t warps);
  /// Lets a thread beside the program start the copies of all rounds, each when what its stage had
  /// is read; `stored` is null where it reads nothing that the kernel stores.
  void makeProducer(mlir::OpBuilder &builder, StoredRounds *stored);

  /// Returns a round's stage and parity of each ring, the first one's.
  llvm::SmallVector<mlir::Value> first(mlir::OpBuilder &builder);
  void enter(mlir::ValueRange state);
  llvm::SmallVector<mlir::Value> next(mlir::OpBuilder &builder);
  void awaitBytes(mlir::OpBuilder &builder, const StageRing &ring);

  /// Those that are read a round longer come first.
  llvm::SmallVector<StageRing, 2> rings;
  /// Of the loads around the loop.
  std::optional<StageRing> around;

private:
  mlir::Value constant(mlir::OpBuilder &builder, int64_t number, bool isBit = false);
  /// In the producer: starts the copies of a round that `there` has the numbers of, when all are
  /// through with that phase of the stage `read`.
  void fill(mlir::OpBuilder &builder, const StageRing &ring, mlir::Value read, mlir::Value parity,
            const mlir::IRMapping &there);
  void fillAll(mlir::OpBuilder &builder, const mlir::IRMapping &there);
  /// In the producer: waits until all copies have landed that it has started in the rounds before.
  void awaitAll(mlir::OpBuilder &builder);
  /// In the producer: describes the arrays whose addresses are loaded, for the time of number
  /// `turn`, where so many `rounds` were filled since the time before.
  void describe(mlir::OpBuilder &builder, mlir::IRMapping &there, mlir::Value turn,
                mlir::Value rounds);

  StagePlan &plan;
};

} // namespace sectile::optimizer
