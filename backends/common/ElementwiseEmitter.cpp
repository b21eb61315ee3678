// Scalar and elementwise ops on registers. Narrow floats are held as f32 and rounded after every
// operation, so that each op sees and gives exact values of its type.
#include "backends/common/ElementwiseEmitter.h"

#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::backends {
namespace {

llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate predicate) {
  using P = llvm::CmpInst::Predicate;
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return P::ICMP_EQ;
  case arith::CmpIPredicate::ne:
    return P::ICMP_NE;
  case arith::CmpIPredicate::slt:
    return P::ICMP_SLT;
  case arith::CmpIPredicate::sle:
    return P::ICMP_SLE;
  case arith::CmpIPredicate::sgt:
    return P::ICMP_SGT;
  case arith::CmpIPredicate::sge:
    return P::ICMP_SGE;
  case arith::CmpIPredicate::ult:
    return P::ICMP_ULT;
  case arith::CmpIPredicate::ule:
    return P::ICMP_ULE;
  case arith::CmpIPredicate::ugt:
    return P::ICMP_UGT;
  case arith::CmpIPredicate::uge:
    return P::ICMP_UGE;
  }
  return P::ICMP_EQ;
}

llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate predicate) {
  using P = llvm::CmpInst::Predicate;
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return P::FCMP_FALSE;
  case arith::CmpFPredicate::OEQ:
    return P::FCMP_OEQ;
  case arith::CmpFPredicate::OGT:
    return P::FCMP_OGT;
  case arith::CmpFPredicate::OGE:
    return P::FCMP_OGE;
  case arith::CmpFPredicate::OLT:
    return P::FCMP_OLT;
  case arith::CmpFPredicate::OLE:
    return P::FCMP_OLE;
  case arith::CmpFPredicate::ONE:
    return P::FCMP_ONE;
  case arith::CmpFPredicate::ORD:
    return P::FCMP_ORD;
  case arith::CmpFPredicate::UEQ:
    return P::FCMP_UEQ;
  case arith::CmpFPredicate::UGT:
    return P::FCMP_UGT;
  case arith::CmpFPredicate::UGE:
    return P::FCMP_UGE;
  case arith::CmpFPredicate::ULT:
    return P::FCMP_ULT;
  case arith::CmpFPredicate::ULE:
    return P::FCMP_ULE;
  case arith::CmpFPredicate::UNE:
    return P::FCMP_UNE;
  case arith::CmpFPredicate::UNO:
    return P::FCMP_UNO;
  case arith::CmpFPredicate::AlwaysTrue:
    return P::FCMP_TRUE;
  }
  return P::FCMP_FALSE;
}

std::optional<MathFunction> mathFunctionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<MathFunction>>(op)
      .Case([](math::ExpOp) { return MathFunction::Exp; })
      .Case([](math::Exp2Op) { return MathFunction::Exp2; })
      .Case([](math::ExpM1Op) { return MathFunction::Expm1; })
      .Case([](math::LogOp) { return MathFunction::Log; })
      .Case([](math::Log2Op) { return MathFunction::Log2; })
      .Case([](math::Log10Op) { return MathFunction::Log10; })
      .Case([](math::Log1pOp) { return MathFunction::Log1p; })
      .Case([](math::SinOp) { return MathFunction::Sin; })
      .Case([](math::CosOp) { return MathFunction::Cos; })
      .Case([](math::TanOp) { return MathFunction::Tan; })
      .Case([](math::AsinOp) { return MathFunction::Asin; })
      .Case([](math::AcosOp) { return MathFunction::Acos; })
      .Case([](math::AtanOp) { return MathFunction::Atan; })
      .Case([](math::SinhOp) { return MathFunction::Sinh; })
      .Case([](math::CoshOp) { return MathFunction::Cosh; })
      .Case([](math::TanhOp) { return MathFunction::Tanh; })
      .Case([](math::AsinhOp) { return MathFunction::Asinh; })
      .Case([](math::AcoshOp) { return MathFunction::Acosh; })
      .Case([](math::AtanhOp) { return MathFunction::Atanh; })
      .Case([](math::ErfOp) { return MathFunction::Erf; })
      .Case([](math::ErfcOp) { return MathFunction::Erfc; })
      .Case([](math::SqrtOp) { return MathFunction::Sqrt; })
      .Case([](math::RsqrtOp) { return MathFunction::Rsqrt; })
      .Case([](math::CbrtOp) { return MathFunction::Cbrt; })
      .Case([](math::FloorOp) { return MathFunction::Floor; })
      .Case([](math::CeilOp) { return MathFunction::Ceil; })
      .Case([](math::TruncOp) { return MathFunction::Trunc; })
      .Case([](math::RoundOp) { return MathFunction::Round; })
      .Case([](math::RoundEvenOp) { return MathFunction::RoundEven; })
      .Case([](math::AbsFOp) { return MathFunction::Abs; })
      .Case([](math::IsNaNOp) { return MathFunction::IsNan; })
      .Case([](math::IsInfOp) { return MathFunction::IsInf; })
      .Case([](math::Atan2Op) { return MathFunction::Atan2; })
      .Case([](math::PowFOp) { return MathFunction::Pow; })
      .Case([](math::CopySignOp) { return MathFunction::CopySign; })
      .Case([](math::FmaOp) { return MathFunction::Fma; })
      .Case([](arith::RemFOp) { return MathFunction::Fmod; })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether the function of a number of few digits has no more of them: nothing is to be rounded.
