//===-- PrefetchLoads.h - loads of a loop, started one iteration ahead ------------------------===//
//   for i:                        x = load p, if there is an iteration
//     x = load p + i              for i, x:
//     y = reduce x         =>       ahead = load p + (i + 1), if that iteration exists
//     store q + i, y                y = reduce x
//                                   store q + i, y
//                                   yield ahead
//
// They wait in registers; where tiles take all of these, asynchronous copies take them to shared
// memory. So a program waits for memory while it works. It pays where threads exchange data in
// every iteration and few programs fit on a multiprocessor: 1.1 to 1.3 times the speed of
// row-by-row kernels on an H200. Loops with matrix products are left to PipelineLoops.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --prefetch-loads=warps=4,lanes=32,bytes=16,registers=65536,shared=49152,async=false,overlap=false:
/// of a kernel that is laid out. Assumes that arguments share no memory, and sets the number of
/// programs where it changes a loop. A remark says what became of each load in a loop without
/// products.
std::unique_ptr<mlir::Pass> createPrefetchLoads(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
