#include "backends/amd/AmdMath.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/PatternMatch.h"

namespace sectile::amd {

namespace id = llvm::Intrinsic;

using backends::FloatExtremum;
using backends::FloatRounding;
using backends::MathFunction;
using backends::NarrowFloat;

AmdMath::AmdMath(const AmdArch &arch)
    : MathTarget(backends::ArithmeticFeatures::gpu(
          {id::amdgcn_rcp, id::amdgcn_sqrt, id::amdgcn_log, id::amdgcn_exp2})),
      hasMaximum(arch.hasMaximum()), fp8(arch.fp8) {}

llvm::Value *AmdMath::math(Builder &builder, MathFunction function,
                           llvm::ArrayRef<Value *> arguments, bool mayApproximate) const {
  Value *x = arguments.front();
  switch (function) {
  case MathFunction::Exp2:
    // v_exp_f32 within one unit in the last place; LLVM scales where the result is subnormal.
    if (x->getType()->isFloatTy())
      return builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, x);
    break;
  case MathFunction::Sqrt:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  case MathFunction::Abs:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  case MathFunction::Floor:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  case MathFunction::Ceil:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
  case MathFunction::Trunc:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  case MathFunction::RoundEven:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
  case MathFunction::Fma:
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, arguments);
  default:
    break;
  }
  return MathTarget::math(builder, function, arguments, mayApproximate);
}

llvm::Value *AmdMath::divide(Builder &builder, Value *lhs, Value *rhs) const {
  // The reciprocal of a large divisor is subnormal, which v_rcp_f32 has few digits of: where the
  // kernel leaves the choice, LLVM scales by powers of two (2.5 units in the last place) rather
  // than multiply by it.
  llvm::FastMathFlags flags = builder.getFastMathFlags();
  if (!lhs->getType()->isFloatTy() || !flags.approxFunc())
    return builder.CreateFDiv(lhs, rhs);
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  flags.setApproxFunc(false);
  flags.setAllowReciprocal(false);
  builder.setFastMathFlags(flags);
  return builder.CreateFDiv(lhs, rhs, "", llvm::MDBuilder(builder.getContext()).createFPMath(2.5f));
}

llvm::Value *AmdMath::extremum(Builder &builder, FloatExtremum kind, Value *lhs, Value *rhs) const {
  bool isFloat = lhs->getType()->isFloatTy();
  switch (kind) {
  case FloatExtremum::MaxNum:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, lhs, rhs);
  case FloatExtremum::MinNum:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, lhs, rhs);
  case FloatExtremum::Maximum:
    if (isFloat && hasMaximum)
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, lhs, rhs);
    break;
  case FloatExtremum::Minimum:
    if (isFloat && hasMaximum)
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, lhs, rhs);
    break;
  }
  return MathTarget::extremum(builder, kind, lhs, rhs);
}

//===-- Numbers of 8 and 16 bits --------------------------------------------------------------===//

static bool isE5M2(NarrowFloat kind) {
  return kind == NarrowFloat::F8E5M2 || kind == NarrowFloat::F8E5M2FNUZ;
}

bool AmdMath::converts(NarrowFloat kind) const {
  switch (fp8) {
  case Fp8Kinds::None:
    return false;
  case Fp8Kinds::Fnuz:
    return kind == NarrowFloat::F8E4M3FNUZ || kind == NarrowFloat::F8E5M2FNUZ;
  case Fp8Kinds::Ocp:
    return kind == NarrowFloat::F8E4M3FN || kind == NarrowFloat::F8E5M2;
  }
  return false;
}

namespace {

/// A byte of a vector that fills words of 32 bits; `vector` is null for any other byte.
struct ByteOfVector {
  llvm::Value *vector = nullptr;
  uint64_t lane = 0;
};

ByteOfVector byteOfVector(llvm::Value *value) {
  using namespace llvm::PatternMatch;
  llvm::Value *vector = nullptr;
  uint64_t lane = 0;
  if (!match(value, m_ExtractElt(m_Value(vector), m_ConstantInt(lane))))
    return {};
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  return type && type->getNumElements() % 4 == 0 ? ByteOfVector{vector, lane} : ByteOfVector();
}

/// The word that has the byte. One of its other bytes may be poison for LLVM, which must not
/// spread.
llvm::Value *wordOf(llvm::IRBuilderBase &b, ByteOfVector byte) {
  unsigned count = llvm::cast<llvm::FixedVectorType>(byte.vector->getType())->getNumElements();
  auto *words = llvm::FixedVectorType::get(b.getInt32Ty(), count / 4);
  return b.CreateExtractElement(b.CreateBitCast(b.CreateFreeze(byte.vector), words), byte.lane / 4);
}

} // namespace

