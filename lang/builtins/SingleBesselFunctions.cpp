// Bessel functions of f32 of order 0 and 1, in f32 arithmetic. Left of 8 polynomials with the zeros
// that are there taken out, from 8 on Hankel's expansion (DLMF 10.17), as in BesselFunctions.cpp.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/SingleFunctions.h"
#include "lang/builtins/SpecialCoefficients.h"

namespace sectile::lang::single {

using namespace coefficients;

namespace {

const double kTwoOverPi = 0x1.45f306dc9c883p-1;
const double kOneOverPi = 0x1.45f306dc9c883p-2;

/// The number in two parts of f32.
SplitNumber inSingle(SplitNumber number) {
  double high = float(number.high);
  return {high, float((number.high - high) + number.low)};
}

/// x - z.
Term distance(Term x, SplitNumber zero) {
  SplitNumber z = inSingle(zero);
  return roundedSum(x, literal(-z.high, x)) - z.low;
}
/// x^2 - z^2.
Term squareDistance(Term x, SplitNumber zero) {
  return distance(x, zero) * (x + zero.high);
}
/// log(x / z) of a positive x: the rounding of the quotient is made good next to z, where that
/// counts.
Term logOfRatio(Term x, SplitNumber zero) {
  SplitNumber z = inSingle(zero);
  Term isTiny = x < 0x1p-100;
  Term scaled = select(isTiny, x * 0x1p64, x);
  Term inverse = literal(1 / zero.high, x);
  Term ratio = roundedProduct(scaled, inverse);
  Term rest = fma(-ratio, literal(z.low, x), fma(-ratio, literal(z.high, x), scaled));
  const double log2 = 0x1.62e42fefa39efp-1;
  Term lifted = select(isTiny, literal(64 * log2, x), 0.0);
  return fma(rest, inverse, logOfNormal(ratio) - lifted);
}

/// J of order 0 or 1, |x| < 8.
Term nearJ(int order, Term x) {
  Term v = abs(x);
  Term zeros = order ? squareDistance(v, kZeroOfJ1_1) * squareDistance(v, kZeroOfJ1_2)
                     : squareDistance(v, kZeroOfJ0_1) * squareDistance(v, kZeroOfJ0_2);
  Term square = roundedProduct(x, x);
  Term even = zeros * evaluate(order ? kSingleJ1 : kSingleJ0, square);
  return order ? x * even : even;
}

/// Y of order 0 or 1, 0 < x < 8. The logarithm is of x over the first zero, where both parts of the
/// sum are zero then: Hart, Computer Approximations, 1968, 6.8.
Term nearY(int order, Term x) {
  Term square = x * x;
  Term ofJ = evaluate(order ? kSingleJ1Short : kSingleJ0Short, square);
  SplitNumber zero = order ? kZeroOfY1_1 : kZeroOfY0_1;
  Term logarithmic = (logOfRatio(x, zero) * kTwoOverPi) * (order ? x * ofJ : ofJ);
  Term rest = squareDistance(x, zero) * evaluate(order ? kSingleY1Near : kSingleY0Near, square);
  SplitNumber second = order ? kZeroOfY1_2 : kZeroOfY0_2, third = order ? kZeroOfY1_3 : kZeroOfY0_3;
  Term far =
      distance(x, second) * distance(x, third) * evaluate(order ? kSingleY1Far : kSingleY0Far, x);
  if (order)
    return select(x < 3.0, logarithmic + nearQuotient(rest, x), far);
  return select(x < 2.5, logarithmic + rest, far);
}

enum class Kind { J, Y };

/// x >= 8: sqrt(2 / (pi x)) (P cos(t) - Q sin(t)) and (P sin(t) + Q cos(t)) with t = x - pi/4, or
/// x - 3 pi/4, whose sine and cosine are sums of those of x over sqrt(2).
Term farAway(Kind kind, int order, Term x) {
  Term inverse = nearInverse(x), z = inverse * 8.0, w = z * z;
  Term p = evaluate(order ? kSingleHankelP1 : kSingleHankelP0, w);
  Term q = evaluate(order ? kSingleHankelQ1 : kSingleHankelQ0, w) * inverse;
  Term sine = sin(x), cosine = cos(x);
  Term sum = cosine + sine, difference = sine - cosine;
  // Of t, times sqrt(2).
  Term cosineOfPhase = order ? difference : sum, sineOfPhase = order ? -sum : difference;
  Term wave =
      kind == Kind::J ? p * cosineOfPhase - q * sineOfPhase : p * sineOfPhase + q * cosineOfPhase;
  return select(isInfinite(x), 0.0, nearRoot(inverse * kOneOverPi) * wave);
}

} // namespace

Term besselJ(int order, Term x) {
  Term v = abs(x);
  Term far = farAway(Kind::J, order, v);
  if (order)
    far = select(x < 0.0, -far, far);
  return select(v < 8.0, nearJ(order, x), far);
}

Term besselY(int order, Term x) {
  Term result = select(x < 8.0, nearY(order, x), farAway(Kind::Y, order, x));
  return select(x > 0.0, result, select(x == 0.0, -INFINITY, literal(NAN, x)));
}

/// A series in x^2, and exp(x) / sqrt(x) times one in 1 / x. (DLMF 10.25, 10.40.)
Term besselI(int order, Term x) {
  Term v = abs(x), half = v * 0.5;
  Term near = evaluate(order ? kSingleI1 : kSingleI0, half * half);
  // exp(v) overflows before the result does.
  Term isHuge = v > 80.0;
  Term power = exp(select(isHuge, v - 64.0, v));
  Term inverse = nearInverse(v);
  Term scaled = evaluate(order ? kSingleI1Large : kSingleI0Large, inverse) * nearRoot(inverse);
  const double expOf64 = 0x1.425982cf597cdp92;
  Term far = (power * scaled) * select(isHuge, literal(expOf64, x), 1.0);
  far = select(isInfinite(v), INFINITY, far);
  if (order)
    return select(v < 8.0, x * near, copySign(far, x));
  return select(v < 8.0, near, far);
}

} // namespace sectile::lang::single
