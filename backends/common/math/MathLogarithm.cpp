// Logarithms and the inverse hyperbolic functions. The f64 form is that of Ng and others in FDLIBM
// (1993): log(1 + f) = 2 atanh(s) with s = f / (2 + f), arranged so that f itself is added last.
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

namespace sectile::backends {

using V = llvm::Value *;

Decomposed decompose(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  V isSubnormal = l.less(x, l.number(l.isDouble ? 0x1p-1022 : 0x1p-126));
  V normal = l.select(isSubnormal, l.mul(x, l.number(l.isDouble ? 0x1p54 : 0x1p25)), x);
  V sqrtHalf = l.integer(l.isDouble ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  V offset = b.CreateSub(l.bitsOf(normal), sqrtHalf);
  V shift = l.select(isSubnormal, l.number(l.isDouble ? -54 : -25), l.number(0));
  if (l.host.oneThread && !l.isDouble) {
    // The exponent as a multiple of 2^23 goes through both ways.
    V units = b.CreateAnd(offset, l.integer(0xff800000));
    V one = l.floatOf(b.CreateSub(l.bitsOf(normal), units));
    V exponent = l.mulAdd(b.CreateSIToFP(units, l.type), l.number(0x1p-23), shift);
    return {l.sub(one, l.number(1)), exponent};
  }
  V mantissaMask = l.integer((uint64_t(1) << l.mantissaBits()) - 1);
  V mantissa = l.floatOf(b.CreateAdd(b.CreateAnd(offset, mantissaMask), sqrtHalf));
  V whole = b.CreateAShr(offset, l.integer(l.mantissaBits()));
  V exponent;
  if (l.isDouble) {
    // Few CPUs convert vectors of i64: let an addition of bits do it.
    V magic = l.number(0x1.8p52);
    exponent = l.sub(l.floatOf(b.CreateAdd(whole, l.bitsOf(magic))), magic);
  } else {
    exponent = b.CreateSIToFP(whole, l.type);
  }
  return {l.sub(mantissa, l.number(1)), l.add(exponent, shift)};
}

/// (log(1 + f) - f) / f^2 in f32, in as few instructions as possible.
static V shortLogTail(const Lanes &l, V f) {
  V sum = l.number(llvm::ArrayRef(coefficients::kLog32).back());
  for (double next : llvm::reverse(llvm::ArrayRef(coefficients::kLog32).drop_back()))
    sum = l.mulAdd(sum, f, l.number(next));
  return l.mulAdd(sum, f, l.number(-0.5));
}

/// log(1 + f) - f.
static V logTail(const Lanes &l, V f) {
  V square = l.mul(f, f);
  if (!l.isDouble && l.host.oneThread)
    return l.mul(square, shortLogTail(l, f));
  if (!l.isDouble) {
    V p = l.polynomial(f, coefficients::kLog32);
    return l.mulAdd(square, l.number(-0.5), l.mul(l.mul(square, f), p));
  }
  V s = l.div(f, l.add(f, l.number(2)));
  V z = l.mul(s, s);
  V halfSquare = l.mul(square, l.number(0.5));
  V p = l.mulAdd(z, l.polynomial(z, coefficients::kLog64), halfSquare);
  return l.mulSub(s, p, halfSquare);
}

/// `result` for positive finite x, else what every logarithm gives.
static V withSpecialCases(const Lanes &l, V x, V result) {
  if (l.host.oneThread && !l.isDouble) {
    // x inf + inf is NaN of negative numbers. As an unsigned integer, they, infinity and NaN are
    // all that is larger than finite positive numbers.
    V isBeyond = l.builder.CreateICmpUGE(l.bitsOf(x), l.integer(0x7f800000));
    result = l.select(isBeyond, l.mulAdd(x, l.infinity(), l.infinity()), result);
    return l.select(l.equal(x, l.number(0)), l.neg(l.infinity()), result);
  }
  return l.usually(l.isPositiveFinite(x), result, [&] {
    V negative = l.select(l.less(x, l.number(0)), l.nan(), x); // keeps infinity and NaN
    return l.select(l.equal(x, l.number(0)), l.neg(l.infinity()), negative);
  });
}

/// exponent * ln 2 + f + tail.
static V sumLog(const Lanes &l, const Decomposed &d, V tail) {
  const double high = l.isDouble ? 0x1.62e42feep-1 : 0x1.63p-1;
  const double low = l.isDouble ? 0x1.a39ef35793c76p-33 : -0x1.bd0105c610ca8p-13;
  V sum = l.add(l.mulAdd(d.exponent, l.number(low), tail), d.f);
  return l.mulAdd(d.exponent, l.number(high), sum);
}

V emitLog(const Lanes &l, V x) {
  Decomposed d = decompose(l, x);
  if (!l.isDouble && l.host.oneThread) {
    V ofMantissa = l.mulAdd(l.mul(d.f, d.f), shortLogTail(l, d.f), d.f);
    return withSpecialCases(l, x, l.mulAdd(d.exponent, l.number(0x1.62e43p-1), ofMantissa));
  }
  return withSpecialCases(l, x, sumLog(l, d, logTail(l, d.f)));
}

V emitLog2(const Lanes &l, V x) {
  Decomposed d = decompose(l, x);
  V factor = l.number(0x1.71547652b82fep0);
  V sum = l.mulAdd(logTail(l, d.f), factor, d.exponent);
  return withSpecialCases(l, x, l.mulAdd(d.f, factor, sum));
}

V emitNearLog2(const Lanes &l, V x) {
  V close = l.approximation(l.host.instructions.logarithm, x);
  return close ? close : emitLog2(l, x);
}

V emitLog10(const Lanes &l, V x) {
  Decomposed d = decompose(l, x);
  V factor = l.number(0x1.bcb7b1526e50ep-2);
  // log10(2) in two parts; exponent * high is exact.
  const double high = l.isDouble ? 0x1.34413509fp-2 : 0x1.344p-2;
  const double low = l.isDouble ? 0x1.e7fbcc47c4acdp-40 : 0x1.3509f79fef312p-18;
  V sum = l.mulAdd(logTail(l, d.f), factor, l.mul(d.exponent, l.number(low)));
  sum = l.mulAdd(d.f, factor, sum);
  return withSpecialCases(l, x, l.mulAdd(d.exponent, l.number(high), sum));
}

/// log(1 + x) in f32 without what 1 + x loses: 2^-i (1 + x) - 1, where i is the exponent of 1 + x,
/// is rounded once.
static V shortLog1p(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  V sum = l.add(x, l.number(1));
  V units = b.CreateAnd(b.CreateSub(l.bitsOf(sum), l.integer(0x3f3504f3)), l.integer(0xff800000));
  // 2^-i itself may be subnormal.
  V fourth = l.floatOf(b.CreateSub(l.integer(0x40800000), units)); // 2^(2 - i)
  V f = l.mulAdd(l.mul(x, l.number(0.25)), fourth, l.mulAdd(fourth, l.number(0.25), l.number(-1)));
  V result = l.mulAdd(l.mul(f, f), shortLogTail(l, f), f);
  result = l.mulAdd(b.CreateSIToFP(units, l.type), l.number(0x1.62e43p-24), result);
  result = withSpecialCases(l, sum, result);
  return l.select(l.less(l.abs(x), l.number(0x1p-25)), x, result);
}

V emitLog1p(const Lanes &l, V x) {
  if (!l.isDouble && l.host.oneThread)
    return shortLog1p(l, x);
  Lanes::Pair u = l.twoSum(l.number(1), x);
  Decomposed d = decompose(l, u.high);
  // What 1 + x lost: log(u + c) = log(u) + c / u.
  V tail = l.mulAdd(u.low, l.inverse(u.high), logTail(l, d.f));
  V result = withSpecialCases(l, u.high, sumLog(l, d, tail));
  V isTiny = l.less(l.abs(x), l.number(l.isDouble ? 0x1p-54 : 0x1p-25));
  return l.select(isTiny, x, result);
}

// Hull, Fairgrieve, Tang and others: through log1p, whose argument is formed without cancellation.
V emitAsinh(const Lanes &l, V x) {
  V magnitude = l.abs(x);
  V isHuge = l.less(l.number(l.isDouble ? 0x1p28 : 0x1p13), magnitude);
  V square = l.mul(magnitude, magnitude);
  V root = l.add(l.root(l.add(square, l.number(1))), l.number(1));
  V shifted = l.sub(magnitude, l.number(1)); // log1p(x - 1) = log(x)
  V argument = l.select(isHuge, shifted, l.add(magnitude, l.ratio(square, root)));
  V result = emitLog1p(l, argument);
  return l.copySign(l.select(isHuge, l.add(result, l.number(0x1.62e42fefa39efp-1)), result), x);
}

V emitAcosh(const Lanes &l, V x) {
  V isHuge = l.less(l.number(l.isDouble ? 0x1p28 : 0x1p13), x);
  V t = l.sub(x, l.number(1));
  V inner = l.add(t, l.root(l.mulAdd(t, t, l.add(t, t))));
  V result = emitLog1p(l, l.select(isHuge, t, inner));
  result = l.select(isHuge, l.add(result, l.number(0x1.62e42fefa39efp-1)), result);
  return l.select(l.less(x, l.number(1)), l.nan(), result);
}

V emitAtanh(const Lanes &l, V x) {
  V magnitude = l.min(l.abs(x), 2); // NaN from there on
  V argument = l.mul(l.add(magnitude, magnitude), l.inverse(l.sub(l.number(1), magnitude)));
  V result = l.mul(l.number(0.5), emitLog1p(l, argument));
  V isTiny = l.less(magnitude, l.number(l.isDouble ? 0x1p-28 : 0x1p-13));
  return l.copySign(l.select(isTiny, magnitude, result), x);
}

} // namespace sectile::backends
