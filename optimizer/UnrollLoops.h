//===-- UnrollLoops.h - several turns of a loop as one ----------------------------------------===//
// tl.range(..., loop_unroll_factor=2): two copies of the body follow each other, and a second loop
// makes the turns that are left over.
//
//   scf.for %i = %lo to %hi step %s {          %n = turns of the loop, %m = %n - %n % 2
//     body(%i)                                 scf.for unsigned %k = 0 to %m step 2 {
//   }                                            body(%lo + %k * %s)
//                                       ==>      body(%lo + (%k + 1) * %s)
//                                              }
//                                              scf.for unsigned %k = %m to %n step 1 {
//                                                body(%lo + %k * %s)
//                                              }
//
// Turns are counted, and not indices, because the index behind the last turn may be no number of
// its type. The second loop loads nothing ahead: it has few turns, and stages in shared memory of
// its own would be taken from the first.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --unroll-loops
std::unique_ptr<mlir::Pass> createUnrollLoops();

} // namespace sectile::optimizer