void AmdMath::widenEach(Builder &b, llvm::MutableArrayRef<Value *> values, NarrowFloat kind) const {
  if (!converts(kind))
    return MathTarget::widenEach(b, values, kind);
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  // The instructions take any byte of a register, or two: what was loaded as a vector is not taken
  // apart for them.
  const auto one = isE5M2(kind) ? id::amdgcn_cvt_f32_bf8 : id::amdgcn_cvt_f32_fp8;
  const auto pair = isE5M2(kind) ? id::amdgcn_cvt_pk_f32_bf8 : id::amdgcn_cvt_pk_f32_fp8;
  for (size_t i = 0; i < values.size(); ++i) {
    ByteOfVector low = byteOfVector(values[i]);
    ByteOfVector high = i + 1 < values.size() ? byteOfVector(values[i + 1]) : ByteOfVector();
    if (low.vector && low.vector == high.vector && low.lane % 2 == 0 && high.lane == low.lane + 1) {
      Value *both = b.CreateIntrinsic(pair, {}, {wordOf(b, low), b.getInt1(low.lane % 4 != 0)});
      values[i] = b.CreateExtractElement(both, uint64_t(0));
      values[++i] = b.CreateExtractElement(both, uint64_t(1));
      continue;
    }
    Value *word = low.vector ? wordOf(b, low) : b.CreateZExt(values[i], b.getInt32Ty());
    values[i] = b.CreateIntrinsic(one, {}, {word, b.getInt32(uint32_t(low.lane % 4))});
  }
}

llvm::Value *AmdMath::clamped(Builder &b, Value *value, double limit) const {
  auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  if (hasMaximum)
    return b.CreateBinaryIntrinsic(
        id::maximum, b.CreateBinaryIntrinsic(id::minimum, value, number(limit)), number(-limit));
  Value *inside = b.CreateIntrinsic(id::amdgcn_fmed3, {value->getType()},
                                    {value, number(-limit), number(limit)});
  return b.CreateSelect(b.CreateFCmpUNO(value, value), value, inside);
}

void AmdMath::narrowEach(Builder &b, llvm::MutableArrayRef<Value *> values, NarrowFloat kind,
                         FloatRounding rounding) const {
  if (!converts(kind) || rounding != FloatRounding::NearestEven ||
      llvm::any_of(values, [](Value *value) { return !value->getType()->isFloatTy(); }))
    return MathTarget::narrowEach(b, values, kind, rounding);
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  // The instructions make NaN or infinity of what is too large, unless a mode is set that halves
  // would obey, too.
  const double limit = backends::largestOf(kind);
  const auto instruction = isE5M2(kind) ? id::amdgcn_cvt_pk_bf8_f32 : id::amdgcn_cvt_pk_fp8_f32;
  for (size_t i = 0; i < values.size(); i += 2) {
    const bool isPair = i + 1 < values.size();
    // Frozen: one of a pair may be padding, poison for LLVM, which must not spread to the other.
    Value *low = clamped(b, b.CreateFreeze(values[i]), limit);
    Value *high = isPair ? clamped(b, b.CreateFreeze(values[i + 1]), limit) : low;
    // The upper half of the register stays what it was.
    Value *bits = b.CreateIntrinsic(
        instruction, {}, {low, high, b.CreateBitCast(low, b.getInt32Ty()), b.getFalse()});
    values[i] = b.CreateTrunc(bits, b.getInt8Ty());
    if (isPair)
      values[i + 1] = b.CreateTrunc(b.CreateLShr(bits, 8), b.getInt8Ty());
  }
}

llvm::Value *AmdMath::round(Builder &b, Value *value, NarrowFloat kind,
                            FloatRounding rounding) const {
  const bool isBfloat = kind == NarrowFloat::BF16;
  if (rounding != FloatRounding::NearestEven || !value->getType()->isFloatTy() ||
      (!isBfloat && !converts(kind)))
    return MathTarget::round(b, value, kind, rounding);
  if (isBfloat) // gfx950 has an instruction, and LLVM drops what rounds twice
    return b.CreateFPExt(b.CreateFPTrunc(value, b.getBFloatTy()), value->getType());
  narrowEach(b, value, kind, rounding);
  return widen(b, value, kind);
}

llvm::Value *AmdMath::intToNarrow(Builder &b, Value *value, NarrowFloat kind, bool isSigned) const {
  if (!backends::isExactInFloat(value, isSigned))
    return MathTarget::intToNarrow(b, value, kind, isSigned);
  return round(b, intToFloat(b, value, b.getFloatTy(), isSigned), kind, FloatRounding::NearestEven);
}

} // namespace sectile::amd
