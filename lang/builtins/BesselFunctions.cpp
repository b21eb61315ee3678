// Bessel functions of integer order. Left of 8 polynomials with the zeros that are there taken out,
// so that relative errors stay small next to them; from 8 on Hankel's expansion (DLMF 10.17), whose
// absolute error is small.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/LibdeviceTable.h"
#include "lang/builtins/SpecialCoefficients.h"

using namespace mlir;

namespace sectile::lang {

using namespace coefficients;

namespace {

const double kTwoOverPi = 0x1.45f306dc9c883p-1;
const double kOneOverPi = 0x1.45f306dc9c883p-2;

/// x - z.
Term distance(Term x, SplitNumber z) {
  return (x - z.high) - z.low;
}
/// x^2 - z^2.
Term squareDistance(Term x, SplitNumber z) {
  return distance(x, z) * (x + z.high);
}
/// log(x / z), accurate near z.
Term logOfRatio(Term x, SplitNumber z) {
  Term apart = distance(x, z);
  return select(abs(apart) < 0.25 * z.high, log1p(apart / z.high), log(x) - std::log(z.high));
}

/// J of order 0 or 1, 0 <= x < 8.
Term nearJ(int order, Term x, Precision precision) {
  if (!order)
    return select(x < 4,
                  squareDistance(x, kZeroOfJ0_1) * evaluate(kBesselJ0Near, x * x, precision),
                  distance(x, kZeroOfJ0_2) * evaluate(kBesselJ0Far, x, precision));
  return select(x < 5.25,
                x * (squareDistance(x, kZeroOfJ1_1) * evaluate(kBesselJ1Near, x * x, precision)),
                distance(x, kZeroOfJ1_2) * evaluate(kBesselJ1Far, x, precision));
}

/// Y of order 0 or 1, 0 < x < 8. The logarithm is of x over the first zero, where both parts of the
/// sum are zero then: Hart, Computer Approximations, 1968, 6.8.
Term nearY(int order, Term x, Precision precision) {
  auto times = [&](SplitNumber zero, const Polynomial &polynomial) {
    return distance(x, zero) * evaluate(polynomial, x, precision);
  };
  SplitNumber zero = order ? kZeroOfY1_1 : kZeroOfY0_1;
  Term logarithmic = logOfRatio(x, zero) * kTwoOverPi * nearJ(order, x, precision);
  Term square = squareDistance(x, zero);
  if (!order) {
    Term sum = logarithmic + square * evaluate(kBesselY0Near, x * x, precision);
    return select(x < 2.5, sum,
                  select(x < 5.5, times(kZeroOfY0_2, kBesselY0Middle),
                         times(kZeroOfY0_3, kBesselY0Far)));
  }
  Term sum = logarithmic + square * evaluate(kBesselY1Near, x * x, precision) / x;
  return select(x < 4, sum, times(kZeroOfY1_2, kBesselY1Far));
}

enum class Kind { J, Y };

/// x >= 8: sqrt(2 / (pi x)) (P cos(t) - Q sin(t)) and (P sin(t) + Q cos(t)) with t = x - pi/4, or
/// x - 3 pi/4, whose sine and cosine are sums of those of x over sqrt(2).
Term farAway(Kind kind, int order, Term x, Precision precision) {
  Term w = 64.0 / (x * x);
  Term p = evaluate(order ? kHankelP1 : kHankelP0, w, precision);
  Term q = evaluate(order ? kHankelQ1 : kHankelQ0, w, precision) / x;
  Term sine = sin(x), cosine = cos(x);
  Term sum = cosine + sine, difference = sine - cosine;
  // Of t, times sqrt(2).
  Term cosineOfPhase = order ? difference : sum, sineOfPhase = order ? -sum : difference;
  Term wave = kind == Kind::J ? p * cosineOfPhase - q * sineOfPhase
                              : p * sineOfPhase + q * cosineOfPhase;
  Term result = sqrt(kOneOverPi / x) * wave;
  return select(isInfinite(x), 0.0, result);
}

Term besselJ(int order, Term x, Precision precision) {
  Term v = abs(x);
  Term result = select(v < 8.0, nearJ(order, v, precision), farAway(Kind::J, order, v, precision));
  return order ? select(x < 0.0, -result, select(x == 0.0, x, result)) : result;
}

Term besselY(int order, Term x, Precision precision) {
  Term result = select(x < 8.0, nearY(order, x, precision), farAway(Kind::Y, order, x, precision));
  result = select(x == 0.0, -INFINITY, result);
  return select(x < 0.0, NAN, result);
}

} // namespace

void addBesselFunctions(BuiltinTable &table) {
  struct {
    const char *signature;
    Term (*function)(int, Term, Precision);
    int order;
  } const functions[] = {{"j0(x)", besselJ, 0},
                         {"j1(x)", besselJ, 1},
                         {"y0(x)", besselY, 0},
                         {"y1(x)", besselY, 1}};
  for (auto [signature, function, order] : functions)
    addInDouble(table, signature,
                [function = function, order = order](ArrayRef<Term> t, Precision precision) {
                  return function(order, t[0], precision);
                });
}

} // namespace sectile::lang
