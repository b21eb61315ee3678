//===-- StageRoom.h - what shared memory and registers leave to a loop's stages ----------------===//
// How many stages a pipelined loop has is a question of what else a program keeps in shared memory
// while it runs, and of how many programs a multiprocessor then has room for.
//
//   StageRoom room(loop, shape, analysis);
//   room.programsWith(stages * bytes + room.still() + room.scratchBeside(loop, Pieces::Least))
#pragma once

#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::optimizer {

/// Registers of a thread besides those of the sums: addresses, and what is under way.
inline constexpr int64_t kOtherWords = 48;
/// The same of a loop with two products in a chain, as ptxas has them for attention.
inline constexpr int64_t kOtherWordsOfChains = 32;

class StageRoom {
public:
  StageRoom(mlir::scf::ForOp loop, const GpuShape &shape, const IndexAnalysis &analysis)
      : loop(loop), shape(shape), analysis(analysis) {}

  /// Bytes of the buffers that lie still in shared memory while the loop runs.
  int64_t still();
  /// Bytes of the buffers that the kernel's products outside of the loop read.
  int64_t otherBuffers();
  /// How stores that may be left to the copy engine count: as a whole, or as their least piece.
  enum class Pieces { Whole, Least };
  /// Shared memory that the most demanding operation in a loop takes.
  int64_t scratchBeside(mlir::Operation *stagesOwner, Pieces pieces) const;
  /// Shared memory that a program takes in a loop beside the stages if it takes turns with another:
  /// for what it stores, and for the most demanding operation besides.
  int64_t besideTurns(mlir::Operation *stagesOwner) const;
  /// Programs on a multiprocessor that each take so many bytes of shared memory.
  int64_t programsWith(int64_t bytes) const {
    return shape.sharedBytes / std::max<int64_t>(1, bytes);
  }
  /// The same, at least one, that registers suffice for if products take `words` of a thread.
  int64_t programsByRegisters(int64_t words, int64_t others = kOtherWords) const {
    return std::max<int64_t>(1, shape.registerWords / (shape.threadCount() * (words + others)));
  }

private:
  bool mayBeStoredByEngine(mlir::Operation *op) const;

  mlir::scf::ForOp loop;
  const GpuShape &shape;
  const IndexAnalysis &analysis;
};

} // namespace sectile::optimizer
