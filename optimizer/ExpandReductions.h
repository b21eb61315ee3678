//===-- ExpandReductions.h - combining functions with effects ---------------------------------===//
// What combines elements without effects may do so for lanes that hold nothing, or twice for
// copies. A function that stores, prints, counts or asserts must meet each pair once; a reduce or
// scan with such a function becomes steps on tiles:
//
//   reduce   neighbours are combined, then the results:    x0.x1  x2.x3  x4        2 pairs
//                                                          x0.x1.x2.x3   x4        1 pair
//                                                          x0.x1.x2.x3.x4          1 pair
//   scan     the last of a finished run is combined with   x0  x0.x1  x2  x2.x3    2 pairs
//            each of the run after it                      .. x0.x1.x2  x0.x1.x2.x3  2 pairs
//
// A reduce of n elements combines n - 1 pairs; a scan about n/2 log2(n). The order of elements is
// kept.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --expand-reductions
std::unique_ptr<mlir::Pass> createExpandReductions();

} // namespace sectile::optimizer
