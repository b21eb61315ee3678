//===-- PrefetchLoads.h - loads of a loop, started one iteration ahead ------------------------===//
//   for i:                        x = load p, if there is an iteration
//     x = load p + i              for i, x:
//     y = reduce x         =>       ahead = load p + (i + 1), if that iteration exists
//     store q + i, y                y = reduce x
//                                   store q + i, y
//                                   yield ahead
//
// They wait in registers; where tiles take all of these, asynchronous copies take them to shared
// memory. So a program waits for memory while it works. It pays where threads meet in every
// iteration and few programs fit on a multiprocessor: 1.1 to 1.3 times the speed of row-by-row
// kernels on an H200. Loops with matrix products are left to PipelineLoops.
#pragma once

#include "lang/tile/SourcePlace.h"
#include "optimizer/gpu/GpuShape.h"
#include "optimizer/gpu/LoopWrites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::optimizer {

/// Of a kernel that is laid out. Adds to `apart` the arguments it takes to share no memory. Gives
/// the number of programs that registers should be few enough for on a multiprocessor; 0: no loop
/// is changed. Of each load in a loop without products a remark says what became of it.
int64_t prefetchLoads(mlir::func::FuncOp function, const GpuShape &shape, bool argumentsOverlap,
                      llvm::SmallVectorImpl<ApartArguments> &apart, lang::Remarks &remarks);

} // namespace sectile::optimizer