bool staysInItsType(MathFunction function) {
  switch (function) {
  case MathFunction::Abs:
  case MathFunction::Floor:
  case MathFunction::Ceil:
  case MathFunction::Trunc:
  case MathFunction::RoundEven:
    return true;
  default:
    return false;
  }
}

/// A step of a formula carries `afn` and `contract`: an instruction may do, and others correct it
/// or bear with it. (`afn` alone is on functions of the language, for all arguments.)
std::optional<MathFunction> formulaStepOf(Operation *op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  const auto wanted = arith::FastMathFlags::afn | arith::FastMathFlags::contract;
  if (!fast || !fast.getFastMathFlagsAttr() ||
      !arith::bitEnumContainsAll(fast.getFastMathFlagsAttr().getValue(), wanted))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<MathFunction>>(op)
      .Case([](arith::DivFOp) { return MathFunction::NearInverse; })
      .Case([](math::SqrtOp) { return MathFunction::NearRoot; })
      .Case([](math::Log2Op) { return MathFunction::NearLog2; })
      .Case([](math::Exp2Op) { return MathFunction::NearExp2; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<FloatExtremum> floatExtremumOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<FloatExtremum>>(op)
      .Case([](arith::MaximumFOp) { return FloatExtremum::Maximum; })
      .Case([](arith::MinimumFOp) { return FloatExtremum::Minimum; })
      .Case([](arith::MaxNumFOp) { return FloatExtremum::MaxNum; })
      .Case([](arith::MinNumFOp) { return FloatExtremum::MinNum; })
      .Default([](Operation *) { return std::nullopt; });
}

llvm::Intrinsic::ID integerExtremumOf(Operation *op) {
  if (isa<arith::MaxSIOp>(op))
    return llvm::Intrinsic::smax;
  if (isa<arith::MinSIOp>(op))
    return llvm::Intrinsic::smin;
  if (isa<arith::MaxUIOp>(op))
    return llvm::Intrinsic::umax;
  if (isa<arith::MinUIOp>(op))
    return llvm::Intrinsic::umin;
  return llvm::Intrinsic::not_intrinsic;
}

std::optional<llvm::Instruction::BinaryOps> binaryOf(Operation *op) {
  using B = llvm::Instruction::BinaryOps;
  return llvm::TypeSwitch<Operation *, std::optional<B>>(op)
      .Case([](arith::AddIOp) { return B::Add; })
      .Case([](arith::SubIOp) { return B::Sub; })
      .Case([](arith::MulIOp) { return B::Mul; })
      .Case([](arith::AndIOp) { return B::And; })
      .Case([](arith::OrIOp) { return B::Or; })
      .Case([](arith::XOrIOp) { return B::Xor; })
      .Case([](arith::ShLIOp) { return B::Shl; })
      .Case([](arith::ShRSIOp) { return B::AShr; })
      .Case([](arith::ShRUIOp) { return B::LShr; })
      .Case([](arith::AddFOp) { return B::FAdd; })
      .Case([](arith::SubFOp) { return B::FSub; })
      .Case([](arith::MulFOp) { return B::FMul; })
      .Case([](arith::DivFOp) { return B::FDiv; })
      .Default([](Operation *) { return std::nullopt; });
}

llvm::ElementCount lanesOf(llvm::Value *value) {
  auto vector = dyn_cast<llvm::VectorType>(value->getType());
  return vector ? vector->getElementCount() : llvm::ElementCount::getFixed(0);
}

llvm::Type *likeShapeOf(llvm::Value *value, llvm::Type *element) {
  auto vector = dyn_cast<llvm::VectorType>(value->getType());
  return vector ? llvm::VectorType::get(element, vector->getElementCount()) : element;
}

/// By as many bits as the number has, or more: all of them leave, as on GPUs. LLVM's own shifts are
/// poison then, which spoils the store of a whole tile. x86's vector shifts do just this.
llvm::Value *emitShift(llvm::IRBuilderBase &builder, llvm::Instruction::BinaryOps kind,
                       llvm::Value *value, llvm::Value *amount) {
  llvm::Type *type = value->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *isInside = builder.CreateICmpULT(amount, llvm::ConstantInt::get(type, bits));
  auto *known = dyn_cast<llvm::Constant>(isInside);
  if (known && known->isAllOnesValue())
    return builder.CreateBinOp(kind, value, amount);
  if (kind == llvm::Instruction::AShr)
    return builder.CreateAShr(
        value, builder.CreateSelect(isInside, amount, llvm::ConstantInt::get(type, bits - 1)));
  return builder.CreateSelect(isInside, builder.CreateBinOp(kind, value, amount),
                              llvm::Constant::getNullValue(type));
}

} // namespace

llvm::Type *ElementwiseEmitter::registerType(Type element) {
  if (element.isF64())
    return builder.getDoubleTy();
  if (isa<FloatType>(element))
    return builder.getFloatTy();
  if (auto integer = dyn_cast<IntegerType>(element))
    return builder.getIntNTy(integer.getWidth());
  if (isa<IndexType>(element))
    return builder.getInt64Ty();
  return builder.getPtrTy(pointerSpace);
}

llvm::Type *ElementwiseEmitter::memoryType(Type element) {
  if (auto narrow = narrowFloatOf(element))
    return builder.getIntNTy(narrowFloatBits(*narrow));
  if (element.isInteger(1))
    return builder.getInt8Ty();
  return registerType(element);
}

llvm::Constant *ElementwiseEmitter::constantOf(Attribute attribute, Type element) {
  llvm::Type *type = registerType(element);
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return llvm::ConstantInt::get(type, integer.getValue().sextOrTrunc(type->getIntegerBitWidth()));
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    llvm::APFloat value = number.getValue();
    bool losesInfo = false;
    value.convert(type->isDoubleTy() ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return llvm::ConstantFP::get(type, value);
  }
  return llvm::PoisonValue::get(type);
}

bool ElementwiseEmitter::isElementwise(Operation *op) {
  if (isa<PtrAddOp, PtrToIntOp, IntToPtrOp, PtrCastOp, HintOp, NarrowOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp>(op);
}

llvm::FastMathFlags ElementwiseEmitter::fastMathOf(Operation *op) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(enableFpFusion);
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!fast)
    return flags;
  auto given = fast.getFastMathFlagsAttr();
  if (!given)
    return flags;
  auto has = [&](arith::FastMathFlags flag) {
    return arith::bitEnumContainsAll(given.getValue(), flag);
  };
  flags.setAllowReassoc(has(arith::FastMathFlags::reassoc));
  flags.setNoNaNs(has(arith::FastMathFlags::nnan));
  flags.setNoInfs(has(arith::FastMathFlags::ninf));
  flags.setNoSignedZeros(has(arith::FastMathFlags::nsz));
  flags.setAllowReciprocal(has(arith::FastMathFlags::arcp));
  flags.setApproxFunc(has(arith::FastMathFlags::afn));
  return flags;
}

