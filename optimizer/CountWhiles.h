//===-- CountWhiles.h - a while loop that counts becomes a for loop ----------------------------===//
//   while first <= t and t < end:                 for t in range(t, end if first <= t else t, 132):
//     for k in 0 to n: ...                 =>       for k in 0 to n: ...
//     t += 132
//
// Programs that take tile after tile are often written so (Triton's tutorial 8). Passes see more in
// a loop that counts: how long it is, what its addresses are in the next round, that copies may go
// on into that round (PipelineLoops).
//
// The loop's test is a conjunction: one term bounds a counter from above, the others hold in all
// rounds if they hold in the first one. The counter grows by a number that is positive, in 32 bits
// or more. What it is behind the loop it is still, as it stays among what the loop carries. A sum
// that would wrap ends the loop, as it does in Python, where numbers do not wrap; a while loop that
// is left would go on from the least number.
//
// Only loops with a counted loop inside are made over. In others nothing would run ahead but loads,
// for which a kernel's num_stages asks in for loops alone: their stages may be more than fit.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --count-whiles
std::unique_ptr<mlir::Pass> createCountWhiles();

} // namespace sectile::optimizer
