// Special functions of f32, in f32 arithmetic.
#include "lang/builtins/SingleFunctions.h"

#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/SpecialCoefficients.h"

namespace sectile::lang::single {

using namespace coefficients;

namespace {

const double kLog2 = 0x1.62e42fefa39efp-1;
const double kLeastNormal = 0x1p-126;

/// A number up to 2^22 plus this is rounded to an integer, which the sum's low bits hold.
const double kRounding = 0x1.8p23;
const int kRoundingBits = 0x4b400000;

/// NaN stays.
Term atMost(Term x, double limit) {
  return select(x > limit, limit, x);
}
Term atLeast(Term x, double limit) {
  return select(x < limit, limit, x);
}

/// exp(scale x^2) for a scale that is a power of two or its negative: the rounding of the square is
/// made good.
Term expOfSquare(Term x, double scale) {
  TermPair square = twoProduct(x, x);
  Term power = exp(square.high * scale);
  return select(isInfinite(power), power, fma(power, square.low * scale, power));
}

/// x 2^n, where 2^n may be beyond the range and the result is not: the first product is exact.
Term timesPower(Term x, Term n) {
  Term half = n >> 1;
  return x * powerOfTwo(half, x) * powerOfTwo(n - half, x);
}

/// A positive normal number as (1 + f) 2^exponent, sqrt(1/2) <= 1 + f < sqrt(2); the exponent as a
/// multiple of 2^23.
struct Decomposed {
  Term f, units;
};
Decomposed decompose(Term x) {
  Term bits = bitsOf(x);
  Term units = (bits - 0x3f3504f3) & int64_t(-0x800000);
  return {reinterpret(bits - units, x.dtype()) - 1.0, convert(units, x.dtype())};
}

} // namespace

//===-- elementary functions ------------------------------------------------------------------===//

Term logOfNormal(Term x) {
  auto [f, units] = decompose(x);
  Term ofMantissa = fma(f * f, evaluate(kSingleLog, f), f);
  return fma(units, literal(kLog2 * 0x1p-23, x), ofMantissa);
}

Term logOfPositive(Term x) {
  Term isSubnormal = x < kLeastNormal;
  Term result = logOfNormal(select(isSubnormal, x * 0x1p64, x));
  return result - select(isSubnormal, literal(64 * kLog2, x), 0.0);
}

/// 2^n 2^r with n the integer next to log2(10) x. r has the digits of two products.
Term exp10(Term x) {
  const double log10 = 0x1.a934f0979a371p1; // to base 2
  Term factor = literal(float(log10), x);
  Term nearest = fma(x, factor, literal(kRounding, x)) - kRounding;
  // What n leaves over r has, which makes it infinity, 0 or a subnormal number.
  Term whole = atLeast(atMost(nearest, 126), -126);
  Term rest = fma(x, literal(log10 - float(log10), x), fma(x, factor, -whole));
  Term power = (bitsOf(whole + kRounding) << 23) + 0x3f800000;
  return nearExp2(rest) * reinterpret(power, x.dtype());
}

/// The longer side is brought to [1/2, 4) by a power of two.
Term hypot(Term x, Term y) {
  Term longest = maximum(abs(x), abs(y));
  Term exponent = bitsOf(longest) & 0x7f800000;
  exponent = select(exponent > 0x7e000000, 0x7e000000, exponent);
  Term scale = reinterpret(0x7e800000 - exponent, x.dtype());
  Term unscale = reinterpret(exponent + 0x00800000, x.dtype());
  Term a = x * scale, b = y * scale;
  Term length = nearRoot(fma(a, a, b * b)) * unscale;
  return select(isInfinite(x) | isInfinite(y), INFINITY, length);
}

/// sin(pi x) / pi, |x| <= 1/2.
static Term sineOverPi(Term x) {
  Term square = x * x;
  return fma(square * evaluate(kSingleSinePi, square), x, x);
}

/// Beyond 1/4 the cosine of what is left to 1/2. Leading terms are rounded with the result.
Term sineOfHalfTurns(Term x) {
  const double pi = 0x1.921fb54442d18p1;
  Term v = abs(x), isUpper = v > 0.25;
  Term r = select(isUpper, 0.5 - v, v), square = r * r;
  Term rest = fma(square, evaluate(kSingleSineOfTurns, square), literal(pi - float(pi), x));
  Term sine = fma(r, literal(float(pi), x), r * rest);
  Term cosine = fma(square, evaluate(kSingleCosineOfTurns, square), literal(1.0, x));
  return copySign(select(isUpper, cosine, sine), x);
}

//===-- gamma ---------------------------------------------------------------------------------===//

namespace {

/// log2 of a number in [1, 45] with an error below 2^-30: log(1 + f) = 2 atanh(f / (2 + f)).
TermPair log2Pair(Term x) {
  auto [f, units] = decompose(x);
  Term sum = f + 2.0, lost = f - (sum - 2.0);
  Term inverse = nearInverse(sum);
  Term s = roundedProduct(f, inverse);
  Term ofS = fma(-s, lost, fma(-s, sum, f)) * inverse; // what s lacks
  const double factor = 0x1.71547652b82fep1;           // 2 / log(2)
  Term high = literal(float(factor), x), low = literal(factor - float(factor), x);
  TermPair linear = twoProduct(s, high);
  Term square = s * s;
  Term tail = fma(square * s, evaluate(kSingleLog2Tail, square), fma(s, low, linear.low));
  TermPair result = fastTwoSum(units * 0x1p-23, linear.high);
  return {result.high, result.low + fma(ofS, high, tail)};
}

/// 2^exponent times mantissa; the exponent is an int32.
struct Scaled {
  Term mantissa, exponent;
};

/// gamma(v) of 3 <= v <= 45 by Stirling's formula: of (v - 1/2) log2(v) - v log2(e) the integer and
/// the rest.
Scaled stirling(Term v) {
  TermPair log2 = log2Pair(v);
  Term shifted = v - 0.5;
  TermPair rising = twoProduct(shifted, log2.high);
  const double log2e = 0x1.71547652b82fep0;
  Term factor = literal(float(log2e), v);
  TermPair falling = twoProduct(v, factor);
  Term low =
      fma(shifted, log2.low, rising.low) - fma(v, literal(log2e - float(log2e), v), falling.low);
  Term biased = (rising.high - falling.high) + kRounding;
  // Both differences are exact.
  Term rest = ((rising.high - (biased - kRounding)) - falling.high) + low;
  Term power = roundedProduct(rest, evaluate(kSingleExp2, rest)); // less 1
  const double sqrtTwoPi = 0x1.40d931ff62706p1;
  Term z = nearInverse(v), leading = literal(float(sqrtTwoPi), v);
  Term correction = fma(z, evaluate(kSingleStirling, z), literal(sqrtTwoPi - float(sqrtTwoPi), v));
  TermPair series = fastTwoSum(leading, correction);
  Term mantissa = series.high + fma(power, series.high, series.low);
  return {mantissa, bitsOf(biased) - kRoundingBits};
}

} // namespace

/// Below 3 of 1 / gamma(t), 1 <= t <= 3, a polynomial; left of 1 t is u + 1, and u a divisor. From
/// 3 on Stirling's formula. Negative numbers by gamma(-u) = -pi / (u sin(pi u) gamma(u)). The
/// result is a quotient whose parts do not leave the range, times a power of two. (DLMF 5.5, 5.11.)
Term gamma(Term x) {
  Term u = abs(x), isReflected = x < 0.0, isBelowOne = u < 1.0, isNear = u < 3.0;
  Term reciprocal = evaluate(kSingleReciprocalGamma, u - select(isBelowOne, literal(1.0, x), 2.0));
  Scaled far = stirling(select(isNear, 3.0, atMost(u, 45)));

  // sin(pi u) / pi: whole periods come off exactly, and so does the reflection at 1/2.
  Term turn = u - roundEven(u * 0.5) * 2.0, rest = abs(turn);
  rest = select(rest > 0.5, 1.0 - rest, rest);
  Term isTiny = u < 0x1p-100; // and one over it beyond the range
  rest = select(isTiny, rest * 0x1p64, rest);
  Term sine = copySign(sineOverPi(rest), turn);

  Term one = literal(1.0, x);
  Term ofFar = select(isNear, one, far.mantissa);
  Term divisor = select(isBelowOne, select(isTiny, u * 0x1p64, u), one);
  Term below = select(isReflected, sine * select(isBelowOne, one, u) * ofFar,
                      select(isNear, reciprocal * divisor, one));
  Term above = select(isReflected, -select(isNear, reciprocal, one), ofFar);
  Term inverse = nearInverse(below), quotient = roundedProduct(above, inverse);
  quotient = fma(fma(-quotient, below, above), inverse, quotient);

  Term exponent = select(isReflected, -far.exponent, far.exponent);
  exponent = select(isNear, select(isTiny, literal(64, exponent), 0), exponent);
  Term result = timesPower(quotient, exponent);
  result = select(x == 0.0, copySign(literal(INFINITY, x), x), result);
  return select(isReflected & !(rest > 0.0), NAN, result); // whole numbers, and -infinity
}

/// Below 3 a polynomial for lgamma(t), 1 <= t <= 3, that has the zeros at 1 and 2 taken out; left
/// of 1 t is u + 1, and log(u) comes off. From 3 on Stirling's series. Negative numbers by
///
///   lgamma(-u) = -log(sin(pi u) / pi) - lgamma(1 + u)
///
/// whose last term is the polynomial's value as it is, or lgamma(u) + log(u). (DLMF 5.5, 5.11.)
Term logGamma(Term x) {
  Term u = abs(x), isReflected = x < 0.0, isBelowOne = u < 1.0, isNear = u < 3.0;
  Term y = u - select(isBelowOne, literal(1.0, x), 2.0);
  Term near = (y * (y + 1.0)) * evaluate(kSingleLogGamma, y);

  // sin(pi u) / pi, times u where log(u) goes with it.
  Term rest = abs(u - roundEven(u));
  Term sine = sineOverPi(rest);
  Term reflecting = select(isBelowOne, sine, sine * u);

  Term logarithm = logOfPositive(select(isReflected & isNear, reflecting, u));
  Term z = nearInverse(u);
  const double constant = 0x1.acfe390c97d69p-2; // (log(2 pi) - 1) / 2
  Term tail = fma(evaluate(kSingleLogStirling, z * z), z, literal(constant, x));
  Term large = fma(u - 0.5, logarithm - 1.0, tail);

  Term value = select(isNear, near, large);
  Term right = value - select(isBelowOne, logarithm, 0.0);
  // Far from zero the absolute error is what counts.
  Term left = -(value + select(isNear, logarithm, nearLog2(reflecting) * kLog2));
  Term isPole = (x <= 0.0) & !(rest > 0.0); // infinities, too
  return select(isPole, INFINITY, select(isReflected, left, right));
}

//===-- error function ------------------------------------------------------------------------===//

/// erfinv(x) / x - 1 as a function of w = -log(1 - x^2), or of its root: Giles, Approximating the
/// erfinv Function, GPU Computing Gems Jade, 2011.
static Term inverseRatio(Term w, int pieces) {
  Term root = nearRoot(w);
  root = fma(fma(-root, root, w), literal(0.156, w), root); // most of what an instruction leaves
  Term far = evaluate(kSingleErfInverse2, root);
  if (pieces > 2)
    far = select(root > 4.0, evaluate(kSingleErfInverse3, root), far);
  return select(w < 5.75, evaluate(kSingleErfInverse1, w), far);
}

Term inverseErf(Term x) {
  Term ratio = inverseRatio(-logOfNormal(fma(-x, x, literal(1.0, x))), 2);
  Term v = abs(x);
  Term atEnd = select(v == 1.0, INFINITY, literal(NAN, x));
  return copySign(select(v < 1.0, fma(v, ratio, v), atEnd), x);
}

Term inverseErfc(Term y) {
  Term x = 1.0 - y;
  Term ratio = inverseRatio(-logOfPositive(y * (2.0 - y)), 3);
  Term atEnd = select((y == 0.0) | (y == 2.0), x * INFINITY, NAN);
  return select((y > 0.0) & (y < 2.0), fma(x, ratio, x), atEnd);
}

/// exp(x^2) erfc(x), 0 <= x <= 2^60: a polynomial in q = (x - 2) / (x + 2), over x + 2. Shepherd,
/// Laframboise: Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, Math. Comp. 36, 1981.
static Term scaledComplement(Term x) {
  Term sum = x + 2.0, lost = x - (sum - 2.0);
  Term inverse = nearInverse(sum);
  Term rest = fma(-lost, inverse, fma(-sum, inverse, literal(1.0, x)));
  inverse = fma(rest, inverse, inverse);
  Term q = fma(inverse, literal(-4.0, x), literal(1.0, x));
  return evaluate(kSingleErfcx, q) * inverse;
}

Term erfcx(Term x) {
  Term v = abs(x), isHuge = v > 0x1p60;
  Term right = scaledComplement(atMost(v, 0x1p60));
  right = select(isHuge, right * nearInverse(v * 0x1p-60), right);
  right = select(isInfinite(v), 0.0, right);
  Term left = expOfSquare(atMost(v, 10), 1) * 2.0 - right;
  return select(x < 0.0, left, right);
}

/// exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2.
Term normalDistribution(Term x) {
  Term v = atMost(abs(x), 15);
  const double sqrtHalf = 0x1.6a09e667f3bcdp-1;
  Term tail =
      (scaledComplement(roundedProduct(v, literal(sqrtHalf, x))) * 0.5) * expOfSquare(v, -0.5);
  return select(x < 0.0, tail, 1.0 - tail);
}

} // namespace sectile::lang::single