llvm::Value *ElementwiseEmitter::rounded(llvm::Value *value, NarrowFloat kind, FloatRounding mode) {
  if (rounding == Rounding::ByCaller && mode == FloatRounding::NearestEven &&
      value->getType()->getScalarType()->isFloatTy())
    return value;
  return target.round(builder, value, kind, mode);
}

/// Never traps: a divisor of zero, or -1 under the smallest number, becomes 1. Of a division by
/// zero all bits of the quotient are ones and the remainder is the dividend, as in NVIDIA's
/// instructions.
llvm::Value *ElementwiseEmitter::emitIntegerDivision(Operation *op, llvm::Value *lhs,
                                                     llvm::Value *rhs, bool isSigned,
                                                     bool wantsRemainder) {
  llvm::Type *type = lhs->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *one = llvm::ConstantInt::get(type, 1);
  llvm::Value *isZero = builder.CreateICmpEQ(rhs, llvm::ConstantInt::get(type, 0));
  llvm::Value *isBad = isZero;
  if (isSigned) {
    llvm::Value *smallest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
    isBad = builder.CreateOr(
        isBad, builder.CreateAnd(builder.CreateICmpEQ(lhs, smallest),
                                 builder.CreateICmpEQ(rhs, llvm::Constant::getAllOnesValue(type))));
  }
  llvm::Value *divisor = rhs;
  auto isNever = [](llvm::Value *condition) {
    auto *known = dyn_cast<llvm::Constant>(condition);
    return known && known->isNullValue();
  };
  if (!isNever(isBad))
    divisor = builder.CreateSelect(isBad, one, rhs);
  const bool isConstant = isa<llvm::Constant>(divisor);
  if (wantsRemainder && isNever(isBad))
    return isSigned ? builder.CreateSRem(lhs, rhs) : builder.CreateURem(lhs, rhs);
  // Ones divided by one: nothing is left to be chosen behind the division.
  llvm::Value *dividend = lhs, *quotient;
  if (!isNever(isZero))
    dividend = builder.CreateSelect(isZero, llvm::Constant::getAllOnesValue(type), lhs);
  if (type->isVectorTy() && bits <= 32 && bits > 1 && !isConstant) {
    // There is no vector division of integers; the quotient of two 32-bit integers in f64 is exact
    // once truncated.
    llvm::Type *wide = likeShapeOf(lhs, builder.getDoubleTy());
    auto toFloat = [&](llvm::Value *value) {
      return isSigned ? builder.CreateSIToFP(value, wide) : builder.CreateUIToFP(value, wide);
    };
    quotient = builder.CreateFDiv(toFloat(dividend), toFloat(divisor));
    quotient =
        isSigned ? builder.CreateFPToSI(quotient, type) : builder.CreateFPToUI(quotient, type);
  } else {
    quotient =
        isSigned ? builder.CreateSDiv(dividend, divisor) : builder.CreateUDiv(dividend, divisor);
  }
  // Also where the divisor is zero. One quotient serves `//` and `%` of the same numbers.
  return wantsRemainder ? builder.CreateSub(lhs, builder.CreateMul(quotient, rhs)) : quotient;
}

