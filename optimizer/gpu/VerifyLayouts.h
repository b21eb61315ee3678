//===-- VerifyLayouts.h - do the layouts of every operation fit together? ---------------------===//
// What code generation relies on after AssignLayouts, checked. Types alone ensure some of it (an
// elementwise operation on different layouts does not verify); this is the rest. Runs at the end of
// AssignLayouts, and with SECTILE_VERIFY after every pass behind it.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Fails with a diagnostic at the first operation that breaks the contract of AssignLayouts.h.
mlir::LogicalResult verifyLayouts(mlir::func::FuncOp function, const GpuShape &shape);

/// --verify-layouts=warps=4,lanes=32,registers=65536,each=255,matrix=false,wgmma=false,fixed=false:
/// the same as a pass, which changes nothing.
std::unique_ptr<mlir::Pass> createVerifyLayouts(const GpuPipelineOptions &options = {});

} // namespace sectile::optimizer
