//===-- ExactMath.h - no approximations -------------------------------------------------------===//
// Takes the permission to approximate off every operation (`fastmath<afn>`), and multiplies fp32 as
// fp32 (`dot` with the precision ieee), whatever a kernel asks for: numerics="strict".
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --exact-math
std::unique_ptr<mlir::Pass> createExactMath();

} // namespace sectile::optimizer
