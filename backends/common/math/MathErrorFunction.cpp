// erf and erfc.
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

namespace sectile::backends {

using V = llvm::Value *;

static const double kLog2e = 0x1.71547652b82fep0;

/// For x >= 0: exp(-x^2) times a factor that is nearly flat in (x - 4) / (x + 4).
/// Shepherd, Laframboise: Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, Math. Comp. 36,
/// 1981.
static V complementOfPositive(const Lanes &l, V magnitude) {
  V x = l.min(magnitude, l.isDouble ? 27.5 : 10.2); // erfc is zero from there on
  V q = l.ratio(l.sub(x, l.number(4)), l.add(x, l.number(4)));
  V flat =
      l.isDouble ? l.polynomial(q, coefficients::kErfc64) : l.polynomial(q, coefficients::kErfc32);
  V factor = l.ratio(flat, l.add(l.add(x, x), l.number(1)));
  Lanes::Pair square = l.twoProduct(x, x);
  Exponential e = reduceExp(l, l.neg(square.high), l.neg(square.low));
  return l.scale(l.mulAdd(e.p, factor, factor), e.n);
}

/// |x| <= 1.
static V erfOfSmall(const Lanes &l, V x) {
  V z = l.mul(x, x);
  V p = l.isDouble ? l.polynomial(z, coefficients::kErf64) : l.polynomial(z, coefficients::kErf32);
  return l.mulAdd(x, p, x);
}

V emitErfc(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V complement = complementOfPositive(l, magnitude);
  V large = l.select(l.less(x, l.number(0)), l.sub(l.number(2), complement), complement);
  V small = l.sub(l.number(1), erfOfSmall(l, x));
  return l.select(l.less(magnitude, l.number(0.5)), small, large);
}

/// For 1 <= x: -expm1(log(erfc(x))). Inexact logarithms do no harm, for erfc is small there.
static V erfOfLarge32(const Lanes &l, V magnitude) {
  V x = l.min(magnitude, 3.93); // 1 from there on
  V exponent = l.polynomial(x, coefficients::kErfTail32);
  if (V power = l.approximation(l.host.instructions.power, l.mul(exponent, l.number(kLog2e))))
    return l.sub(l.number(1), power);
  Exponential e = reduceExp(l, exponent);
  V power = l.powerOfTwo(e.n);
  return l.sub(l.number(1), l.mulAdd(e.p, power, power));
}

V emitErf(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V large = l.isDouble ? l.sub(l.number(1), complementOfPositive(l, magnitude))
                       : erfOfLarge32(l, magnitude);
  V isSmall = l.less(magnitude, l.number(1));
  return l.select(isSmall, erfOfSmall(l, x), l.copySign(large, x));
}

} // namespace sectile::backends
