//===-- CountByIndex.h - what counts as its loop does is made of the loop's index --------------===//
//   c = start - 132                               for t in range(start, tiles, 132):
//   for t in range(start, tiles, 132):              ...
//     ...                                   =>      store(t)
//     c += 132
//     store(c)
//
// Persistent kernels count their tiles twice (Triton's tutorial 9): what computes a tile and what
// stores it have each a number of its own, since Triton's loads ran ahead of one of them only. As
// one number both have the same rows and columns, which are computed once, and passes see that a
// store's mask leaves out the rows that a load has from elsewhere (DescribeBlocks).
//
// Only numbers of the index's type that begin a known distance from it, and grow by the loop's
// step. They are what they were in all bits. Loops without another one inside are left: assemblers
// choose what their addresses are made of.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --count-by-index
std::unique_ptr<mlir::Pass> createCountByIndex();

} // namespace sectile::optimizer
