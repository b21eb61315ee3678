#include "lang/builtins/ExactArithmetic.h"

namespace sectile::lang {
namespace {

/// Of the significand as it is stored, and of the exponents.
int fractionBits(Term x) {
  return x.isDouble() ? 52 : 23;
}
int exponentBias(Term x) {
  return x.isDouble() ? 1023 : 127;
}

} // namespace

Term roundedProduct(Term x, Term y) {
  return fma(x, y, literal(-0.0, x));
}

Term roundedSum(Term x, Term y) {
  return fma(x, literal(1.0, x), y);
}

TermPair twoSum(Term x, Term y) {
  Term sum = roundedSum(x, y);
  Term ofY = roundedSum(sum, -x);
  Term ofX = roundedSum(sum, -ofY);
  return {sum, roundedSum(roundedSum(x, -ofX), roundedSum(y, -ofY))};
}

TermPair fastTwoSum(Term x, Term y) {
  Term sum = roundedSum(x, y);
  return {sum, roundedSum(y, -roundedSum(sum, -x))};
}

TermPair twoProduct(Term x, Term y) {
  Term product = roundedProduct(x, y);
  return {product, fma(x, y, -product)};
}

Parts partsOf(Term x) {
  int fraction = fractionBits(x), bias = exponentBias(x);
  const int lift = 64;
  Term isSubnormal = abs(x) < std::ldexp(1.0, 1 - bias);
  // Exact: a subnormal number has few bits.
  Term bits = bitsOf(select(isSubnormal, roundedProduct(x, literal(std::ldexp(1.0, lift), x)), x));
  int64_t field = int64_t(2 * bias + 1) << fraction;
  Term exponent =
      ((bits & field) >> fraction) - select(isSubnormal, literal(bias + lift, bits), bias);
  Term mantissa = (bits & ~field) | (int64_t(bias) << fraction);
  return {reinterpret(mantissa, x.dtype()), exponent};
}

Term powerOfTwo(Term exponent, Term like) {
  return reinterpret((exponent + exponentBias(like)) << fractionBits(like), like.dtype());
}

Term clampInteger(Term x, int64_t low, int64_t high) {
  Term atLeast = select(x < low, low, x);
  return select(atLeast > high, high, atLeast);
}

Term scaleByPower(Term x, Term exponent) {
  // Beyond these every number overflows or vanishes, and the halves are still normal.
  int64_t far = x.isDouble() ? 2200 : 330;
  Parts parts = partsOf(x);
  int64_t bound = x.isDouble() ? 1100 : 160;
  Term wanted = clampInteger(parts.exponent + clampInteger(exponent, -far, far), -bound, bound);
  Term half = wanted >> 1;
  // The first product is exact, so the second one is the only one that rounds.
  Term scaled = roundedProduct(roundedProduct(parts.mantissa, powerOfTwo(half, x)),
                               powerOfTwo(wanted - half, x));
  return select((x == 0.0) | !isFinite(x), x, scaled);
}

Term stepMagnitude(Term x, Term steps) {
  return reinterpret(bitsOf(x) + steps, x.dtype());
}

} // namespace sectile::lang
