#include "backends/common/math/VectorMath.h"

#include "backends/common/math/MathFamilies.h"

#include "llvm/Support/ErrorHandling.h"

namespace sectile::backends {

using V = llvm::Value *;

/// Seldom used functions of f32 go to f64 and back where that costs little, which also rounds well.
static bool goesByDouble(MathFunction function) {
  switch (function) {
  case MathFunction::Tan:
  case MathFunction::Asinh:
  case MathFunction::Acosh:
  case MathFunction::Atanh:
  case MathFunction::Erfc:
  case MathFunction::Cbrt:
  case MathFunction::Pow:
  case MathFunction::Fmod:
    return true;
  default:
    return false;
  }
}

static V emitSeldomUsed(const Lanes &l, MathFunction function, llvm::ArrayRef<V> x,
                        bool isExtended) {
  switch (function) {
  case MathFunction::Tan:
    return emitPeriodic(l, Periodic::Tan, x[0]);
  case MathFunction::Asinh:
    return emitAsinh(l, x[0]);
  case MathFunction::Acosh:
    return emitAcosh(l, x[0]);
  case MathFunction::Atanh:
    return emitAtanh(l, x[0]);
  case MathFunction::Erfc:
    return emitErfc(l, x[0]);
  case MathFunction::Cbrt:
    return emitCbrt(l, x[0]);
  case MathFunction::Pow:
    return emitPow(l, x[0], x[1], isExtended);
  case MathFunction::Fmod:
    return emitFmod(l, x[0], x[1]);
  default:
    llvm_unreachable("never goes by f64");
  }
}

static V emitAnyWidth(const Lanes &l, MathFunction function, llvm::ArrayRef<V> x) {
  switch (function) {
  case MathFunction::Exp:
    return emitExp(l, x[0]);
  case MathFunction::Exp2:
    return emitExp2(l, x[0]);
  case MathFunction::Expm1:
    return emitExpm1(l, x[0]);
  case MathFunction::Log:
    return emitLog(l, x[0]);
  case MathFunction::Log2:
    return emitLog2(l, x[0]);
  case MathFunction::Log10:
    return emitLog10(l, x[0]);
  case MathFunction::Log1p:
    return emitLog1p(l, x[0]);
  case MathFunction::Sin:
    return emitPeriodic(l, Periodic::Sin, x[0]);
  case MathFunction::Cos:
    return emitPeriodic(l, Periodic::Cos, x[0]);
  case MathFunction::Asin:
    return emitAsin(l, x[0]);
  case MathFunction::Acos:
    return emitAcos(l, x[0]);
  case MathFunction::Atan:
    return emitAtan(l, x[0]);
  case MathFunction::Sinh:
    return emitSinh(l, x[0]);
  case MathFunction::Cosh:
    return emitCosh(l, x[0]);
  case MathFunction::Tanh:
    return emitTanh(l, x[0]);
  case MathFunction::Erf:
    return emitErf(l, x[0]);
  case MathFunction::Sqrt:
    return l.sqrt(x[0]);
  case MathFunction::Rsqrt:
    return l.div(l.number(1), l.sqrt(x[0]));
  case MathFunction::Floor:
    return emitFloor(l, x[0]);
  case MathFunction::Ceil:
    return emitCeil(l, x[0]);
  case MathFunction::Trunc:
    return emitTrunc(l, x[0]);
  case MathFunction::Round:
    return emitRoundAway(l, x[0]);
  case MathFunction::RoundEven:
    return emitRoundEven(l, x[0]);
  case MathFunction::Abs:
    return l.abs(x[0]);
  case MathFunction::IsNan:
    return l.isNan(x[0]);
  case MathFunction::IsInf:
    return l.equal(l.abs(x[0]), l.infinity());
  case MathFunction::NearInverse:
    return l.inverse(x[0]);
  case MathFunction::NearRoot:
    return l.root(x[0]);
  case MathFunction::NearLog2:
    return emitNearLog2(l, x[0]);
  case MathFunction::NearExp2:
    return emitNearExp2(l, x[0]);
  case MathFunction::Atan2:
    return emitAtan2(l, x[0], x[1]);
  case MathFunction::CopySign:
    return l.copySign(x[0], x[1]);
  case MathFunction::Fma:
    return emitFma(l, x[0], x[1], x[2]);
  default:
    llvm_unreachable("is seldom used");
  }
}

V emitMath(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host, MathFunction function,
           llvm::ArrayRef<V> arguments) {
  Lanes lanes(builder, host, arguments[0]->getType());
  if (!goesByDouble(function))
    return emitAnyWidth(lanes, function, arguments);
  if (lanes.isDouble || host.oneThread)
    return emitSeldomUsed(lanes, function, arguments, false);
  Lanes wide(builder, host, lanes.withElement(builder.getDoubleTy()));
  llvm::SmallVector<V> extended;
  for (V argument : arguments)
    extended.push_back(builder.CreateFPExt(argument, wide.type));
  return builder.CreateFPTrunc(emitSeldomUsed(wide, function, extended, true), lanes.type);
}

llvm::Value *emitFloatExtremum(llvm::IRBuilderBase &builder, FloatExtremum kind, llvm::Value *lhs,
                               llvm::Value *rhs) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  bool isMax = kind == FloatExtremum::MaxNum || kind == FloatExtremum::Maximum;
  llvm::Value *lhsWins = isMax ? builder.CreateFCmpOGT(lhs, rhs) : builder.CreateFCmpOLT(lhs, rhs);
  llvm::Value *chosen = builder.CreateSelect(lhsWins, lhs, rhs);
  if (kind == FloatExtremum::MaxNum || kind == FloatExtremum::MinNum) // rhs is chosen beside a NaN
    return builder.CreateSelect(builder.CreateFCmpUNO(rhs, rhs), lhs, chosen);

  // Equal numbers differ at most in the sign of zero: + wins a maximum, - a minimum.
  llvm::Type *bits = lhs->getType()->getWithNewBitWidth(lhs->getType()->getScalarSizeInBits());
  llvm::Value *a = builder.CreateBitCast(lhs, bits), *b = builder.CreateBitCast(rhs, bits);
  llvm::Value *equal = builder.CreateBitCast(
      isMax ? builder.CreateAnd(a, b) : builder.CreateOr(a, b), lhs->getType());
  chosen = builder.CreateSelect(builder.CreateFCmpOEQ(lhs, rhs), equal, chosen);
  return builder.CreateSelect(builder.CreateFCmpUNO(lhs, rhs), builder.CreateFAdd(lhs, rhs),
                              chosen);
}

} // namespace sectile::backends
