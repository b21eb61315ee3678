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
// Functions that branch or loop are treated in the same way, since emitters of reductions know
// neither: branches become selections, what has effects in them is masked, a function that loops,
// which has none, becomes a tile.map.
//
// With `fixOrders` (numerics="reproducible") the same is done where the order in which elements
// meet may change the result, which layouts and vectors decide elsewhere. The steps above depend on
// the extent alone, and elements at the end that change nothing change no bit: a row of 1,000
// elements has one sum in blocks of 1,024 and of 2,048. The scans are those of J. Sklansky,
// Conditional-Sum Addition Logic, IRE Transactions on Electronic Computers EC-9, 1960.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --expand-reductions, --expand-reductions=fix-orders
std::unique_ptr<mlir::Pass> createExpandReductions(bool fixOrders = false);

} // namespace sectile::optimizer
