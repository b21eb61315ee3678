#include "backends/common/math/NumberConversion.h"

#include "backends/common/math/LaneArithmetic.h"
#include "lang/plain/FloatFormats.h"

#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/ErrorHandling.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace sectile::backends {

using V = llvm::Value *;

namespace {

struct Format : lang::FloatFormat {
  double smallestNormal() const { return std::ldexp(1.0, 1 - bias); }
  /// The distance of subnormal numbers.
  double quantum() const { return std::ldexp(1.0, 1 - bias - int(mantissaBits)); }
  double largestValue() const {
    double mantissa = 1 + (largest & ((1u << mantissaBits) - 1)) / double(1u << mantissaBits);
    return std::ldexp(mantissa, int(largest >> mantissaBits) - bias);
  }
  uint32_t signMask() const { return 1u << (bits - 1); }
  unsigned droppedBits() const { return 23 - mantissaBits; }
};

Format formatOf(NarrowFloat kind) {
  using lang::floatFormatOf, lang::ScalarKind;
  switch (kind) {
  case NarrowFloat::F16:
    return {floatFormatOf(ScalarKind::Float16)};
  case NarrowFloat::BF16:
    return {floatFormatOf(ScalarKind::BFloat16)};
  case NarrowFloat::F8E4M3FN:
    return {floatFormatOf(ScalarKind::Float8E4NV)};
  case NarrowFloat::F8E4M3FNUZ:
    return {floatFormatOf(ScalarKind::Float8E4B8)};
  case NarrowFloat::F8E5M2:
    return {floatFormatOf(ScalarKind::Float8E5)};
  case NarrowFloat::F8E5M2FNUZ:
    return {floatFormatOf(ScalarKind::Float8E5B16)};
  }
  llvm_unreachable("a narrow float has a format");
}

uint32_t bitsOfFloat(double value) {
  return llvm::bit_cast<uint32_t>(float(value));
}

constexpr uint32_t kInfinityBits = 0x7f800000;

/// An f32 taken apart.
struct Magnitude {
  V sign, bits, value; // sign: bit 31 alone; bits, value: |x|
  V isNan;
};

Magnitude magnitudeOf(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  V all = l.bitsOf(x);
  V bits = b.CreateAnd(all, l.integer(0x7fffffff));
  return {b.CreateAnd(all, l.integer(0x80000000)), bits, l.floatOf(bits),
          b.CreateICmpUGT(bits, l.integer(kInfinityBits))};
}

/// Rounds the low bits of `bits` away, leaving zeros. Carries run into the exponent, as they
/// should.
V roundLowBits(const Lanes &l, V bits, unsigned dropped, FloatRounding rounding) {
  llvm::IRBuilderBase &b = l.builder;
  if (rounding == FloatRounding::NearestEven) {
    V last = b.CreateAnd(b.CreateLShr(bits, l.integer(dropped)), l.integer(1));
    bits = b.CreateAdd(b.CreateAdd(bits, l.integer((1u << (dropped - 1)) - 1)), last);
  }
  return b.CreateAnd(bits, l.integer(~((1u << dropped) - 1)));
}

/// f64 -> f32 that keeps a trace of what it drops: an inexact result has an odd last bit, so that
/// rounding it to fewer bits gives what rounding the f64 would. See addRoundToOdd.
V truncateToOdd(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V x) {
  Lanes l(b, host, x->getType()->getWithNewType(b.getFloatTy()));
  Lanes wide(b, host, x->getType());
  V rounded = b.CreateFPTrunc(x, l.type);
  V back = b.CreateFPExt(rounded, wide.type);
  V bits = l.bitsOf(rounded);
  V isInexact = b.CreateFCmpONE(back, x);
  V isEven = b.CreateICmpEQ(b.CreateAnd(bits, l.integer(1)), l.integer(0));
  V isAbove = wide.less(wide.abs(x), wide.abs(back));
  V neighbour = b.CreateAdd(bits, l.select(isAbove, l.integer(~0u), l.integer(1)));
  return l.floatOf(l.select(b.CreateAnd(isInexact, isEven), neighbour, bits));
}

/// |x| as a multiple of the quantum, an integer; for |x| below the smallest normal number.
V subnormalPattern(const Lanes &l, const Format &format, V magnitude, FloatRounding rounding) {
  llvm::IRBuilderBase &b = l.builder;
  if (rounding == FloatRounding::TowardZero) {
    V scaled = l.mul(magnitude, l.number(1 / format.quantum()));
    V isSmall = l.less(magnitude, l.number(format.smallestNormal()));
    return b.CreateFPToSI(l.select(isSmall, scaled, l.number(0)), l.intType);
  }
  // An addition that puts the quantum at the last bit rounds there.
  double magic = std::ldexp(format.quantum(), 23);
  return b.CreateSub(l.bitsOf(l.add(magnitude, l.number(magic))), l.integer(bitsOfFloat(magic)));
}

/// The pattern of |x| in i32.
V narrowMagnitude(const Lanes &l, const Format &format, const Magnitude &x, FloatRounding rounding,
                  bool saturates) {
  llvm::IRBuilderBase &b = l.builder;
  unsigned dropped = format.droppedBits();
  V rounded = roundLowBits(l, x.bits, dropped, rounding);
  V pattern = b.CreateLShr(rounded, l.integer(dropped));
  if (format.bias != 127) {
    pattern = b.CreateSub(pattern, l.integer(uint32_t(127 - format.bias) << format.mantissaBits));
    V isSubnormal = b.CreateICmpULT(x.bits, l.integer(bitsOfFloat(format.smallestNormal())));
    pattern = l.select(isSubnormal, subnormalPattern(l, format, x.value, rounding), pattern);
  }
  V limit = l.integer(saturates ? format.largest : format.largest + 1);
  if (!saturates && rounding == FloatRounding::TowardZero) {
    V isInfinite = b.CreateICmpEQ(x.bits, l.integer(kInfinityBits));
    limit = l.select(isInfinite, limit, l.integer(format.largest));
  }
  V isTooLarge = b.CreateICmpUGT(pattern, l.integer(format.largest));
  pattern = l.select(isTooLarge, limit, pattern);
  V nan = l.integer(format.nan);
  if (format.hasInfinity) {
    // A format with many NaNs keeps the pattern of the one that was widened: moving numbers by way
    // of f32 changes nothing. A NaN of f32 whose upper bits are those of infinity becomes the plain
    // one.
    V upper =
        b.CreateAnd(b.CreateLShr(x.bits, l.integer(dropped)), l.integer(format.signMask() - 1));
    nan = l.select(b.CreateICmpEQ(upper, l.integer(format.largest + 1)), nan, upper);
  }
  return l.select(x.isNan, nan, pattern);
}

/// `pattern` with the sign bit of x in its place.
V withSign(const Lanes &l, const Format &format, V pattern, V sign) {
  llvm::IRBuilderBase &b = l.builder;
  V moved = b.CreateLShr(sign, l.integer(32 - format.bits));
  if (!format.hasNegativeZero) // nor a negative NaN
    moved = l.select(b.CreateICmpEQ(pattern, l.integer(0)), l.integer(0), moved);
  return b.CreateOr(pattern, moved);
}

/// The bf16 bits of lanes that emitWiden made of bf16, or select among such and constants of bf16;
/// null for all others. What a kernel only moves is not rounded again, which takes a dozen
/// instructions.
V widenedBits(llvm::IRBuilderBase &b, V value) {
  using namespace llvm::PatternMatch;
  llvm::Type *narrow = value->getType()->getWithNewType(b.getInt16Ty());
  V bits = nullptr, condition = nullptr, chosen = nullptr, other = nullptr;
  if (match(value, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16)))))
    return bits->getType() == narrow ? bits : nullptr;
  if (const llvm::APFloat *number = nullptr; match(value, m_APFloat(number))) {
    uint64_t pattern = number->bitcastToAPInt().getZExtValue();
    return pattern & 0xffff ? nullptr : llvm::ConstantInt::get(narrow, pattern >> 16);
  }
  if (!match(value, m_Select(m_Value(condition), m_Value(chosen), m_Value(other))))
    return nullptr;
  V first = widenedBits(b, chosen);
  V second = first ? widenedBits(b, other) : nullptr;
  return second ? b.CreateSelect(condition, first, second) : nullptr;
}

