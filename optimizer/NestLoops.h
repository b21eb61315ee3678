//===-- NestLoops.h - a loop that counts the rounds of two becomes two ------------------------===//
//   for t in 0 to n * m:                          for o in 0 to m:
//     k = k == n - 1 ? 0 : k + 1                    first
//     if k == 0: first                              for k in 0 to n:
//     body                                =>          body
//     if k == n - 1: last                           last
//
// Persistent products are written so (Triton's tutorial 9 up to 3.2, PyTorch's template of them):
// one loop over the steps of all tiles, so that loads run ahead across tiles. Passes see more in
// two loops: where a product's sums begin and end, that a tile's rows stay the same, which loads
// are blocks of arrays; and copies go on across rounds by themselves (PipelineLoops).
//
// The counter k begins at -1, and nothing else counts turns. What `first` gives stays until its
// next round, and what `last` takes is known behind the inner loop. As the kernel does, the pass
// takes n * m for what it says: the number of turns, of which each tile has n.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --nest-loops
std::unique_ptr<mlir::Pass> createNestLoops();

} // namespace sectile::optimizer
