//===-- StageLoads.h - tiles of the next round, through registers to shared memory ------------===//
// How PipelineLoops runs ahead on GPUs without asynchronous copies. What the products of a round
// read waits in a buffer; the loads of the next round are under way meanwhile, in registers:
//
//   for i:                        x = load p, if there is a round; store it to stage 0
//     x = load p                  for i, but not the last:
//     acc = dot convert x, ...      barrier
//     p += step             =>      x = load p + step
//                                   acc = dot (stage i mod 2), ...
//                                   store x to stage (i + 1) mod 2
//                                 if there is a round:
//                                   barrier
//                                   acc = dot (the last stage), ...
//
// Two stages take one barrier a round. Where they would leave too little shared memory for the
// programs that have registers there is one, and a second barrier in front of the stores. Where a
// thread has too few registers to hold the next round, the loop stays one, and its loads go to the
// buffers in the round that reads them: products then read step by step, and no operand fills the
// registers.
//
// Where the copies of whole warps (AsyncKind::WholeWarps) put a tile so that the product reads it
// without bank conflicts (lang/layout/WarpCopies.h; ChooseLayouts sees to that), one takes the
// place of its load and store. It goes to the other stage, so there are two:
//
//   for i, but not the last:
//     wait for copies; barrier
//     copy p + step to stage (i + 1) mod 2
//     acc = dot (stage i mod 2), ...
#pragma once

#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Returns why a tile that is loaded in a loop should not wait in shared memory; empty: it may,
/// because products want it in other layouts or in buffers, and nothing else wants it.
std::string whyNotStaged(tile::LoadOp load, mlir::scf::ForOp loop);

/// Rewrites a laid-out loop of a kernel, and remarks on each tile that a loop with products loads.
/// A loop where nothing qualifies stays as it is.
/// `analysis` is asked only where whole warps copy, and may be null elsewhere.
void stageLoads(mlir::scf::ForOp loop, const GpuShape &shape, const IndexAnalysis *analysis,
                const LoopWrites &writes, GpuAssumptions &assumed);

} // namespace sectile::optimizer
