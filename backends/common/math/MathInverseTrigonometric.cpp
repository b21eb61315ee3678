// asin, acos, atan and atan2: reduced to short intervals by the half-angle and addition formulas,
// then one odd polynomial.
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

namespace sectile::backends {

using V = llvm::Value *;

static const double kPi = 0x1.921fb54442d18p1, kPiTail = 0x1.1a62633145c07p-53;

/// What `factor` * pi rounded to the lanes' type leaves.
static double piTail(const Lanes &l, double factor) {
  if (l.isDouble)
    return factor * kPiTail;
  return factor * kPi - double(float(factor * kPi));
}

/// asin(t) - t, |t| <= 1/2, with z = t * t.
static V asinTail(const Lanes &l, V t, V z) {
  V p =
      l.isDouble ? l.polynomial(z, coefficients::kAsin64) : l.polynomial(z, coefficients::kAsin32);
  return l.mul(l.mul(t, z), p);
}

/// t and asin(t) - t in f32, in few instructions: t is |x|, or sqrt((1 - |x|) / 2) where `isLarge`.
static std::pair<V, V> shortAsin(const Lanes &l, V magnitude, V isLarge) {
  V halved = l.mulAdd(magnitude, l.number(-0.5), l.number(0.5));
  V t = l.select(isLarge, l.root(halved), magnitude);
  return {t, asinTail(l, t, l.mul(t, t))};
}

V emitAsin(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V isLarge = l.less(l.number(0.5), magnitude);
  // asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))
  if (l.host.oneThread && !l.isDouble) {
    auto [t, tail] = shortAsin(l, magnitude, isLarge);
    V minusTwo = l.number(-2);
    V complement = l.add(l.mulAdd(minusTwo, t, l.number(kPi / 2)),
                         l.mulAdd(minusTwo, tail, l.number(piTail(l, 0.5))));
    return l.copySign(l.select(isLarge, complement, l.add(t, tail)), x);
  }
  V halved = l.mul(l.sub(l.number(1), magnitude), l.number(0.5));
  V z = l.select(isLarge, halved, l.mul(x, x));
  V t = l.select(isLarge, l.root(halved), magnitude);
  V tail = asinTail(l, t, z);
  V angle = l.add(t, tail);
  V complement = l.sub(l.sub(l.number(kPi / 2), l.add(t, t)),
                       l.sub(l.add(tail, tail), l.number(piTail(l, 0.5))));
  return l.copySign(l.select(isLarge, complement, angle), x);
}

V emitAcos(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V isLarge = l.less(l.number(0.5), magnitude);
  // x > 1/2: 2 asin(t); x < -1/2: pi - 2 asin(t); else pi/2 - asin(x)
  if (l.host.oneThread && !l.isDouble) {
    auto [t, tail] = shortAsin(l, magnitude, isLarge);
    V angle = l.add(t, tail), twice = l.add(angle, angle);
    V reflected = l.sub(l.number(kPi), twice);
    V small = l.sub(l.number(kPi / 2), l.copySign(angle, x));
    return l.select(isLarge, l.select(l.less(x, l.number(0)), reflected, twice), small);
  }
  V halved = l.mul(l.sub(l.number(1), magnitude), l.number(0.5));
  V z = l.select(isLarge, halved, l.mul(x, x));
  V t = l.select(isLarge, l.root(halved), x);
  V tail = asinTail(l, t, z);
  V twice = l.add(l.add(t, t), l.add(tail, tail));
  V reflected = l.sub(l.number(kPi), l.sub(twice, l.number(piTail(l, 1))));
  V large = l.select(l.less(x, l.number(0)), reflected, twice);
  V small = l.sub(l.number(kPi / 2), l.add(t, l.sub(tail, l.number(piTail(l, 0.5)))));
  return l.select(isLarge, large, small);
}

/// atan(numerator / denominator), both positive, numerator <= denominator.
static V atanOfRatio(const Lanes &l, V numerator, V denominator) {
  // Above tan(pi/8): atan(n/d) = pi/4 + atan((n - d) / (n + d))
  V isUpper = l.less(l.mul(denominator, l.number(0x1.a827999fcef32p-2)), numerator);
  V top = l.select(isUpper, l.sub(numerator, denominator), numerator);
  V bottom = l.select(isUpper, l.add(numerator, denominator), denominator);
  V t = l.ratio(top, bottom);
  V z = l.mul(t, t);
  V p =
      l.isDouble ? l.polynomial(z, coefficients::kAtan64) : l.polynomial(z, coefficients::kAtan32);
  V tail = l.mul(l.mul(t, z), p);
  tail = l.add(tail, l.select(isUpper, l.number(piTail(l, 0.25)), l.number(0)));
  V angle = l.add(t, tail);
  return l.select(isUpper, l.add(l.number(kPi / 4), angle), angle);
}

V emitAtan(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V isSteep = l.less(l.number(1), magnitude);
  V one = l.number(1);
  // Beyond the limit the result is pi/2; below it nothing overflows.
  V limited = l.min(magnitude, l.isDouble ? 0x1p60 : 0x1p30);
  V angle = atanOfRatio(l, l.select(isSteep, one, limited), l.select(isSteep, limited, one));
  V complement = l.sub(l.number(kPi / 2), l.sub(angle, l.number(piTail(l, 0.5))));
  return l.copySign(l.select(isSteep, complement, angle), x);
}

V emitAtan2(const Lanes &l, V y, V x) {
  llvm::IRBuilderBase &b = l.builder;
  V height = l.abs(y), width = l.abs(x);
  V isSteep = l.less(width, height);
  V larger = l.select(isSteep, height, width), smaller = l.select(isSteep, width, height);
  // The angle between two infinities is 45 degrees, that of one and a number 0; 0 / 0 counts as
  // 0 / 1.
  V isInfinite = l.equal(larger, l.infinity());
  V beside = l.select(l.equal(smaller, l.infinity()), l.number(1), l.number(0));
  larger = l.select(isInfinite, l.number(1), larger);
  smaller = l.select(isInfinite, beside, smaller);
  larger = l.select(l.equal(larger, l.number(0)), l.number(1), larger);
  // Sums of the two must not overflow, and parts of them not be rounded to subnormal numbers.
  V isHuge = l.less(l.number(l.isDouble ? 0x1p1000 : 0x1p120), larger);
  V isTiny = l.less(larger, l.number(l.isDouble ? 0x1p-960 : 0x1p-100));
  V scale = l.select(isHuge, l.number(0x1p-8), l.number(1));
  scale = l.select(isTiny, l.number(l.isDouble ? 0x1p64 : 0x1p32), scale);
  V angle = atanOfRatio(l, l.mul(smaller, scale), l.mul(larger, scale));
  angle =
      l.select(isSteep, l.sub(l.number(kPi / 2), l.sub(angle, l.number(piTail(l, 0.5)))), angle);
  V isLeft = b.CreateICmpSLT(l.bitsOf(x), l.integer(0)); // also of -0
  angle = l.select(isLeft, l.sub(l.number(kPi), l.sub(angle, l.number(piTail(l, 1)))), angle);
  angle = l.copySign(angle, y);
  return l.select(b.CreateFCmpUNO(x, y), l.nan(), angle);
}

} // namespace sectile::backends
