#include "backends/nvidia/NvidiaMath.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace sectile::nvidia {

using backends::FloatExtremum;
using backends::FloatRounding;
using backends::MathFunction;
using backends::NarrowFloat;
using llvm::Intrinsic::ID;

NvidiaMath::NvidiaMath(int capability)
    : MathTarget(backends::ArithmeticFeatures::gpu(
          {llvm::Intrinsic::nvvm_rcp_approx_ftz_f, llvm::Intrinsic::nvvm_sqrt_approx_ftz_f,
           llvm::Intrinsic::nvvm_lg2_approx_ftz_f, llvm::Intrinsic::nvvm_ex2_approx_ftz})),
      capability(capability) {}

llvm::Value *NvidiaMath::math(Builder &builder, MathFunction function,
                              llvm::ArrayRef<Value *> arguments, bool mayApproximate) const {
  Value *x = arguments.front();
  bool isFloat = x->getType()->isFloatTy();
  auto approximate = [&](ID id, Value *argument) {
    return builder.CreateIntrinsic(id, {argument->getType()}, {argument});
  };
  switch (function) {
  case MathFunction::Exp2:
    // Powers below 2^-126 are 0 then, as in Triton: ptxas spends three instructions more on them.
    if (isFloat)
      return approximate(mayApproximate ? llvm::Intrinsic::nvvm_ex2_approx_ftz
                                        : llvm::Intrinsic::nvvm_ex2_approx,
                         x);
    break;
  case MathFunction::Exp:
    if (isFloat && mayApproximate) {
      // One product more than 2^x; its rounding costs |x| log2(e) / 2^24 relative, as everywhere in
      // the field.
      llvm::Constant *log2e = llvm::ConstantFP::get(x->getType(), 1.4426950408889634);
      return approximate(llvm::Intrinsic::nvvm_ex2_approx, builder.CreateFMul(x, log2e));
    }
    break;
  case MathFunction::Rsqrt:
    if (isFloat)
      return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_f, {}, {x});
    break;
  case MathFunction::Sqrt:
    if (isFloat && mayApproximate)
      return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_sqrt_approx_f, {}, {x});
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  case MathFunction::Abs:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  case MathFunction::Fma:
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, arguments);
  default:
    break;
  }
  return MathTarget::math(builder, function, arguments, mayApproximate);
}

llvm::Value *NvidiaMath::extremum(Builder &builder, FloatExtremum kind, Value *lhs,
                                  Value *rhs) const {
  // min.f64 and max.f64 have no form in which a NaN wins.
  bool isFloat = lhs->getType()->isFloatTy();
  switch (kind) {
  case FloatExtremum::MaxNum:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, lhs, rhs);
  case FloatExtremum::MinNum:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, lhs, rhs);
  case FloatExtremum::Maximum:
    if (isFloat)
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, lhs, rhs);
    break;
  case FloatExtremum::Minimum:
    if (isFloat)
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, lhs, rhs);
    break;
  }
  return MathTarget::extremum(builder, kind, lhs, rhs);
}

llvm::Value *NvidiaMath::divide(Builder &builder, Value *lhs, Value *rhs) const {
  // Two units in the last place for divisors up to 2^126, as `/` is everywhere in the field.
  if (lhs->getType()->isFloatTy() && builder.getFastMathFlags().approxFunc())
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_div_full, {}, {lhs, rhs});
  return builder.CreateFDiv(lhs, rhs);
}

/// Values two by two; the last may be alone, `high` is null then. They are frozen: one of a pair
/// may be padding, poison for LLVM, which must not spread to the other through the instruction that
/// takes both.
static void
forPairs(llvm::IRBuilderBase &builder, llvm::MutableArrayRef<llvm::Value *> values,
         llvm::function_ref<std::pair<llvm::Value *, llvm::Value *>(llvm::Value *, llvm::Value *)>
             convert) {
  for (size_t i = 0; i < values.size(); i += 2) {
    bool isPair = i + 1 < values.size();
    auto [low, high] = convert(builder.CreateFreeze(values[i]),
                               isPair ? builder.CreateFreeze(values[i + 1]) : nullptr);
    values[i] = low;
    if (isPair)
      values[i + 1] = high;
  }
}

