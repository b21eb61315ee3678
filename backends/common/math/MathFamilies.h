//===-- MathFamilies.h - the parts of VectorMath ----------------------------------------------===//
// One function per mathematical function; emitMath() chooses.
#pragma once

#include "backends/common/math/LaneArithmetic.h"

namespace sectile::backends {

// MathExponential.cpp
llvm::Value *emitExp(const Lanes &l, llvm::Value *x);
llvm::Value *emitExp2(const Lanes &l, llvm::Value *x);
llvm::Value *emitNearExp2(const Lanes &l, llvm::Value *x);
llvm::Value *emitExpm1(const Lanes &l, llvm::Value *x);
llvm::Value *emitSinh(const Lanes &l, llvm::Value *x);
llvm::Value *emitCosh(const Lanes &l, llvm::Value *x);
llvm::Value *emitTanh(const Lanes &l, llvm::Value *x);

/// exp(x) = (1 + p) 2^n for |p| < 0.42. x + tail is the argument; x within the range of exp.
struct Exponential {
  llvm::Value *p;
  Lanes::Whole n;
};
Exponential reduceExp(const Lanes &l, llvm::Value *x, llvm::Value *tail = nullptr);

// MathLogarithm.cpp
llvm::Value *emitLog(const Lanes &l, llvm::Value *x);
llvm::Value *emitLog2(const Lanes &l, llvm::Value *x);
llvm::Value *emitNearLog2(const Lanes &l, llvm::Value *x);
llvm::Value *emitLog10(const Lanes &l, llvm::Value *x);
llvm::Value *emitLog1p(const Lanes &l, llvm::Value *x);
llvm::Value *emitAsinh(const Lanes &l, llvm::Value *x);
llvm::Value *emitAcosh(const Lanes &l, llvm::Value *x);
llvm::Value *emitAtanh(const Lanes &l, llvm::Value *x);

/// x = (1 + f) 2^exponent with sqrt(1/2) <= 1 + f < sqrt(2), for positive finite x.
struct Decomposed {
  llvm::Value *f, *exponent;
};
Decomposed decompose(const Lanes &l, llvm::Value *x);

// MathPower.cpp
/// `isExtended`: the arguments are f32 values, so f64 alone is precise enough.
llvm::Value *emitPow(const Lanes &l, llvm::Value *x, llvm::Value *y, bool isExtended);
llvm::Value *emitCbrt(const Lanes &l, llvm::Value *x);

// MathTrigonometric.cpp
enum class Periodic { Sin, Cos, Tan };
llvm::Value *emitPeriodic(const Lanes &l, Periodic function, llvm::Value *x);

// MathInverseTrigonometric.cpp
llvm::Value *emitAsin(const Lanes &l, llvm::Value *x);
llvm::Value *emitAcos(const Lanes &l, llvm::Value *x);
llvm::Value *emitAtan(const Lanes &l, llvm::Value *x);
llvm::Value *emitAtan2(const Lanes &l, llvm::Value *y, llvm::Value *x);

// MathErrorFunction.cpp
llvm::Value *emitErf(const Lanes &l, llvm::Value *x);
llvm::Value *emitErfc(const Lanes &l, llvm::Value *x);

// MathRounding.cpp
llvm::Value *emitFloor(const Lanes &l, llvm::Value *x);
llvm::Value *emitCeil(const Lanes &l, llvm::Value *x);
llvm::Value *emitTrunc(const Lanes &l, llvm::Value *x);
llvm::Value *emitRoundAway(const Lanes &l, llvm::Value *x);
llvm::Value *emitRoundEven(const Lanes &l, llvm::Value *x);
llvm::Value *emitFmod(const Lanes &l, llvm::Value *x, llvm::Value *y);
llvm::Value *emitFma(const Lanes &l, llvm::Value *x, llvm::Value *y, llvm::Value *z);

} // namespace sectile::backends