llvm::Type *halfLike(V value) {
  return value->getType()->getWithNewType(llvm::Type::getHalfTy(value->getContext()));
}

} // namespace

std::optional<NarrowFloat> narrowFloatOf(mlir::Type type) {
  if (type.isF16())
    return NarrowFloat::F16;
  if (type.isBF16())
    return NarrowFloat::BF16;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return NarrowFloat::F8E4M3FN;
  if (llvm::isa<mlir::Float8E4M3FNUZType>(type))
    return NarrowFloat::F8E4M3FNUZ;
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return NarrowFloat::F8E5M2;
  if (llvm::isa<mlir::Float8E5M2FNUZType>(type))
    return NarrowFloat::F8E5M2FNUZ;
  return std::nullopt;
}

unsigned narrowFloatBits(NarrowFloat kind) {
  return formatOf(kind).bits;
}

double largestOf(NarrowFloat kind) {
  return formatOf(kind).largestValue();
}

V emitWiden(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V bits, NarrowFloat kind) {
  Lanes l(b, host, bits->getType()->getWithNewType(b.getFloatTy()));
  if (kind == NarrowFloat::F16 && host.f16c)
    return b.CreateFPExt(b.CreateBitCast(bits, halfLike(bits)), l.type);
  V wide = b.CreateZExt(bits, l.intType);
  if (kind == NarrowFloat::BF16)
    return l.floatOf(b.CreateShl(wide, l.integer(16)));

  // In the place of an f32's fields the exponent is off by a constant, which a product repairs,
  // also for subnormal numbers.
  const Format format = formatOf(kind);
  V sign =
      b.CreateShl(b.CreateAnd(wide, l.integer(format.signMask())), l.integer(32 - format.bits));
  V magnitude = b.CreateAnd(wide, l.integer(format.signMask() - 1));
  V placed = l.floatOf(b.CreateShl(magnitude, l.integer(format.droppedBits())));
  V value = l.bitsOf(l.mul(placed, l.number(std::ldexp(1.0, 127 - format.bias))));
  if (format.hasInfinity) { // the mantissa of infinity and NaN is in place already
    V isSpecial = b.CreateICmpUGT(magnitude, l.integer(format.largest));
    value = b.CreateOr(value, l.select(isSpecial, l.integer(kInfinityBits), l.integer(0)));
  }
  value = b.CreateOr(value, sign);
  if (!format.hasInfinity) {
    V isNan = format.hasNegativeZero ? b.CreateICmpEQ(magnitude, l.integer(format.nan))
                                     : b.CreateICmpEQ(wide, l.integer(format.nan));
    V nan = l.integer(0x7fc00000);
    // The sign bit of the one NaN of fnuz types is no sign.
    value = l.select(isNan, format.hasNegativeZero ? b.CreateOr(nan, sign) : nan, value);
  }
  return l.floatOf(value);
}

