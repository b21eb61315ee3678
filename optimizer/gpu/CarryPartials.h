//===-- CarryPartials.h - sums and extrema of a loop, combined among threads behind it --------===//
// A loop that adds sums of tiles to what it carries combines the numbers of all threads in each
// round. Where nothing else in the loop wants the sum, each thread carries its own part, and the
// threads combine theirs once:
//
//   for, carrying t = 0:                          for, carrying p = 0, a tile of one number of each
//     s = reduce add x, axis                        thread that holds some of the axis:
//     t = t * f + s                   ==>           s = reduce add (reshape x), what registers hold
//                                                   p = p * broadcast f + s
//                                                 t = reduce add p, what is left of the axis
//
// `f` is left out, or is the same for all that a sum is made of: attention's sums of weights, which
// become smaller as the maximum grows. Maxima and minima go the same way, from any constant. Parts
// take as many registers as results, of which all threads had copies. The order in which numbers
// are combined changes, so floating-point numbers are left alone where that is not allowed.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Does so in one loop.
void carryPartials(mlir::scf::ForOp loop, const GpuShape &shape);

/// --carry-partials=fixed=false,exact=false
std::unique_ptr<mlir::Pass> createCarryPartials(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
