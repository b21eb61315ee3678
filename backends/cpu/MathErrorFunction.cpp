// erf and erfc.
#include "backends/cpu/MathCoefficients.h"
#include "backends/cpu/MathFamilies.h"

namespace sectile::cpu {

using V = llvm::Value *;

/// For x >= 0: exp(-x^2) times a factor that is nearly flat in (x - 4) / (x + 4).
/// Shepherd, Laframboise: Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, Math. Comp. 36,
/// 1981.
static V complementOfPositive(const Lanes &l, V magnitude) {
  V x = l.min(magnitude, 27.5); // erfc is zero from there on
  V q = l.div(l.sub(x, l.number(4)), l.add(x, l.number(4)));
  V factor = l.div(l.polynomial(q, coefficients::kErfc64), l.add(l.add(x, x), l.number(1)));
  Lanes::Pair square = l.twoProduct(x, x);
  Exponential e = reduceExp(l, l.neg(square.high), l.neg(square.low));
  return l.scale(l.mulAdd(e.p, factor, factor), e.n);
}

V emitErfc64(const Lanes &l, V x) {
  V complement = complementOfPositive(l, l.abs(x));
  return l.select(l.less(x, l.number(0)), l.sub(l.number(2), complement), complement);
}

/// erf(x) = -expm1(g) with g = log(erfc(x)), which is x times a smooth factor.
static V emitErf32(const Lanes &l, V x) {
  V magnitude = l.min(l.abs(x), 3.93); // 1 from there on
  V g = l.neg(l.mul(magnitude, l.polynomial(magnitude, coefficients::kErf32)));
  Exponential e = reduceExp(l, g);
  V power = l.powerOfTwo(e.n);
  V result = l.mulAdd(e.p, power, l.sub(power, l.number(1)));
  return l.copySign(result, x);
}

V emitErf(const Lanes &l, V x) {
  if (!l.isDouble)
    return emitErf32(l, x);
  V magnitude = l.abs(x);
  V isSmall = l.less(magnitude, l.number(1));
  V small = l.mulAdd(x, l.polynomial(l.mul(x, x), coefficients::kErf64), x);
  V large = l.copySign(l.sub(l.number(1), complementOfPositive(l, magnitude)), x);
  return l.select(isSmall, small, large);
}

} // namespace sectile::cpu