V emitNarrow(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value, NarrowFloat kind,
             FloatRounding rounding, Narrowing narrowing) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = truncateToOdd(b, host, value);
  if (V bits = kind == NarrowFloat::BF16 ? widenedBits(b, value) : nullptr)
    return bits;
  Lanes l(b, host, value->getType());
  const Format format = formatOf(kind);
  llvm::Type *narrowType = l.intType->getWithNewBitWidth(format.bits);
  if (kind == NarrowFloat::BF16 && narrowing == Narrowing::Form)
    return b.CreateTrunc(b.CreateLShr(l.bitsOf(value), l.integer(format.droppedBits())),
                         narrowType);
  if (kind == NarrowFloat::F16 && host.f16c && rounding == FloatRounding::NearestEven)
    return b.CreateBitCast(b.CreateFPTrunc(value, halfLike(value)), narrowType);
  Magnitude x = magnitudeOf(l, value);
  bool keepsInfinity = narrowing == Narrowing::Form && format.hasInfinity;
  V pattern = narrowMagnitude(l, format, x, rounding, format.saturates && !keepsInfinity);
  if (!format.hasNegativeZero) // the only NaN has the sign bit already
    x.sign = l.select(x.isNan, l.integer(0), x.sign);
  return b.CreateTrunc(withSign(l, format, pattern, x.sign), narrowType);
}

