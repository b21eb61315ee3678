//===-- VerifyLayouts.h - do the layouts of every operation fit together? ---------------------===//
// What code generation relies on after AssignLayouts, checked. Types alone ensure some of it (an
// elementwise operation on different layouts does not verify); this is the rest.
#pragma once

#include "optimizer/gpu/GpuShape.h"

namespace sectile::optimizer {

/// Fails with a diagnostic at the first operation that breaks the contract of AssignLayouts.h.
mlir::LogicalResult verifyLayouts(mlir::func::FuncOp function, const GpuShape &shape);

} // namespace sectile::optimizer
