//===-- WidenSums.h - products add in the type that instructions add in -----------------------===//
// `tl.dot(a, b, out_dtype=tl.float16)` is added in f32 and rounded once, as it was before; with the
// rounding as an operation of its own the product is like any other to what follows: it may read
// shared memory itself, be begun early and be waited for late.
//
//   %d = tile.dot %a, %b, %c          %w = arith.extf %c
//     -> tensor<64x64xf16>       =>   %e = tile.dot %a, %b, %w -> tensor<64x64xf32>
//                                     %d = arith.truncf %e
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --widen-sums
std::unique_ptr<mlir::Pass> createWidenSums();

} // namespace sectile::optimizer
