// pow: exp2(y log2|x|) with the logarithm to about 70 bits, as the exponent multiplies its error by
// up to 1024. Signs and special values follow C's annex F. And cbrt.
#include "backends/common/math/LaneFunctions.h"
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

#include <cmath>

namespace sectile::backends {

using V = llvm::Value *;

/// A constant of two parts: its number in the lanes' type, and what that leaves.
static Lanes::Pair constantPair(const Lanes &l, double high, double low) {
  return {l.number(high), l.number(low)};
}

/// a * (b.high + b.low), but for the last bits of the lower part.
static Lanes::Pair times(const Lanes &l, const Lanes::Pair &a, const Lanes::Pair &b) {
  Lanes::Pair product = l.twoProduct(a.high, b.high);
  return {product.high, l.mulAdd(a.high, b.low, l.mulAdd(a.low, b.high, product.low))};
}

/// log2 of a positive finite number: exponent + log2(1 + f), log(1 + f) = 2 atanh(f / (2 + f)).
static Lanes::Pair log2Pair(const Lanes &l, V x) {
  if (auto *number = constantOf(x);
      number && !l.isDouble && number->getValue().isFiniteNonZero() && !number->isNegative()) {
    const double log = std::log2(double(number->getValue().convertToFloat()));
    return constantPair(l, float(log), log - float(log));
  }
  Decomposed d = decompose(l, x);
  // s = f / (2 + f): the quotient and its remainder's.
  Lanes::Pair bottom = l.fastTwoSum(l.number(2), d.f);
  V inverse = l.inverse(bottom.high);
  V s = l.mul(d.f, inverse);
  Lanes::Pair back = l.twoProduct(s, bottom.high);
  V rest = l.sub(l.sub(d.f, back.high), l.mulAdd(s, bottom.low, back.low));
  V sLow = l.mul(rest, inverse);

  // s^2 and s^3 as pairs, for the term 2/3 s^3; the terms from s^5 on need one number only.
  Lanes::Pair z = l.twoProduct(s, s);
  z.low = l.mulAdd(l.add(s, s), sLow, z.low);
  Lanes::Pair cube = l.twoProduct(z.high, s);
  cube.low = l.add(l.mulAdd(z.high, sLow, l.mul(z.low, s)), cube.low);
  Lanes::Pair third =
      times(l, cube,
            l.isDouble ? constantPair(l, 0x1.5555555555555p-1, 0x1.5555555555555p-55)
                       : constantPair(l, 0x1.555556p-1, -0x1.555556p-26));
  V tail = l.isDouble ? l.polynomial(z.high, coefficients::kLogDouble)
                      : l.polynomial(z.high, coefficients::kLogDouble32);
  V fifth = l.mul(l.mul(cube.high, z.high), tail);

  Lanes::Pair log = l.fastTwoSum(l.add(s, s), third.high);
  V logLow = l.add(log.low, l.add(l.add(third.low, fifth), l.add(sLow, sLow)));
  log = l.fastTwoSum(log.high, logLow);

  Lanes::Pair scaled =
      times(l, log,
            l.isDouble ? constantPair(l, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56)
                       : constantPair(l, 0x1.715476p0, 0x1.4ae0cp-26));
  // The exponent is 0 or the larger one.
  Lanes::Pair sum = l.fastTwoSum(d.exponent, scaled.high);
  return l.fastTwoSum(sum.high, l.add(sum.low, scaled.low));
}

/// 2^(log * y).
static V powerOfLog(const Lanes &l, const Lanes::Pair &log, V y) {
  V zero = l.number(0);
  Lanes::Pair exponent = l.twoProduct(log.high, y);
  V low = l.mulAdd(log.low, y, exponent.low);
  V high = l.isDouble ? l.clamp(exponent.high, -1100, 1100) : l.clamp(exponent.high, -160, 140);
  low = l.select(l.equal(high, exponent.high), low, zero);
  low = l.select(l.isNan(low), zero, low); // infinite or huge factors
  Lanes::Whole n = l.nearest(high);
  V r = l.add(l.sub(high, n.whole), low);
  V p = l.isDouble ? l.polynomial(r, coefficients::kExp2_64)
                   : l.polynomial(r, coefficients::kExp2_32);
  return l.scale(l.mulAdd(r, p, l.number(1)), n);
}

/// Whether y is an integer, and an odd one.
static std::pair<V, V> integerAndOdd(const Lanes &l, V y) {
  V isInteger = l.equal(emitTrunc(l, y), y);
  V half = l.mul(y, l.number(0.5));
  return {isInteger,
          l.builder.CreateAnd(isInteger, l.builder.CreateFCmpONE(emitTrunc(l, half), half))};
}

/// For all arguments.
static V powOfAny(const Lanes &l, V x, V y, bool isExtended) {
  llvm::IRBuilderBase &b = l.builder;
  V base = l.abs(x), zero = l.number(0), one = l.number(1);
  Lanes::Pair log;
  if (isExtended)
    log = {emitLog2(l, base), zero}; // zero, infinity and NaN included
  else
    log = log2Pair(l, base);
  log.high = l.select(b.CreateFCmpULT(base, l.infinity()), log.high, base);
  log.high = l.select(l.equal(base, zero), l.neg(l.infinity()), log.high);
  log.high = l.select(l.isNan(base), base, log.high);
  V result = powerOfLog(l, log, y);

  // Odd exponents keep the sign of the base; others than integers have no value for negative bases.
  auto [isInteger, isOdd] = integerAndOdd(l, y);
  result = l.select(isOdd, l.copySign(result, x), result);
  V isUndefined =
      b.CreateAnd(b.CreateAnd(l.less(x, zero), b.CreateNot(isInteger)), l.less(base, l.infinity()));
  result = l.select(isUndefined, l.nan(), result);
  // A NaN exponent makes high NaN, but infinity times zero is no NaN argument.
  result = l.select(b.CreateFCmpUNO(x, y), l.nan(), result);
  V isMinusOne = b.CreateAnd(l.equal(base, one), l.equal(l.abs(y), l.infinity()));
  V isOne = b.CreateOr(b.CreateOr(l.equal(x, one), l.equal(y, zero)), isMinusOne);
  return l.select(isOne, one, result);
}

V emitPow(const Lanes &l, V x, V y, bool isExtended) {
  if (!l.host.oneThread)
    return powOfAny(l, x, y, isExtended);
  // One thread: numbers other than 0, with the sign in a branch of its own; the rest is a call.
  llvm::IRBuilderBase &b = l.builder;
  V base = l.abs(x), zero = l.number(0);
  if (llvm::ConstantFP *known = constantOf(x)) // as the builder does not compute |x|
    base = llvm::ConstantFP::get(l.type, llvm::abs(known->getValue()));
  V isOrdinary = b.CreateAnd(l.isPositiveFinite(base), l.less(l.abs(y), l.infinity()));
  V result = powerOfLog(l, log2Pair(l, base), y);
  result = l.usually(l.less(zero, x), result, [&] {
    auto [isInteger, isOdd] = integerAndOdd(l, y);
    return l.select(isInteger, l.select(isOdd, l.neg(result), result), l.nan());
  });
  return l.usually(isOrdinary, result, [&] {
    return callLaneFunction(l, "pow", {x, y}, [](const Lanes &inner, llvm::ArrayRef<V> a) {
      return powOfAny(inner, a[0], a[1], false);
    });
  });
}

/// In f32, for one thread: 2^(log2(x) / 3) by instructions has 17 bits or more, Newton's step
/// doubles them.
static V shortCbrt(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V isSubnormal = l.less(magnitude, l.number(0x1p-126));
  V normal = l.select(isSubnormal, l.mul(magnitude, l.number(0x1p24)), magnitude);
  V root = emitNearExp2(l, l.mul(emitNearLog2(l, normal), l.number(1.0 / 3)));
  V square = l.mul(root, root);
  V rest = l.negMulAdd(square, root, normal);
  V result = l.mulAdd(rest, l.mul(l.inverse(square), l.number(1.0 / 3)), root);
  result = l.select(isSubnormal, l.mul(result, l.number(0x1p-8)), result);
  return l.copySign(l.select(l.isPositiveFinite(magnitude), result, magnitude), x);
}

V emitCbrt(const Lanes &l, V x) {
  if (!l.isDouble)
    return shortCbrt(l, x);
  llvm::IRBuilderBase &b = l.builder;
  V magnitude = l.abs(x);
  V isSubnormal = l.less(magnitude, l.number(0x1p-1022));
  V normal = l.select(isSubnormal, l.mul(magnitude, l.number(0x1p54)), magnitude);
  // magnitude = m * 2^(3k) with 1 <= m < 8: thirds of the biased exponent, in floating point. The
  // bias is 3 * 341.
  V bits = l.bitsOf(normal);
  V field = b.CreateLShr(bits, l.integer(l.mantissaBits()));
  const double offset = 0x1p52;
  V biased = l.sub(l.floatOf(b.CreateOr(field, l.bitsOf(l.number(offset)))), l.number(offset));
  V third = emitFloor(l, l.mul(l.add(biased, l.number(0.5)), l.number(1.0 / 3))); // biased / 3
  V left = l.negMulAdd(third, l.number(3), biased);                               // 0, 1 or 2
  V fraction = b.CreateAnd(bits, l.integer((uint64_t(1) << l.mantissaBits()) - 1));
  V m = l.floatOf(b.CreateOr(fraction, l.bitsOf(l.number(1))));
  m = l.select(l.equal(left, l.number(1)), l.add(m, m), m);
  m = l.select(l.equal(left, l.number(2)), l.mul(m, l.number(4)), m);
  // Halley's iteration triples the digits: 9, 28, 84.
  V root = l.polynomial(m, coefficients::kCbrt);
  for (int step = 0; step < 2; ++step) {
    V cube = l.mul(l.mul(root, root), root);
    V error = l.ratio(l.sub(m, cube), l.mulAdd(cube, l.number(2), m));
    root = l.mulAdd(root, error, root);
  }
  V result = l.mul(root, l.powerOfTwo(l.nearest(l.sub(third, l.number(341)))));
  result = l.select(isSubnormal, l.mul(result, l.number(0x1p-18)), result);
  V isOrdinary = b.CreateAnd(l.less(l.number(0), magnitude), l.less(magnitude, l.infinity()));
  return l.copySign(l.select(isOrdinary, result, magnitude), x);
}

} // namespace sectile::backends
