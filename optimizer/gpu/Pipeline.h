//===-- Pipeline.h - the passes all GPU back ends share, in order -----------------------------===//
// Optimised, layout-free tile IR -> laid-out tile IR that backends/gpu emits. Pipeline.cpp gives
// the reasons for the order.
#pragma once

#include "optimizer/gpu/GpuPass.h"

#include "mlir/Pass/PassManager.h"

namespace sectile::optimizer {

/// Adds the passes to a pass manager on func.func. What they assume goes to `assumed`, which may be
/// null.
void buildGpuPipeline(mlir::OpPassManager &passes, const GpuPipelineOptions &options,
                      GpuAssumptions *assumed);

/// Runs them. On failure the context has the diagnostics. `time` (may be null) is called with the
/// name and seconds of every pass.
mlir::FailureOr<GpuAssumptions>
optimizeForGpu(mlir::func::FuncOp function, const GpuPipelineOptions &options,
               llvm::function_ref<void(llvm::StringRef, double)> time = {});

/// Makes the passes known to `sectile opt` and to textual pipelines. May be called more than once.
void registerGpuPasses();

} // namespace sectile::optimizer
