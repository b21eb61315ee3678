//===-- AddToProducts.h - a sum that a product is added to is where it begins ------------------===//
// Kernels say `acc += dot(a, b)` as often as `acc = dot(a, b, acc)`. Matrix instructions add to
// what their registers hold: begun with acc, a product takes no registers beside it, and nothing
// waits for it until acc is used.
//
//   %p = tile.dot %a, %b, %zero
//   %s = arith.addf %acc, %p        =>     %s = tile.dot %a, %b, %acc
//
// Done where acc is what a loop carries (or what has become of that, `acc * alpha`), or another
// product, and nothing else takes %p: a product that began with what threads compute in its round
// would wait for them. Sums of floats are rounded in another order so, which numerics="strict" and
// "reproducible" do without; those of fp8 operands stay as they are, since kernels add them outside
// for the digits that instructions drop.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --add-to-products, --add-to-products=exact-only: integers alone.
std::unique_ptr<mlir::Pass> createAddToProducts(bool exactOnly = false);

} // namespace sectile::optimizer