llvm::SmallVector<llvm::Value *, 2> ElementwiseEmitter::emit(Operation *op,
                                                             ArrayRef<llvm::Value *> given) {
  SmallVector<llvm::Value *, 4> operands(given);
  llvm::ElementCount lanes = llvm::ElementCount::getFixed(0);
  for (llvm::Value *operand : operands)
    if (operand->getType()->isVectorTy())
      lanes = lanesOf(operand);
  if (lanes.isNonZero())
    for (llvm::Value *&operand : operands)
      if (!operand->getType()->isVectorTy())
        operand = builder.CreateVectorSplat(lanes, operand);

  Type resultElement = elementTypeOf(op->getResult(0).getType());
  Type sourceElement = elementTypeOf(op->getOperand(0).getType());
  auto narrowResult = narrowFloatOf(resultElement);
  auto narrowSource = narrowFloatOf(sourceElement);
  llvm::Type *resultType = registerType(resultElement);
  if (lanes.isNonZero())
    resultType = llvm::VectorType::get(resultType, lanes);
  builder.setFastMathFlags(fastMathOf(op));
  auto finish = [&](llvm::Value *value) -> llvm::SmallVector<llvm::Value *, 2> {
    return {narrowResult ? rounded(value, *narrowResult) : value};
  };

  if (auto step = formulaStepOf(op)) {
    builder.clearFastMathFlags();
    // The dividend is 1.
    return finish(target.math(builder, *step, operands.back(), /*mayApproximate=*/false));
  }
  if (auto kind = binaryOf(op)) {
    if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
      return {emitShift(builder, *kind, operands[0], operands[1])};
    if (isa<arith::DivFOp>(op))
      return finish(target.divide(builder, operands[0], operands[1]));
    return finish(builder.CreateBinOp(*kind, operands[0], operands[1]));
  }
  if (auto extremum = floatExtremumOf(op)) // exact: no rounding
    return {target.extremum(builder, *extremum, operands[0], operands[1])};
  if (auto id = integerExtremumOf(op))
    return {builder.CreateBinaryIntrinsic(id, operands[0], operands[1])};
  if (auto function = mathFunctionOf(op)) {
    const bool mayApproximate = builder.getFastMathFlags().approxFunc();
    builder.clearFastMathFlags();
    llvm::Value *value = target.math(builder, *function, operands, mayApproximate);
    if (staysInItsType(*function))
      return {value};
    return finish(value);
  }

  return llvm::TypeSwitch<Operation *, llvm::SmallVector<llvm::Value *, 2>>(op)
      .Case([&](arith::NegFOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateFNeg(operands[0])};
      })
      .Case([&](arith::CmpIOp cmp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateICmp(predicateOf(cmp.getPredicate()), operands[0], operands[1])};
      })
      .Case([&](arith::CmpFOp cmp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateFCmp(predicateOf(cmp.getPredicate()), operands[0], operands[1])};
      })
      .Case([&](arith::SelectOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateSelect(operands[0], operands[1], operands[2])};
      })
      .Case([&](arith::DivSIOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {emitIntegerDivision(op, operands[0], operands[1], true, false)};
      })
      .Case([&](arith::DivUIOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {emitIntegerDivision(op, operands[0], operands[1], false, false)};
      })
      .Case([&](arith::RemSIOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {emitIntegerDivision(op, operands[0], operands[1], true, true)};
      })
      .Case([&](arith::RemUIOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {emitIntegerDivision(op, operands[0], operands[1], false, true)};
      })
      .Case<arith::CeilDivSIOp, arith::FloorDivSIOp, arith::CeilDivUIOp>(
          [&](Operation *) -> llvm::SmallVector<llvm::Value *, 2> {
            bool isSigned = !isa<arith::CeilDivUIOp>(op), isFloor = isa<arith::FloorDivSIOp>(op);
            llvm::Type *type = operands[0]->getType();
            llvm::Value *zero = llvm::ConstantInt::get(type, 0);
            llvm::Value *quotient =
                emitIntegerDivision(op, operands[0], operands[1], isSigned, false);
            llvm::Value *remainder =
                builder.CreateSub(operands[0], builder.CreateMul(quotient, operands[1]));
            llvm::Value *isInexact = builder.CreateICmpNE(remainder, zero);
            if (isSigned) {
              llvm::Value *signsDiffer =
                  builder.CreateICmpSLT(builder.CreateXor(operands[0], operands[1]), zero);
              isInexact = builder.CreateAnd(isInexact,
                                            isFloor ? signsDiffer : builder.CreateNot(signsDiffer));
            }
            llvm::Value *step = builder.CreateZExt(isInexact, type);
            return {isFloor ? builder.CreateSub(quotient, step)
                            : builder.CreateAdd(quotient, step)};
          })
      .Case<arith::ExtSIOp>([&](auto) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateSExt(operands[0], resultType)};
      })
      .Case<arith::ExtUIOp>([&](auto) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateZExt(operands[0], resultType)};
      })
      .Case<arith::TruncIOp>([&](auto) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateTrunc(operands[0], resultType)};
      })
      .Case<arith::IndexCastOp>([&](auto) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateSExtOrTrunc(operands[0], resultType)};
      })
      .Case<arith::IndexCastUIOp>([&](auto) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateZExtOrTrunc(operands[0], resultType)};
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>(
          [&](Operation *) -> llvm::SmallVector<llvm::Value *, 2> {
            bool isSigned = isa<arith::SIToFPOp>(op);
            if (narrowResult)
              return {target.intToNarrow(builder, operands[0], *narrowResult, isSigned)};
            return {target.intToFloat(builder, operands[0], resultType->getScalarType(), isSigned)};
          })
      .Case<arith::FPToSIOp, arith::FPToUIOp>(
          [&](Operation *) -> llvm::SmallVector<llvm::Value *, 2> {
            bool isSigned = isa<arith::FPToSIOp>(op);
            return {target.floatToInt(builder, operands[0], resultType->getScalarType(), isSigned)};
          })
      .Case([&](arith::ExtFOp) -> llvm::SmallVector<llvm::Value *, 2> {
        // Narrow floats are held as f32; widening to another narrow kind is exact.
        return {resultType == operands[0]->getType()
                    ? operands[0]
                    : builder.CreateFPExt(operands[0], resultType)};
      })
      .Case([&](NarrowOp narrow) -> llvm::SmallVector<llvm::Value *, 2> {
        return {rounded(operands[0], *narrowResult,
                        narrow.getTowardZero() ? FloatRounding::TowardZero
                                               : FloatRounding::NearestEven)};
      })
      .Case([&](arith::TruncFOp trunc) -> llvm::SmallVector<llvm::Value *, 2> {
        auto mode = trunc.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) ==
                            arith::RoundingMode::toward_zero
                        ? FloatRounding::TowardZero
                        : FloatRounding::NearestEven;
        if (narrowResult)
          return {rounded(operands[0], *narrowResult, mode)};
        return {target.truncateDouble(builder, operands[0], mode)};
      })
      .Case([&](arith::BitcastOp) -> llvm::SmallVector<llvm::Value *, 2> {
        llvm::Value *bits =
            narrowSource ? target.bitsOf(builder, operands[0], *narrowSource) : operands[0];
        if (narrowResult)
          return {target.widen(builder, bits, *narrowResult)};
        return {builder.CreateBitCast(bits, resultType)};
      })
      .Case<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(
          [&](Operation *) -> llvm::SmallVector<llvm::Value *, 2> {
            bool isSigned = isa<arith::MulSIExtendedOp>(op);
            llvm::Type *type = operands[0]->getType();
            unsigned bits = type->getScalarSizeInBits();
            llvm::Type *wide = likeShapeOf(operands[0], builder.getIntNTy(2 * bits));
            auto extend = [&](llvm::Value *value) {
              return isSigned ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
            };
            llvm::Value *product = builder.CreateMul(extend(operands[0]), extend(operands[1]));
            return {builder.CreateTrunc(product, type),
                    builder.CreateTrunc(builder.CreateLShr(product, bits), type)};
          })
      .Case([&](arith::AddUIExtendedOp) -> llvm::SmallVector<llvm::Value *, 2> {
        llvm::Value *sum = builder.CreateAdd(operands[0], operands[1]);
        return {sum, builder.CreateICmpULT(sum, operands[0])};
      })
      .Case([&](math::AbsIOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {
            builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, operands[0], builder.getFalse())};
      })
      .Case([&](math::CtPopOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, operands[0])};
      })
      .Case([&](math::CountLeadingZerosOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {
            builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, operands[0], builder.getFalse())};
      })
      .Case([&](math::CountTrailingZerosOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {
            builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, operands[0], builder.getFalse())};
      })
      .Case([&](math::IsFiniteOp) -> llvm::SmallVector<llvm::Value *, 2> {
        llvm::Value *size =
            target.math(builder, MathFunction::Abs, {operands[0]}, /*mayApproximate=*/false);
        return {builder.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(size->getType()))};
      })
      .Case([&](PtrAddOp add) -> llvm::SmallVector<llvm::Value *, 2> {
        llvm::Type *wide = likeShapeOf(operands[1], builder.getInt64Ty());
        llvm::Value *offset = builder.CreateSExtOrTrunc(operands[1], wide);
        Type pointee = cast<PtrType>(resultElement).getPointee();
        return {builder.CreateGEP(memoryType(pointee), operands[0], offset)};
      })
      .Case([&](PtrToIntOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreatePtrToInt(operands[0], resultType)};
      })
      .Case([&](IntToPtrOp) -> llvm::SmallVector<llvm::Value *, 2> {
        return {builder.CreateIntToPtr(operands[0], resultType)};
      })
      .Case<PtrCastOp, HintOp>(
          [&](auto) -> llvm::SmallVector<llvm::Value *, 2> { return {operands[0]}; })
      .Default([](Operation *) -> llvm::SmallVector<llvm::Value *, 2> { return {}; });
}

llvm::SmallVector<llvm::Value *, 2> ElementwiseEmitter::emitCombiner(
    Block &block, ArrayRef<llvm::Value *> arguments, ConstantMaker constantOf,
    llvm::function_ref<Values(Operation *, ArrayRef<llvm::Value *>)> emitOp) {
  EmittedScalars local;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    local.set(argument, value);
  for (Operation &op : block) {
    if (isa<arith::ConstantOp>(op))
      continue;
    SmallVector<llvm::Value *, 4> operands;
    for (Value operand : op.getOperands())
      operands.push_back(local.find(operand, constantOf));
    if (isa<tile::YieldOp>(op))
      return Values(operands.begin(), operands.end());
    for (auto [result, value] : llvm::zip(op.getResults(), emitOp(&op, operands)))
      local.set(result, value);
  }
  return {};
}

} // namespace sectile::backends
