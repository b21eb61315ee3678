//===-- StrideCheck.h - check="strides": views that would be read wrongly --------------------===//
// A kernel is given an address: of x[::2] or x.T it reads the elements of x, unless it gets the
// strides, too. So a view is refused when one of its strides is none of the launch's integers. A
// guess, for debugging: a kernel may know the stride otherwise, and a size may equal it by chance
// (m[:, 0] of a square matrix whose size is passed).
#pragma once

#include "Arguments.h"

namespace sectile::bindings {

/// Throws an ArgumentError for the first of `strided` whose strides are not among `values`.
void refuseViews(const std::string &kernelName, std::span<const StridedArgument> strided,
                 std::span<const jit::ArgumentValue> values);

} // namespace sectile::bindings