V emitRound(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value, NarrowFloat kind,
            FloatRounding rounding) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = truncateToOdd(b, host, value);
  Lanes l(b, host, value->getType());
  if (kind == NarrowFloat::F16 && host.f16c && rounding == FloatRounding::NearestEven)
    return b.CreateFPExt(b.CreateFPTrunc(value, halfLike(value)), l.type);

  const Format format = formatOf(kind);
  if (kind == NarrowFloat::BF16 && rounding == FloatRounding::NearestEven) {
    // The carry of a large number runs into the exponent and gives infinity: the sign stays.
    V all = l.bitsOf(value);
    V isNan = b.CreateICmpUGT(b.CreateShl(all, l.integer(1)), l.integer(kInfinityBits << 1));
    V quiet = b.CreateOr(all, l.integer(0x00400000));
    return l.floatOf(l.select(isNan, quiet, roundLowBits(l, all, format.droppedBits(), rounding)));
  }
  Magnitude x = magnitudeOf(l, value);
  V rounded = roundLowBits(l, x.bits, format.droppedBits(), rounding);
  if (format.bias != 127) {
    V pattern = subnormalPattern(l, format, x.value, rounding);
    V small = l.mul(b.CreateSIToFP(pattern, l.type), l.number(format.quantum()));
    V isSubnormal = b.CreateICmpULT(x.bits, l.integer(bitsOfFloat(format.smallestNormal())));
    rounded = l.select(isSubnormal, l.bitsOf(small), rounded);
  }
  uint32_t largest = bitsOfFloat(format.largestValue());
  V limit = l.integer(format.saturates ? largest : kInfinityBits);
  V isTooLarge = b.CreateICmpUGT(rounded, l.integer(largest));
  if (!format.saturates && rounding == FloatRounding::TowardZero) {
    V isInfinite = b.CreateICmpEQ(x.bits, l.integer(kInfinityBits));
    limit = l.select(isInfinite, limit, l.integer(largest));
  }
  rounded = l.select(isTooLarge, limit, rounded);
  rounded = l.select(x.isNan, b.CreateOr(x.bits, l.integer(0x00400000)), rounded);
  V result = l.floatOf(b.CreateOr(rounded, x.sign));
  return format.hasNegativeZero ? result : l.add(result, l.number(0));
}

V emitTruncateDouble(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value,
                     FloatRounding rounding) {
  Lanes l(b, host, value->getType()->getWithNewType(b.getFloatTy()));
  Lanes wide(b, host, value->getType());
  V rounded = b.CreateFPTrunc(value, l.type);
  if (rounding == FloatRounding::NearestEven)
    return rounded;
  V isAbove = wide.less(wide.abs(value), wide.abs(b.CreateFPExt(rounded, wide.type)));
  V bits = l.bitsOf(rounded);
  return l.floatOf(l.select(isAbove, b.CreateSub(bits, l.integer(1)), bits));
}

