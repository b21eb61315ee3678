// Gamma functions, the error function's relatives, and modified Bessel functions of order 0 and 1.
// These are of f64; those of f32 are in SingleFunctions.cpp.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/LibdeviceTable.h"
#include "lang/builtins/SingleFunctions.h"
#include "lang/builtins/SpecialCoefficients.h"

using namespace mlir;

namespace sectile::lang {

using namespace coefficients;

namespace {

const double kPi = 0x1.921fb54442d18p1;
const double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
const double kSqrt2 = 0x1.6a09e667f3bcdp0;

/// NaN stays.
Term atMost(Term x, double limit) {
  return select(x > limit, limit, x);
}

/// sin(pi x): whole periods come off exactly, and so does the reflection at 1/2.
Term sineOfHalfTurns(Term x) {
  Term rest = x - roundedProduct(roundEven(x * 0.5), literal(2.0, x));
  Term reflected = copySign(literal(1.0, x), rest) - rest;
  Term nearest = select(abs(rest) > 0.5, reflected, rest);
  return sin(fma(nearest, literal(kPi, x), nearest * 0x1.1a62633145c07p-53));
}

/// exp(scale x^2) for a scale that is a power of two or its negative: the rounding of the square is
/// made good.
Term expOfSquare(Term x, double scale) {
  TermPair square = twoProduct(x, x);
  Term power = exp(square.high * scale);
  Term result = fma(power, square.low * scale, power);
  return select(isInfinite(power), power, result);
}

//===-- gamma ---------------------------------------------------------------------------------===//

/// Below 8: 1 / gamma(1 + y), which is smooth everywhere, for the y nearest to 0, and the
/// recurrence. From there on Stirling's formula. Left of -1/2 reflection. (DLMF 5.5, 5.11.)
Term gammaOf(Term x, Precision precision) {
  Term isReflected = x < -0.5;
  Term v = atMost(select(isReflected, -x, x), 200); // the result is infinite, or 0, from there on
  Term whole = roundEven(atMost(v, 8));
  Term y = v - whole;
  Term reciprocal = evaluate(kReciprocalGamma, y, precision);
  Term product = literal(1.0, x);
  for (int k = 1; k < 8; ++k)
    product = product * select(whole > k, v - k, 1.0);
  Term isNearZero = whole == 0.0;
  Term small = product / select(isNearZero, v * reciprocal, reciprocal);

  // v^(v - 1/2) overflows before gamma(v) does; its root does not.
  Term root = pow(v, v * 0.5 - 0.25);
  const double sqrtTwoPi = 0x1.40d931ff62706p1;
  Term head = (root * exp(-v)) * (evaluate(kStirling, 1.0 / v, precision) * sqrtTwoPi);
  Term isSmall = v < 8;
  Term ofV = select(isSmall, small, head * root);
  // pi / (v sin(pi v) gamma(v)), of which the last factor may be beyond the range.
  Term sine = sineOfHalfTurns(select(isReflected, -x, x));
  Term first = select(isSmall, small, head), second = select(isSmall, 1.0, root);
  Term reflected = (-kPi / (v * sine * first)) / second;
  Term result = select(isReflected, reflected, ofV);
  Term isPole = isReflected & (floor(x) == x);
  return select(isPole, NAN, result);
}

/// Near the zeros at 1 and 2 polynomials that have these zeros; to the left of them log|x| or
/// log|x (1 + x)| comes off. Above 8 Stirling's series. Left of -1/2 reflection, which loses digits
/// near the zeros that are there. (DLMF 5.5, 5.11.)
Term logGamma(Term x) {
  Term isReflected = x < -0.5;
  Term u = select(isReflected, -x, x);
  Term y = select(u < 0.5, u, select(u < 1.5, u - 1.0, u - 2.0));
  Term nearOne = (y >= -0.25) & (u < 1.5);
  Term nearZeros = y * select(nearOne, evaluate(kLogGamma1, y, Precision::Double),
                              evaluate(kLogGamma2, y, Precision::Double));
  Term one = literal(1.0, x);
  Term argument = select(u < -0.25, -u * (1.0 + u), abs(u));
  Term logarithm = log(select((u >= 0.75) & (u < 8), one, argument));
  Term below = nearZeros - logarithm;

  Term z = 1.0 / u;
  Term tail = evaluate(kLogStirling, z * z, Precision::Double) * z;
  const double constant = 0x1.acfe390c97d69p-2; // (log(2 pi) - 1) / 2
  Term large = (u - 0.5) * (logarithm - 1.0) + (tail + constant);
  Term ofU = select(u < 2.5, below,
                    select(u < 4.5, (u - 2.0) * evaluate(kLogGamma3, u, Precision::Double),
                           select(u < 8, evaluate(kLogGamma6, u, Precision::Double), large)));

  Term reflected = log(kPi / (u * abs(sineOfHalfTurns(u)))) - ofU;
  Term result = select(isReflected, reflected, ofU);
  Term isPole = isReflected & (floor(x) == x);
  return select(isPole | isInfinite(x), INFINITY, result);
}

//===-- error function ------------------------------------------------------------------------===//

/// erfinv(x) / x as a function of w = -log(1 - x^2), or of its root: Giles, Approximating the
/// erfinv Function, GPU Computing Gems Jade, 2011. `pieces` of them reach as far as the caller
/// goes.
Term inverseRatio(Term w, int pieces) {
  Term root = sqrt(w);
  Term result = evaluate(kErfInverse3, root, Precision::Double);
  result = select(root < 4, evaluate(kErfInverse2, root, Precision::Double), result);
  if (pieces > 3)
    result = select(root > 6.1, evaluate(kErfInverse4, root, Precision::Double), result);
  if (pieces > 4)
    result = select(root > 12.1, evaluate(kErfInverse5, root, Precision::Double), result);
  return select(w < 6.25, evaluate(kErfInverse1, w, Precision::Double), result);
}

Term inverseErf(Term x) {
  Term w = -log((1.0 - x) * (1.0 + x));
  Term result = x * inverseRatio(w, 3);
  return select(abs(x) == 1.0, copySign(literal(INFINITY, x), x), result);
}

Term inverseErfc(Term y) {
  Term w = -log(y * (2.0 - y));
  Term result = (1.0 - y) * inverseRatio(w, 5);
  result = select(y == 0.0, INFINITY, result);
  return select(y == 2.0, -INFINITY, result);
}

/// exp(x^2) erfc(x), x >= 0. Shepherd, Laframboise: Chebyshev Approximation of (1 + 2x) exp(x^2)
/// erfc x, Math. Comp. 36, 1981; and below 1 a plain polynomial.
Term scaledComplement(Term x) {
  Term q = (x - 4.0) / (x + 4.0);
  Term result = evaluate(kErfcx, q, Precision::Double) / (x + 0.5);
  result = select(x < 1.0, evaluate(kErfcxNear, x, Precision::Double), result);
  return select(isInfinite(x), 0.0, result);
}

Term erfcx(Term x) {
  Term v = abs(x);
  Term right = scaledComplement(v);
  Term left = expOfSquare(atMost(v, 28), 1) * 2.0 - right;
  return select(x < 0.0, left, right);
}

/// exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2: the rounding of the quotient does no harm there.
Term normalDistribution(Term x) {
  Term v = atMost(abs(x), 40);
  Term tail = (scaledComplement(v * kSqrtHalf) * 0.5) * expOfSquare(v, -0.5);
  return select(x < 0.0, tail, 1.0 - tail);
}

//===-- modified Bessel functions -------------------------------------------------------------===//

/// A series in x^2, and exp(x) / sqrt(x) times one in 1 / x. (DLMF 10.25, 10.40.)
Term besselI(int order, Term x) {
  Term v = abs(x), half = v * 0.5;
  Term near = evaluate(order ? kBesselI1 : kBesselI0, half * half, Precision::Double);
  // exp(v) overflows before the result does.
  Term isHuge = v > 700;
  Term power = exp(select(isHuge, half, v));
  Term scaled =
      evaluate(order ? kBesselI1Large : kBesselI0Large, 1.0 / v, Precision::Double) / sqrt(v);
  Term far = (power * scaled) * select(isHuge, power, 1.0);
  far = select(isInfinite(v), INFINITY, far);
  if (order)
    return select(v < 8.0, x * near, copySign(far, x));
  return select(v < 8.0, near, far);
}

} // namespace

Term gammaFunction(Term x, Precision precision) {
  return gammaOf(x, precision);
}

void addSpecialFunctions(BuiltinTable &table) {
  struct {
    const char *signature;
    Term (*ofSingle)(Term);
    Term (*ofDouble)(Term);
  } const functions[] = {
      {"tgamma(x)", single::gamma, [](Term x) { return gammaOf(x, Precision::Double); }},
      {"lgamma(x)", single::logGamma, logGamma},
      {"erfinv(x)", single::inverseErf, inverseErf},
      {"erfcinv(x)", single::inverseErfc, inverseErfc},
      {"erfcx(x)", single::erfcx, erfcx},
      {"normcdf(x)", single::normalDistribution, normalDistribution},
      {"normcdfinv(x)", [](Term x) { return single::inverseErfc(x * 2.0) * -kSqrt2; },
       [](Term x) { return inverseErfc(x * 2.0) * -kSqrt2; }},
      {"cyl_bessel_i0(x)", [](Term x) { return single::besselI(0, x); },
       [](Term x) { return besselI(0, x); }},
      {"cyl_bessel_i1(x)", [](Term x) { return single::besselI(1, x); },
       [](Term x) { return besselI(1, x); }},
  };
  for (auto [signature, ofSingle, ofDouble] : functions)
    addForEachWidth(
        table, signature, [ofSingle = ofSingle](ArrayRef<Term> t) { return ofSingle(t[0]); },
        [ofDouble = ofDouble](ArrayRef<Term> t) { return ofDouble(t[0]); });
}

} // namespace sectile::lang
