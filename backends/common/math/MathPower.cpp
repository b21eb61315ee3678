// pow: exp2(y log2|x|) with the logarithm to about 70 bits, as the exponent multiplies its error by
// up to 1024. Signs and special values follow C's annex F. And cbrt.
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

namespace sectile::backends {

using V = llvm::Value *;

/// log2 of a positive finite number: exponent + log2(1 + f), log(1 + f) = 2 atanh(f / (2 + f)).
static Lanes::Pair log2Pair(const Lanes &l, V x) {
  Decomposed d = decompose(l, x);
  // s = f / (2 + f): the quotient and its remainder's.
  Lanes::Pair bottom = l.fastTwoSum(l.number(2), d.f);
  V s = l.div(d.f, bottom.high);
  Lanes::Pair back = l.twoProduct(s, bottom.high);
  V rest = l.sub(l.sub(d.f, back.high), l.mulAdd(s, bottom.low, back.low));
  V sLow = l.div(rest, bottom.high);

  // s^2 and s^3 as pairs, for the term 2/3 s^3; the terms from s^5 on need one number only.
  Lanes::Pair z = l.twoProduct(s, s);
  V zLow = l.mulAdd(l.add(s, s), sLow, z.low);
  Lanes::Pair cube = l.twoProduct(z.high, s);
  V cubeLow = l.add(l.mulAdd(z.high, sLow, l.mul(zLow, s)), cube.low);
  const double twoThirds = 0x1.5555555555555p-1, twoThirdsLow = 0x1.5555555555555p-55;
  Lanes::Pair third = l.twoProduct(cube.high, l.number(twoThirds));
  V thirdLow = l.mulAdd(cube.high, l.number(twoThirdsLow),
                        l.mulAdd(cubeLow, l.number(twoThirds), third.low));
  V fifth = l.mul(l.mul(cube.high, z.high), l.polynomial(z.high, coefficients::kLogDouble));

  Lanes::Pair log = l.fastTwoSum(l.add(s, s), third.high);
  V logLow = l.add(log.low, l.add(l.add(thirdLow, fifth), l.add(sLow, sLow)));
  log = l.fastTwoSum(log.high, logLow);

  const double log2e = 0x1.71547652b82fep0, log2eLow = 0x1.777d0ffda0d24p-56;
  Lanes::Pair scaled = l.twoProduct(log.high, l.number(log2e));
  V scaledLow =
      l.mulAdd(log.high, l.number(log2eLow), l.mulAdd(log.low, l.number(log2e), scaled.low));
  Lanes::Pair sum = l.twoSum(d.exponent, scaled.high);
  return l.fastTwoSum(sum.high, l.add(sum.low, scaledLow));
}

V emitPow64(const Lanes &l, V x, V y, bool isExtended) {
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

  Lanes::Pair exponent = l.twoProduct(log.high, y);
  V low = l.mulAdd(log.low, y, exponent.low);
  V high = l.clamp(exponent.high, -1100, 1100);
  low = l.select(l.equal(high, exponent.high), low, zero);
  low = l.select(l.isNan(low), zero, low); // infinite or huge factors
  Lanes::Whole n = l.nearest(high);
  V r = l.add(l.sub(high, n.whole), low);
  V p = l.polynomial(r, coefficients::kExp2_64);
  V result = l.scale(l.mulAdd(r, p, one), n);

  // Odd exponents keep the sign of the base; others than integers have no value for negative bases.
  V isInteger = l.equal(emitTrunc(l, y), y);
  V half = l.mul(y, l.number(0.5));
  V isOdd = b.CreateAnd(isInteger, b.CreateFCmpONE(emitTrunc(l, half), half));
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

V emitCbrt64(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  V magnitude = l.abs(x);
  V isSubnormal = l.less(magnitude, l.number(0x1p-1022));
  V normal = l.select(isSubnormal, l.mul(magnitude, l.number(0x1p54)), magnitude);
  // magnitude = m * 2^(3k) with 1 <= m < 8: thirds of the biased exponent, in floating point.
  V bits = l.bitsOf(normal);
  V field = b.CreateLShr(bits, l.integer(52));
  V magic = l.number(0x1p52);
  V biased = l.sub(l.floatOf(b.CreateOr(field, l.bitsOf(magic))), magic);
  V third = emitFloor(l, l.mul(l.add(biased, l.number(0.5)), l.number(1.0 / 3))); // biased / 3
  V left = l.negMulAdd(third, l.number(3), biased);                               // 0, 1 or 2
  V fraction = b.CreateAnd(bits, l.integer((uint64_t(1) << 52) - 1));
  V m = l.floatOf(b.CreateOr(fraction, l.integer(uint64_t(1023) << 52)));
  m = l.select(l.equal(left, l.number(1)), l.add(m, m), m);
  m = l.select(l.equal(left, l.number(2)), l.mul(m, l.number(4)), m);
  // Halley's iteration triples the digits: 9, 28, 84.
  V root = l.polynomial(m, coefficients::kCbrt);
  for (int step = 0; step < 2; ++step) {
    V cube = l.mul(l.mul(root, root), root);
    V error = l.div(l.sub(m, cube), l.mulAdd(cube, l.number(2), m));
    root = l.mulAdd(root, error, root);
  }
  // 1023 = 3 * 341, so 2^k with k = third - 341.
  V k = l.sub(third, l.number(341));
  V result = l.mul(root, l.powerOfTwo(l.nearest(k)));
  result = l.select(isSubnormal, l.mul(result, l.number(0x1p-18)), result);
  V isOrdinary = b.CreateAnd(l.less(l.number(0), magnitude), l.less(magnitude, l.infinity()));
  return l.copySign(l.select(isOrdinary, result, magnitude), x);
}

} // namespace sectile::backends
