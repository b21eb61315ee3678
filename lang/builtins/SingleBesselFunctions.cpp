// Bessel functions of f32 of order 0 and 1, in f32 arithmetic. Left of 8 polynomials with the zeros
// that are there taken out, from 8 on modulus and phase.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/SingleFunctions.h"
#include "lang/builtins/SpecialCoefficients.h"

namespace sectile::lang::single {

using namespace coefficients;

namespace {

const double kTwoOverPi = 0x1.45f306dc9c883p-1;

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

/// What x is too large for: the results are below 1e-7 then, and 0.
const double kFarthest = 0x1p46;

/// x >= 8: modulus times the cosine or sine of the phase, x - pi/4 or x - 3 pi/4 and what vanishes
/// as 1 / x. Turns are taken off x by products without rounding; where they are more than 2^24, and
/// so no number has all their digits, what is left is still some turns. (DLMF 10.18.)
Term farAway(Kind kind, int order, Term x) {
  Term inverse = nearInverse(x), z = inverse * 8.0, w = z * z;
  Term modulus = evaluate(order ? kSingleModulus1 : kSingleModulus0, w);
  Term bend = evaluate(order ? kSinglePhase1 : kSinglePhase0, w);
  const double pi = 0x1.921fb54442d18p1, piLow = 0x1.1a62633145c07p-53;
  bend = fma(bend, inverse, literal(-(2 * order + 1) * pi / 4, x));

  // Parts of 2 pi, of pi / 2.
  const double first = float(2 * pi), second = float(2 * pi - first),
               third = (2 * pi - first - second) + 2 * piLow;
  Term turns = roundEven(x * (1 / (2 * pi)));
  Term rest = fma(-turns, literal(first, x), x);
  rest = fma(-turns, literal(second, x), rest);
  rest = rest + fma(-turns, literal(third, x), bend);
  const double rounding = 0x1.8p23; // brings the number of quarters to the low bits
  Term biased = fma(rest, literal(2 / pi, x), literal(rounding, x));
  Term quarters = biased - rounding;
  Term r = fma(-quarters, literal(first / 4, x), rest);
  r = fma(-quarters, literal(second / 4, x), r);

  Term square = r * r;
  Term sine = fma(square * evaluate(kSingleSine, square), r, r);
  Term cosine = fma(square, evaluate(kSingleCosine, square), literal(1.0, x));
  // cos(r + n pi/2), and sin(t) = cos(t - pi/2).
  Term n = bitsOf(biased) - (kind == Kind::Y ? 1 : 0);
  Term wave = select((n & 1) == 0, cosine, sine);
  Term sign = ((n + 1) & 2) << 30;
  wave = reinterpret(bitsOf(wave) ^ sign, x.dtype());
  return select(x > kFarthest, 0.0, nearRoot(inverse * (2 / pi)) * modulus * wave);
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
  far = select(v > 100.0, INFINITY, far); // where the inverse may be no normal number, too
  if (order)
    return select(v < 8.0, x * near, copySign(far, x));
  return select(v < 8.0, near, far);
}

} // namespace sectile::lang::single