V emitFloatToInt(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value,
                 llvm::Type *integerType, bool isSigned) {
  Lanes l(b, host, value->getType());
  unsigned bits = integerType->getScalarSizeInBits();
  unsigned computedBits = bits <= 32 ? 32 : 64;
  llvm::Type *computed = l.type->getWithNewType(b.getIntNTy(computedBits));
  double high = std::ldexp(1.0, int(bits) - (isSigned ? 1 : 0)); // the first too large
  double low = isSigned ? -high : 0;

  // Outside the range the instruction's result differs between CPUs, and LLVM's is poison.
  V isBelow = b.CreateFCmpOLT(value, l.number(low));
  V isAbove = b.CreateFCmpOGE(value, l.number(high));
  V isInside =
      b.CreateAnd(b.CreateFCmpOGE(value, l.number(low)), b.CreateFCmpOLT(value, l.number(high)));
  V safe = l.select(isInside, value, l.number(0));
  bool fitsSigned = isSigned || bits < 32;
  V result = fitsSigned ? b.CreateFPToSI(safe, computed) : b.CreateFPToUI(safe, computed);
  llvm::APInt largest = isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(computedBits)
                                 : llvm::APInt::getMaxValue(bits).zext(computedBits);
  result = l.select(isAbove, llvm::ConstantInt::get(computed, largest), result);
  if (isSigned) {
    llvm::APInt smallest = llvm::APInt::getSignedMinValue(bits).sext(computedBits);
    result = l.select(isBelow, llvm::ConstantInt::get(computed, smallest), result);
  }
  return b.CreateTrunc(result, l.type->getWithNewType(integerType->getScalarType()));
}

V emitIntToFloat(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value,
                 llvm::Type *floatType, bool isSigned) {
  llvm::Type *target = value->getType()->getWithNewType(floatType->getScalarType());
  unsigned bits = value->getType()->getScalarSizeInBits();
  if (bits < 32) {
    llvm::Type *wide = value->getType()->getWithNewBitWidth(32);
    value = isSigned ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
    isSigned = true;
  }
  return isSigned ? b.CreateSIToFP(value, target) : b.CreateUIToFP(value, target);
}

/// Returns n with an integer in [0, 2^n), or in [-2^n, 2^n) where it has a sign, by the operation
/// that made it. More is not asked: loops are still being emitted, and phis have not all their
/// values.
static unsigned magnitudeBits(V integer, bool isSigned) {
  using namespace llvm::PatternMatch;
  const unsigned bits = integer->getType()->getScalarSizeInBits();
  const llvm::APInt *number;
  if (match(integer, m_c_And(m_Value(), m_APInt(number))) && number->isNonNegative())
    return number->getActiveBits();
  if (match(integer, m_LShr(m_Value(), m_APInt(number))) && !number->isZero() && number->ult(bits))
    return bits - unsigned(number->getZExtValue());
  if (isSigned && match(integer, m_AShr(m_Value(), m_APInt(number))) && number->ult(bits))
    return bits - 1 - unsigned(number->getZExtValue());
  V narrow;
  if (match(integer, m_ZExt(m_Value(narrow))))
    return narrow->getType()->getScalarSizeInBits();
  if (isSigned && match(integer, m_SExt(m_Value(narrow))))
    return narrow->getType()->getScalarSizeInBits() - 1;
  return isSigned ? bits - 1 : bits;
}

bool isExactInFloat(V integer, bool isSigned) {
  return magnitudeBits(integer, isSigned) <= 24;
}

V emitIntToNarrow(llvm::IRBuilderBase &b, const ArithmeticFeatures &host, V value, NarrowFloat kind,
                  bool isSigned) {
  if (isExactInFloat(value, isSigned))
    return emitRound(b, host, emitIntToFloat(b, host, value, b.getFloatTy(), isSigned), kind);
  if (value->getType()->getScalarSizeInBits() == 64) {
    // More than 53 bits: gather the last ones in one, so that f64 holds the number.
    auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(value->getType(), v); };
    V low = b.CreateAnd(value, integer(0x7ff));
    V sticky = b.CreateSelect(b.CreateICmpNE(low, integer(0)), integer(0x800), integer(0));
    V gathered = b.CreateOr(b.CreateAnd(value, integer(~uint64_t(0x7ff))), sticky);
    const uint64_t exact = uint64_t(1) << 53;
    V isExact = isSigned ? b.CreateICmpULT(b.CreateAdd(value, integer(exact)), integer(2 * exact))
                         : b.CreateICmpULT(value, integer(exact));
    value = b.CreateSelect(isExact, value, gathered);
  }
  return emitRound(b, host, emitIntToFloat(b, host, value, b.getDoubleTy(), isSigned), kind);
}

} // namespace sectile::backends
