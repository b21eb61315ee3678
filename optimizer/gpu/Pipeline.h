//===-- Pipeline.h - the passes all GPU back ends share, in order -----------------------------===//
// Optimised, layout-free tile IR -> laid-out tile IR that backends/gpu emits. Pipeline.cpp says why
// the passes stand in their order.
#pragma once

#include "lang/tile/SourcePlace.h"
#include "optimizer/gpu/GpuShape.h"
#include "optimizer/gpu/LoopWrites.h"

namespace sectile::optimizer {

struct GpuPipelineOptions {
  GpuShape shape;
  /// Buffers of a pipelined loop (num_stages).
  int64_t stageCount = 3;
  /// Loads of later iterations may start early.
  bool runAhead = true;
  /// Any two arguments may share memory.
  bool argumentsOverlap = false;
};

/// What the laid-out kernel counts on, and what is to be said of it.
struct GpuAssumptions {
  llvm::SmallVector<ApartArguments> apart;
  /// Registers should be few enough for so many programs on a multiprocessor; 0: as it comes.
  int64_t programs = 0;
  /// What runs ahead and what does not, and why.
  lang::Remarks remarks;
};

/// On failure the context has the diagnostics. `time` (may be null) is called with the name and
/// seconds of every pass.
mlir::FailureOr<GpuAssumptions>
optimizeForGpu(mlir::func::FuncOp function, const GpuPipelineOptions &options,
               llvm::function_ref<void(llvm::StringRef, double)> time = {});

/// Makes the passes known to `sectile opt` and to textual pipelines. May be called more than once.
void registerGpuPasses();

} // namespace sectile::optimizer
