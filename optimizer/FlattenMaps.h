//===-- FlattenMaps.h - functions of elements as operations on tiles --------------------------===//
// A map whose function neither loops nor meets anything that must not run needlessly becomes the
// same operations on whole tiles; its branches become selections of what both sides compute:
//
//   tile.map(%x) { ^bb0(%a): %r = scf.if (%a > 0) { yield %a } else { yield exp(%a) } ; yield %r }
//   ==>
//   %e = math.exp %x
//   %r = arith.select (%x > 0), %x, %e
//
// Then vectors do it, and layouts, nests and masks are those of any elementwise operation. A map
// with a loop stays one; its function runs for each element by itself.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --flatten-maps
std::unique_ptr<mlir::Pass> createFlattenMaps();

} // namespace sectile::optimizer