void NvidiaMath::widenEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                           NarrowFloat kind) const {
  if (kind == NarrowFloat::F8E5M2) {
    // The upper byte of a half.
    for (Value *&value : values) {
      Value *bits = builder.CreateShl(builder.CreateZExt(value, builder.getInt16Ty()), 8);
      value = builder.CreateFPExt(builder.CreateBitCast(bits, builder.getHalfTy()),
                                  builder.getFloatTy());
    }
    return;
  }
  if (kind != NarrowFloat::F8E4M3FN || capability < 89)
    return MathTarget::widenEach(builder, values, kind);
  forPairs(builder, values, [&](Value *low, Value *high) {
    Value *bits = builder.CreateZExt(low, builder.getInt16Ty());
    if (high)
      bits = builder.CreateOr(bits,
                              builder.CreateShl(builder.CreateZExt(high, builder.getInt16Ty()), 8));
    Value *halves = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn, {}, {bits});
    auto at = [&](uint64_t lane) {
      return builder.CreateFPExt(builder.CreateExtractElement(halves, lane), builder.getFloatTy());
    };
    return std::pair{at(0), high ? at(1) : nullptr};
  });
}

void NvidiaMath::narrowEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                            NarrowFloat kind, FloatRounding rounding) const {
  bool isE4m3 = kind == NarrowFloat::F8E4M3FN, isE5m2 = kind == NarrowFloat::F8E5M2;
  if ((!isE4m3 && !isE5m2) || capability < 89 || rounding != FloatRounding::NearestEven ||
      llvm::any_of(values, [](Value *value) { return !value->getType()->isFloatTy(); }))
    return MathTarget::narrowEach(builder, values, kind, rounding);
  const ID instruction =
      isE4m3 ? llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn : llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn;
  forPairs(builder, values, [&](Value *low, Value *high) {
    Value *top = high ? high : llvm::ConstantFP::get(low->getType(), 0);
    Value *bits = builder.CreateIntrinsic(instruction, {}, {top, low});
    auto at = [&](unsigned shift) {
      return builder.CreateTrunc(builder.CreateLShr(bits, shift), builder.getInt8Ty());
    };
    return std::pair{at(0), high ? at(8) : nullptr};
  });
}

/// Rounds to odd: sets the last bit of `number`, which was rounded toward zero, where something was
/// lost. A second rounding to fewer bits then gives the correctly rounded result.
static llvm::Value *roundedToOdd(llvm::IRBuilderBase &builder, llvm::Value *number,
                                 llvm::Value *isInexact) {
  llvm::Value *bits = builder.CreateBitCast(number, builder.getInt32Ty());
  bits = builder.CreateOr(bits, builder.CreateZExt(isInexact, builder.getInt32Ty()));
  return builder.CreateBitCast(bits, builder.getFloatTy());
}

