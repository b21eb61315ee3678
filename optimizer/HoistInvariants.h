//===-- HoistInvariants.h - what a loop computes anew each time leaves it ---------------------===//
// Pure operations whose operands come from outside a loop move before it, inner loops first. A loop
// with tile.disable_licm keeps its own (tl.range(..., disable_licm=True)): a value that is cheap to
// compute again may cost registers through a long loop.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --hoist-invariants
std::unique_ptr<mlir::Pass> createHoistInvariants();

} // namespace sectile::optimizer
