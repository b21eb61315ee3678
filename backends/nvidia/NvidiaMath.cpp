#include "backends/nvidia/NvidiaMath.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace sectile::nvidia {

using backends::FloatExtremum;
using backends::FloatRounding;
using backends::MathFunction;
using backends::NarrowFloat;
using llvm::Intrinsic::ID;

llvm::Value *NvidiaMath::math(Builder &builder, MathFunction function,
                              llvm::ArrayRef<Value *> arguments) const {
  Value *x = arguments.front();
  bool isFloat = x->getType()->isFloatTy();
  auto approximate = [&](ID id, Value *argument) {
    return builder.CreateIntrinsic(id, {argument->getType()}, {argument});
  };
  switch (function) {
  case MathFunction::Exp2:
    if (isFloat)
      return approximate(llvm::Intrinsic::nvvm_ex2_approx, x);
    break;
  case MathFunction::Exp:
    if (isFloat) {
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
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  case MathFunction::Abs:
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  case MathFunction::Fma:
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, arguments);
  default:
    break;
  }
  return MathTarget::math(builder, function, arguments);
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

llvm::Value *NvidiaMath::round(Builder &builder, Value *value, NarrowFloat kind,
                               FloatRounding rounding) const {
  bool isHalf = kind == NarrowFloat::F16, isBfloat = kind == NarrowFloat::BF16;
  if (rounding != FloatRounding::NearestEven || (!isHalf && !isBfloat) ||
      !value->getType()->isFloatTy())
    return MathTarget::round(builder, value, kind, rounding);
  llvm::Type *narrow = isHalf ? builder.getHalfTy() : builder.getBFloatTy();
  return builder.CreateFPExt(builder.CreateFPTrunc(value, narrow), value->getType());
}

} // namespace sectile::nvidia