/// PTX ISA, "cvt": a float that the integer type has no number for becomes the nearest that there
/// is, and NaN becomes 0 from f32 to 32 bits or fewer.
llvm::Value *NvidiaMath::floatToInt(Builder &builder, Value *value, llvm::Type *integerType,
                                    bool isSigned) const {
  const unsigned bits = integerType->getScalarSizeInBits();
  const bool isDouble = value->getType()->isDoubleTy();
  if ((!isDouble && !value->getType()->isFloatTy()) || bits < 8 || (isDouble && bits < 32) ||
      llvm::isa<llvm::Constant>(value))
    return MathTarget::floatToInt(builder, value, integerType, isSigned);
  // The conversion of a rounded number rounds by itself.
  auto *rounded = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  const bool isRounded = rounded && rounded->getIntrinsicID() == llvm::Intrinsic::roundeven;
  if (isRounded)
    value = rounded->getArgOperand(0);
  if (bits < 32) {
    // A number of 8 bits is in a register of 32.
    llvm::Type *held = builder.getIntNTy(bits == 8 ? 32 : 16);
    auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(held, {value->getType()}, false),
                                          (isRounded ? "cvt.rni." : "cvt.rzi.") +
                                              std::string(isSigned ? "s" : "u") +
                                              std::to_string(bits) + ".f32 $0, $1;",
                                          bits == 8 ? "=r,f" : "=h,f", /*hasSideEffects=*/false);
    return builder.CreateTrunc(builder.CreateCall(assembly, {value}), builder.getIntNTy(bits));
  }
  using llvm::Intrinsic::nvvm_d2i_rn, llvm::Intrinsic::nvvm_d2i_rz, llvm::Intrinsic::nvvm_d2ll_rn,
      llvm::Intrinsic::nvvm_d2ll_rz, llvm::Intrinsic::nvvm_d2ui_rn, llvm::Intrinsic::nvvm_d2ui_rz,
      llvm::Intrinsic::nvvm_d2ull_rn, llvm::Intrinsic::nvvm_d2ull_rz, llvm::Intrinsic::nvvm_f2i_rn,
      llvm::Intrinsic::nvvm_f2i_rz, llvm::Intrinsic::nvvm_f2ll_rn, llvm::Intrinsic::nvvm_f2ll_rz,
      llvm::Intrinsic::nvvm_f2ui_rn, llvm::Intrinsic::nvvm_f2ui_rz, llvm::Intrinsic::nvvm_f2ull_rn,
      llvm::Intrinsic::nvvm_f2ull_rz;
  // By type, by rounding, by width and sign.
  constexpr ID kConversions[2][2][4] = {{{nvvm_f2ui_rz, nvvm_f2i_rz, nvvm_f2ull_rz, nvvm_f2ll_rz},
                                         {nvvm_f2ui_rn, nvvm_f2i_rn, nvvm_f2ull_rn, nvvm_f2ll_rn}},
                                        {{nvvm_d2ui_rz, nvvm_d2i_rz, nvvm_d2ull_rz, nvvm_d2ll_rz},
                                         {nvvm_d2ui_rn, nvvm_d2i_rn, nvvm_d2ull_rn, nvvm_d2ll_rn}}};
  Value *result = builder.CreateIntrinsic(
      kConversions[isDouble][isRounded][(bits == 64 ? 2 : 0) + isSigned], {}, {value});
  if (!isDouble && bits == 32)
    return result;
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value),
                              llvm::ConstantInt::get(result->getType(), 0), result);
}

llvm::Value *NvidiaMath::intToNarrow(Builder &builder, Value *value, NarrowFloat kind,
                                     bool isSigned) const {
  unsigned bits = value->getType()->getScalarSizeInBits();
  if (backends::isExactInFloat(value, isSigned))
    return round(builder, intToFloat(builder, value, builder.getFloatTy(), isSigned), kind,
                 FloatRounding::NearestEven);
  // Not by f64, which these GPUs may have 64 times fewer units for. (And ptxas, 12.8 to 13.0, gets
  // long sequences of it wrong that start from predicates.)
  ID instruction =
      bits == 32 ? (isSigned ? llvm::Intrinsic::nvvm_i2f_rz : llvm::Intrinsic::nvvm_ui2f_rz)
                 : (isSigned ? llvm::Intrinsic::nvvm_ll2f_rz : llvm::Intrinsic::nvvm_ull2f_rz);
  Value *number = builder.CreateIntrinsic(instruction, {}, {value});
  Value *back = isSigned ? builder.CreateFPToSI(number, value->getType())
                         : builder.CreateFPToUI(number, value->getType());
  Value *odd = roundedToOdd(builder, number, builder.CreateICmpNE(back, value));
  return round(builder, odd, kind, FloatRounding::NearestEven);
}

llvm::Value *NvidiaMath::round(Builder &builder, Value *value, NarrowFloat kind,
                               FloatRounding rounding) const {
  bool isHalf = kind == NarrowFloat::F16, isBfloat = kind == NarrowFloat::BF16;
  if (rounding != FloatRounding::NearestEven || (!isHalf && !isBfloat))
    return MathTarget::round(builder, value, kind, rounding);
  if (value->getType()->isDoubleTy()) {
    Value *number = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_d2f_rz, {}, {value});
    Value *back = builder.CreateFPExt(number, value->getType());
    value = roundedToOdd(builder, number, builder.CreateFCmpUNE(back, value));
  }
  llvm::Type *narrow = isHalf ? builder.getHalfTy() : builder.getBFloatTy();
  return builder.CreateFPExt(builder.CreateFPTrunc(value, narrow), value->getType());
}

} // namespace sectile::nvidia
