//===-- SpreadHints.h - what a user says of a value in a statement of its own -----------------===//
// `tl.multiple_of(x, 16)` may stand alone, as it does in many of Triton's kernels: it says
// something of `x`, and nobody takes its result. All uses of `x` behind it take it then.
//
//   before                                              after
//   %h = tile.hint %x {divisibility = [16]}             %h = tile.hint %x {divisibility = [16]}
//   %y = tile.ptr_add %x, %n                            %y = tile.ptr_add %h, %n
//
// Hints of hints, also of one value in several statements, come together.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --spread-hints
std::unique_ptr<mlir::Pass> createSpreadHints();

} // namespace sectile::optimizer
