//===-- PipelineLoops.h - loads of a loop, started iterations ahead ---------------------------===//
// A loop that loads tiles for matrix products gets them by asynchronous copies into buffers of
// `stageCount` stages: while one iteration computes, those after it are under way.
//
//   for i:                           copy 0, ... copy S-2
//     x = load p                     for i:
//     acc = dot convert x, ...         wait for copy i; barrier
//     p += step                        copy i + S-1 into the stage that iteration i-1 read
//                                      acc = dot (x of stage i), ...
//
// Whatever addresses and masks depend on runs S-1 iterations ahead in values of its own. A load
// qualifies when its tile is wanted only in other layouts (it goes through shared memory anyway),
// what is masked off is zero or undefined, its address follows from the loop's own arithmetic, and
// nothing that the loop writes may be what it reads. A loop may ask for stages of its own.
//
// Without asynchronous copies, loads go one iteration ahead through registers (StageLoads.h).
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Iterations of the loop that may be under way at once: what the kernel wishes of it
/// (tl.range(..., num_stages=4)), or what it was launched with.
int64_t stagesOf(mlir::scf::ForOp loop, int64_t otherwise);

/// --pipeline-loops=async=false,bytes=16,registers=65536,each=255,shared=49152,matrix=false,stages=3,
/// overlap=false: of a kernel that is laid out.
/// Loops where nothing qualifies stay as they are. Assumes that arguments share no memory, and
/// remarks on each tile that a loop with products loads.
std::unique_ptr<mlir::Pass> createPipelineLoops(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
