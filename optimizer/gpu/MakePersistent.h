//===-- MakePersistent.h - a block of threads runs several programs -----------------------------===//
// A kernel whose one loop is fed by the copy engine need not start anew for each program. A block
// of threads runs one program after another, and what the engine copies for the next one arrives
// while the last one ends (PipelineLoops.h: copies go on across the rounds of an outer loop).
//
//   %p = tile.program_id 0              %first = tile.worker_id
//   ... %p ...                          %workers = tile.num_workers
//   for k: ...                    ==>   %programs = tile.num_programs 0
//   tile.store ...                      for %i = %first to %programs step %workers:
//                                         %p = tile.program_id 0 of %i
//                                         ... %p ...
//                                         for k: ...
//                                         tile.store ...
//
// What follows from the arguments alone stays in front. A launch of such a kernel has as many
// blocks along x as run at a time, at most one for each program, and says how many programs there
// are (DeviceAbi.h, kHiddenPrograms). Programs keep their numbers, and the order in which they
// begin is nearly that of a launch with a block for each: where a kernel has numbers along y or z,
// its blocks share the programs of the whole grid (kHiddenGrid), and a round's number is taken
// apart into them. Shared by rows, 64 products of 1024 cubed were all under way at a time.
//
// Kernels stay as they are in which programs may wait for each other or are told apart by time
// (atomics whose result is used, barriers of all memory, volatile loads, text for the assembler
// with effects), in which a loop's length differs from program to program, as a block of threads
// with long ones would come last, in which a loop has several products and no producer would copy
// for the next program (attention, H200: with one 1.00 instead of 0.95 of cuDNN for 2048 keys,
// without 0.77 instead of 0.99), and where persistent=False says so.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --make-persistent=warps=4,maps=0,...: takes a kernel that is laid out, with its products
/// started.
std::unique_ptr<mlir::Pass> createMakePersistent(const GpuPipelineOptions &options = {},
                                                 GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
