//===-- UnorderedSums.h - sums in the order in which programs arrive --------------------------===//
// Refuses atomic additions of floats, whose result depends on which program comes first: what
// numerics="reproducible" excludes. Integers, and the least and greatest of numbers, are the same
// in every order.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --refuse-unordered-sums
std::unique_ptr<mlir::Pass> createRefuseUnorderedSums();

} // namespace sectile::optimizer
