// exp and its kin: Cody and Waite's reduction, a polynomial, and the exponent put in place.
// Cody, Waite: Software Manual for the Elementary Functions, 1980.
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

namespace sectile::backends {

using V = llvm::Value *;

Exponential reduceExp(const Lanes &l, V x, V tail) {
  // The high part of ln 2 has so few bits that n * high is exact.
  const double high = l.isDouble ? 0x1.62e42feep-1 : 0x1.63p-1;
  const double low = l.isDouble ? 0x1.a39ef35793c76p-33 : -0x1.bd0105c610ca8p-13;
  Lanes::Whole n = l.nearestProduct(x, 0x1.71547652b82fep0);
  V r = l.negMulAdd(n.whole, l.number(high), x);
  if (tail)
    r = l.add(r, tail);
  r = l.negMulAdd(n.whole, l.number(low), r);
  V q = l.isDouble ? l.polynomial(r, coefficients::kExp64) : l.polynomial(r, coefficients::kExp32);
  return {l.mulAdd(l.mul(r, r), q, r), n};
}

V emitExp(const Lanes &l, V x) {
  // Beyond the limits the result is zero or infinity all the same.
  Exponential e = reduceExp(l, l.isDouble ? l.clamp(x, -746, 710) : l.clamp(x, -104, 89));
  return l.scale(l.add(e.p, l.number(1)), e.n);
}

V emitExp2(const Lanes &l, V x) {
  V limited = l.isDouble ? l.clamp(x, -1076, 1025) : l.clamp(x, -151, 129);
  Lanes::Whole n = l.nearest(limited);
  V r = l.sub(limited, n.whole);
  V p = l.isDouble ? l.polynomial(r, coefficients::kExp2_64)
                   : l.polynomial(r, coefficients::kExp2_32);
  return l.scale(l.mulAdd(r, p, l.number(1)), n);
}

V emitNearExp2(const Lanes &l, V x) {
  V close = l.approximation(l.host.instructions.power, x);
  return close ? close : emitExp2(l, x);
}

/// `n` less an integer.
static Lanes::Whole lowered(const Lanes &l, const Lanes::Whole &n, unsigned by) {
  return {l.sub(n.whole, l.number(by)), l.builder.CreateSub(n.raw, l.integer(by))};
}

/// (exp(x) - 1) / 2: half, because 2^(n - 1) is finite wherever the result is.
static V halfExpm1(const Lanes &l, V x) {
  Exponential e = reduceExp(l, x);
  V power = l.powerOfTwo(lowered(l, e.n, 1));
  return l.mulAdd(e.p, power, l.sub(power, l.number(0.5)));
}

V emitExpm1(const Lanes &l, V x) {
  V half = halfExpm1(l, l.isDouble ? l.clamp(x, -60, 709.8) : l.clamp(x, -40, 88.8));
  V result = l.add(half, half);
  // Here expm1(x) rounds to x, whose last bit the halving may lose, as it loses the sign of zero.
  V isTiny = l.less(l.abs(x), l.number(l.isDouble ? 0x1p-54 : 0x1p-25));
  return l.select(isTiny, x, result);
}

V emitTanh(const Lanes &l, V x) {
  V twice = l.abs(l.add(x, x));
  V half = halfExpm1(l, l.min(twice, l.isDouble ? 44 : 20));
  return l.copySign(l.ratio(half, l.add(half, l.number(1))), x);
}

/// exp(|x|) / 4, which is finite wherever the results are.
static V quarterExpOfMagnitude(const Lanes &l, V magnitude) {
  Exponential e = reduceExp(l, l.min(magnitude, l.isDouble ? 711 : 90));
  return l.mul(l.add(e.p, l.number(1)), l.powerOfTwo(lowered(l, e.n, 2)));
}

V emitCosh(const Lanes &l, V x) {
  V quarter = quarterExpOfMagnitude(l, l.abs(x));
  return l.mulAdd(quarter, l.number(2), l.mul(l.number(0.125), l.inverse(quarter)));
}

V emitSinh(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V quarter = quarterExpOfMagnitude(l, magnitude);
  V large = l.mulAdd(quarter, l.number(2), l.mul(l.number(-0.125), l.inverse(quarter)));
  // Near zero that difference cancels.
  V small;
  if (l.isDouble) {
    // m + m / (2m + 1) with m = expm1(|x|) / 2.
    V m = halfExpm1(l, l.min(magnitude, 1));
    small = l.add(m, l.ratio(m, l.add(l.add(m, m), l.number(1))));
    small = l.select(l.less(magnitude, l.number(0x1p-28)), magnitude, small);
  } else {
    V square = l.mul(magnitude, magnitude);
    V p = l.polynomial(square, coefficients::kSinh32);
    small = l.mulAdd(l.mul(magnitude, square), p, magnitude);
  }
  return l.copySign(l.select(l.less(magnitude, l.number(1)), small, large), x);
}

} // namespace sectile::backends
