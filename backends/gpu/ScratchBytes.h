//===-- ScratchBytes.h - shared memory that an op wants while it runs -------------------------===//
// What SharedMemoryPlan.h places. One case per op family, each from what plans its emission: there
// is no other record.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::gpu {

/// 0: none.
int64_t scratchBytes(mlir::Operation *op, const GpuTarget &target);

/// Whether threads vote if the op may be carried out: an assertion, a checked access.
bool isVotedOn(mlir::Operation *op, const backends::CompileOptions &options);
/// Shared memory for all votes of the kernel; 0: there is none, or votes take none.
int64_t voteBytes(mlir::func::FuncOp function, const GpuTarget &target,
                  const backends::CompileOptions &options);

} // namespace sectile::gpu
