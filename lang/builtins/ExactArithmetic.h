//===-- ExactArithmetic.h - sums, products and powers of two without rounding -------------------===//
// Error-free transformations on terms, which hold in round-to-nearest.
//
// A back end may fuse a product into the sum it feeds. Where the product is a number of its own as
// well, the sum is not the sum of that number then, and the transformation is wrong. So sums and
// products in here are written as math.fma with a constant, which has one rounding and nothing left
// to fuse: x * 1 + y, whatever product x is, and x * y + -0.0. LLVM makes additions and
// multiplications of them that may not be contracted.
#pragma once

#include "lang/builtins/Formula.h"

namespace sectile::lang {

/// An unevaluated sum.
struct TermPair {
  Term high, low;
};

Term roundedSum(Term x, Term y);
Term roundedProduct(Term x, Term y);

/// high = x + y rounded; high + low = x + y. Knuth, The Art of Computer Programming 2, 4.2.2.
TermPair twoSum(Term x, Term y);
/// The same where |x| >= |y|, or x is 0. Dekker, Numer. Math. 18, 1971. It does not overflow where
/// the sum does not.
TermPair fastTwoSum(Term x, Term y);
/// high = x * y rounded; high + low = x * y where neither overflows nor underflows.
TermPair twoProduct(Term x, Term y);

/// Parts of a finite number that is not 0: mantissa * 2^exponent, 1 <= |mantissa| < 2, the exponent
/// as an integer of the float's width. 0 gives +-1 and some exponent.
struct Parts {
  Term mantissa, exponent;
};
Parts partsOf(Term x);
/// 2^exponent of the float type of `like`, for exponents of normal numbers; an integer of its
/// width.
Term powerOfTwo(Term exponent, Term like);
/// Within [low, high].
Term clampInteger(Term x, int64_t low, int64_t high);
/// x * 2^exponent with one rounding, whatever the exponent.
Term scaleByPower(Term x, Term exponent);
/// The neighbour of a number in magnitude: `steps` is 1 (away from zero), 0 or -1 (towards it), an
/// integer of the float's width. The neighbour of the largest number is infinity.
Term stepMagnitude(Term x, Term steps);

} // namespace sectile::lang
