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
/// Of the signed numbers of a type; of a truth value: 0 and 1.
Range typeRange(mlir::Type type);
/// Arithmetic wraps: a range that leaves its type says nothing any more. Returns whether it stays.
bool setRange(IndexFacts &facts, mlir::Type type, __int128 low, __int128 high);

/// Of sums and products of `type`, which left its range unless it `stays`.
IndexFacts computed(mlir::Type type, IndexFacts facts, bool stays);
/// Of what a cast to `type` leaves of `x`.
IndexFacts wrapped(mlir::Type type, const IndexFacts &x);
/// What holds of the numbers themselves, wherever they wrapped: for operations that look at the
/// number, not only at its distance from others.
IndexFacts numbersOf(const IndexFacts &x);
/// Ranges only.
IndexFacts withoutRuns(IndexFacts facts);

/// `exact`, unless `other`, which rests on an assumption, has longer runs.
IndexFacts exactUnlessShorter(IndexFacts exact, IndexFacts other);
/// What is made of `x` and `y` rests on what they rest on.
void inherit(IndexFacts &facts, const IndexFacts &x, const IndexFacts &y);
/// Of sums and products, by assumption (Sign).
bool isAssumedNonNegative(const IndexFacts &x, const IndexFacts &y);

} // namespace sectile::optimizer
