#include "backends/amd/AmdMath.h"

#include "llvm/IR/MDBuilder.h"

namespace sectile::amd {

using backends::FloatExtremum;
using backends::MathFunction;

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

} // namespace sectile::amd
