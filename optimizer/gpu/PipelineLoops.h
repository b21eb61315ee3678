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
// qualifies when its tile is wanted only in other layouts or in a buffer (it goes through shared
// memory anyway), what is masked off is zero or undefined, its address follows from the loop's own
// arithmetic, and nothing that the loop writes may be what it reads. A loop may ask for stages of
// its own.
//
// A product that reads the stages itself (BufferProducts.h) stays under way from one iteration to
// the next where `carriedProduct` allows it: it is the loop's only one, and both operands are
// stages or lie still. The iteration then waits for the product before its own, and the loop is
// followed by a wait for the last one. The stage of the product before is free only behind that
// wait, so either there is one stage more than was asked for, and copies run S-1 ahead of S+1
// stages:
//
//   for i:                            for i:
//     x = to_buffer (load p)            wait for copy i; proxy fence; barrier
//     s = dot_async x, y, acc    =>     copy i + S-1 into the stage that product i-2 read
//     acc = dot_wait 0, s               acc = dot_async (stage of i), y, acc
//                                       dot_wait 1: product i-1 is done
//                                     acc = dot_wait 0, acc
//
// or, where that stage would leave shared memory for fewer programs on a multiprocessor, there are
// S stages. Copies then run S-2 ahead, if that is two and another program hides what they take, or
// all warps meet a second time, behind the wait, before the copies:
//
//   wait for copy i; proxy fence; barrier
//   acc = dot_async (stage of i), y, acc
//   dot_wait 1; barrier
//   copy i + S-1 into the stage that product i-1 read
//
// Where a load says which block of an array it reads, a copy engine may fill the stage
// (TensorCopies.h). One thread starts the copy, and memory barriers take the place of waits for the
// threads' own copies:
//
//   mbarrier_init full; proxy fence; barrier
//   for i:
//     wait for full[i mod S]; dot_async; barrier
//     expect full[i + S-1 mod S]; tensor_copy into the stage that product i-2 read
//     ...
//   barrier; mbarrier_end full
//
// Where products are of some of the warps only (`countsRounds`), a second ring of memory barriers
// takes the barrier's place, so that no warp waits for another one but that which starts copies:
//
//   for i:
//     wait for full[i mod S]; dot_async
//     the warp of copies: wait for over[i-1 mod S]
//     expect ...; tensor_copy ...
//     dot_wait; arrive at over[i mod S]
//
// The second of two products in a chain may run a round late (OverlapProducts.h); what it reads
// then has a stage more than what is read in its own round.
//
// A loop of such copies in another loop goes on across the rounds of that one (NestSlice.h):
// barriers are made before it, stages and phases are counted through, and the copies of the next
// round of the outer loop start while this one's last products, and what follows them, run. The
// stages then keep their bytes throughout the outer loop.
//
// Without asynchronous copies, loads go one iteration ahead through registers (StageLoads.h).
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Returns how many iterations of the loop may be under way at once: what the kernel wishes of it
/// (tl.range(..., num_stages=4)), or `otherwise`, what it was launched with.
int64_t stagesOf(mlir::scf::ForOp loop, int64_t otherwise);

/// --pipeline-loops=warps=4,lanes=32,async=false,maps=0,bytes=16,registers=65536,each=255,
/// shared=49152,matrix=false,stages=3,overlap=false: takes a kernel that is laid out, with its
/// products started. Loops where nothing qualifies stay as they are. The pass assumes that
/// arguments share no memory, but for overlap=true, and remarks on each tile that a loop with
/// products loads.
std::unique_ptr<mlir::Pass> createPipelineLoops(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
