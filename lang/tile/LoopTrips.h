//===-- LoopTrips.h - how many turns a loop of constant bounds makes --------------------------===//
// MLIR's own count goes wrong where a signed loop covers more than half of its type's numbers, and
// where an unsigned loop has a constant step of more than half: it takes such loops for empty, and
// its canonicalization removes them. `addLoopPatterns` rewrites them first:
//
//   scf.for %i = -2147483648 to 2147483647 step 1073741824   ==>   scf.for unsigned %t = 0 to 4 step 1
//                                                                    %i = -2147483648 + %t * 1073741824
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace sectile::tile {

/// Returns the turns of a loop with constant bounds and step, as an unsigned number as wide as the
/// bounds; nullopt when one of them is no constant, or the step is 0.
std::optional<llvm::APInt> constantTrips(mlir::scf::ForOp loop);

/// Adds the canonicalization above, which goes before MLIR's.
void addLoopPatterns(mlir::RewritePatternSet &patterns);

} // namespace sectile::tile
