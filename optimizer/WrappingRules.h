//===-- WrappingRules.h - what is left of facts where numbers leave their type ----------------===//
// The part of IndexRules that is about wrapping and about what is assumed of it (IndexAnalysis.h):
// sums and products are `computed`, what looks at a number itself asks for `numbersOf` it.
//
//   computed(i32, run 256 of stride 1 up to 2^31 + 254, stays = false)  == the same, modulo 2^32
//   numbersOf(run 256 of stride 1 from multiples of 16, modulo 2^32)    == runs of 16 of stride 1
#pragma once

#include "optimizer/IndexAnalysis.h"

namespace sectile::optimizer {

struct Range {
  int64_t low, high;
};
/// Returns the range of the signed numbers of a type; 0 and 1 for truth values.
Range typeRange(mlir::Type type);
/// Sets the range of a result. Arithmetic wraps, so a range that leaves the type becomes the
/// type's whole range. Returns whether it stays within the type.
bool setRange(IndexFacts &facts, mlir::Type type, __int128 low, __int128 high);

/// Returns the facts of a sum or product of `type`, which may have wrapped unless it `stays` in its
/// range.
IndexFacts computed(mlir::Type type, IndexFacts facts, bool stays);
/// Returns the facts of `x` after a cast to `type`.
IndexFacts wrapped(mlir::Type type, const IndexFacts &x);
/// Returns the facts that are valid for the numbers themselves, wherever they wrapped. Operations
/// that read a number, and not only its distance from others, need these.
IndexFacts numbersOf(const IndexFacts &x);
/// Keeps the ranges only.
IndexFacts withoutRuns(IndexFacts facts);

/// `exact`, unless `other`, which rests on an assumption, has longer runs.
IndexFacts exactUnlessShorter(IndexFacts exact, IndexFacts other);
/// Gives `facts`, which are made from `x` and `y`, the modulus and the assumptions of both.
void inherit(IndexFacts &facts, const IndexFacts &x, const IndexFacts &y);
/// Whether the sum or product of `x` and `y` is not negative by assumption (Sign).
bool isAssumedNonNegative(const IndexFacts &x, const IndexFacts &y);

} // namespace sectile::optimizer
