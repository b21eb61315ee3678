//===-- SharedMemoryPlan.h - where shared memory lies, and where barriers stand ---------------===//
// Made before code is emitted, from the laid-out kernel. Every op that moves elements between
// threads by way of shared memory says how many bytes of scratch it wants (`scratchBytes`); buffers
// that live longer are values of the IR, alive from the first use of them or of a view to the last,
// the wait for a product that reads them and the wait for all copies behind that included; where
// the end cannot be seen, throughout the kernel. Bytes are shared by what is never alive together,
// and an op has a barrier before it only if bytes it writes may still be read, or bytes it reads
// may still be written, by a thread that has not come past a barrier since; loops are followed
// round. So a store that fills a buffer anew, which products of the round before have read, has a
// barrier:
//
//   for i:
//     buffer_store x, %b      <- barrier before it: another warp's product may still read %b
//     barrier
//     dot_async %b, ...; dot_wait 0
//
//   SharedMemoryPlan plan = planSharedMemory(function, target);
//   plan.scratchOf(op)                 // byte offset; -1: it needs none
//   plan.needsBarrierBefore(op)
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "lang/tile/SourcePlace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sectile::gpu {

struct SharedMemoryPlan {
  int64_t bytes = 0;
  int64_t alignment = 128; // of the first byte; 1024 where products read buffers themselves
  int64_t voteOffset = -1; // of the bytes that votes take; -1: none
  /// Where programs share a block (tile.teams): what is there once comes first, and from here on
  /// each team has so many bytes of its own; offsets are those of the first team's.
  int64_t firstOfTeam = 0, teamBytes = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> scratch;
  llvm::DenseSet<mlir::Operation *> barriersBefore;

  int64_t scratchOf(mlir::Operation *op) const {
    auto found = scratch.find(op);
    return found == scratch.end() ? -1 : found->second;
  }
  bool needsBarrierBefore(mlir::Operation *op) const { return barriersBefore.contains(op); }
};

/// `voteBytes` are the kernel's (ScratchBytes.h): its own from beginning to end, as votes may stand
/// anywhere.
SharedMemoryPlan planSharedMemory(mlir::func::FuncOp function, const GpuTarget &target,
                                  int64_t voteBytes = 0);

/// Emits an error when the plan needs more than a block of the target has, with what would fit, and
/// fails; then a remark for each buffer and op that takes part: how many bytes, where.
mlir::LogicalResult checkSharedMemory(mlir::func::FuncOp function, const SharedMemoryPlan &plan,
                                      const GpuTarget &target);

/// Adds a remark for each buffer and op that takes part.
void noteSharedMemory(mlir::func::FuncOp function, const SharedMemoryPlan &plan,
                      const GpuTarget &target, lang::Remarks &remarks);

} // namespace sectile::gpu
