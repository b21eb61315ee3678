//===-- SequenceRules.h - the rules of IndexAnalysis along one dimension ----------------------===//
// Along one dimension, the others held fixed, a value is a sequence of numbers (IndexAnalysis.h),
// and every elementwise operation is an operation on sequences. Each rule is a law of such
// sequences; SequenceRules.cpp gives its name and its reason.
//
//   addRule(run 128 of stride 1 from multiples of 128, constant multiple of 16)
//     == run 128 of stride 1 from multiples of 16
#pragma once

#include "lang/layout/PowersOfTwo.h"
#include "optimizer/IndexAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sectile::optimizer {

using layout::lowestBit;

/// The largest divisor of a number that facts speak of; never 0.
int64_t divisorOf(int64_t number);
/// A divisor of the product; where the product is too large, its power-of-two part.
int64_t multiplyDivisors(int64_t a, int64_t b);
/// (Runs) Aligned runs of the result lie within aligned runs of both; a whole extent is one run.
int64_t commonRun(int64_t extent, int64_t a, int64_t b);

DimensionFacts sequence(int64_t extent, int64_t run, int64_t stride = 0, mlir::Value symbol = {},
                        int64_t divisibility = 1);
/// One spelling per set of facts: an extent of one is constant, a run of one has no stride.
DimensionFacts normalized(DimensionFacts dim);
bool sameStride(const DimensionFacts &a, const DimensionFacts &b);

/// Divisibility of f at multiples of `period`. `unit`: bytes per stride (1 unless pointers).
int64_t divisibilityAt(const DimensionFacts &dim, int64_t period, int64_t unit = 1);
/// Returns the largest known divisor of every element.
int64_t divisibilityEverywhere(const DimensionFacts &dim, int64_t unit = 1);
/// Length of aligned groups in which a rising run, whose starts are multiples of x.divisibility,
/// stays within one [m * period, (m + 1) * period). 1 when there is none.
int64_t groupsWithin(const DimensionFacts &x, int64_t period);

DimensionFacts constantRuns(int64_t extent, llvm::ArrayRef<DimensionFacts> operands);
/// x + sign * y; `unit` scales y (pointer offsets).
DimensionFacts addRule(const DimensionFacts &x, const DimensionFacts &y, int64_t sign,
                       int64_t unit = 1);
DimensionFacts multiplyRule(const DimensionFacts &x, const IndexFacts &xs, const DimensionFacts &y,
                            const IndexFacts &ys);
/// `isFloor`: rounds down, or no element of x is negative.
DimensionFacts divideRule(const DimensionFacts &x, const DimensionFacts &y,
                          std::optional<int64_t> divisor, bool isFloor);
/// `period` divides every divisor in y.
DimensionFacts remainderRule(const DimensionFacts &x, const DimensionFacts &y, int64_t period,
                             bool isFloor);
DimensionFacts compareRule(const DimensionFacts &x, const DimensionFacts &y,
                           mlir::arith::CmpIPredicate order);
DimensionFacts joinRule(const DimensionFacts &a, const DimensionFacts &b, int64_t unit);

} // namespace sectile::optimizer
