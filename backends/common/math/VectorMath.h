//===-- VectorMath.h - mathematical functions as vector code ----------------------------------===//
// Emits a function of f32 or f64, a scalar or a fixed vector of any width, as arithmetic only: no
// call leaves the module, whatever the host's features. Special values (NaN, infinities, signed
// zeros, subnormals) are right. README.md states the errors measured.
//
//   llvm::Value *e = emitMath(builder, host, MathFunction::Exp, {x}); // x: <16 x float>
//
// Invariant: the builder stays in its block, but where a target is one thread of a GPU
// (`oneThread`). Vector functions that need control flow (sin and its kin far from zero, fmod with
// huge quotients) become internal functions of the same module, made once per type. Fast-math flags
// of the builder are ignored: the algorithms depend on every rounding.
#pragma once

#include "backends/common/math/ArithmeticFeatures.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace sectile::backends {

enum class MathFunction {
  // one argument
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Erfc,
  Sqrt,
  Rsqrt,
  Cbrt,
  Floor,
  Ceil,
  Trunc,
  Round,     // halves away from zero
  RoundEven, // halves to even
  Abs,
  IsNan,
  IsInf, // i1 per lane
  // Steps of formulas, by an instruction of the target where it has one (FloatInstructions says how
  // near): arguments and results are normal numbers, or a zero that has a root.
  NearInverse,
  NearRoot,
  NearLog2,
  NearExp2,
  // two arguments
  Atan2,
  Pow,
  CopySign,
  Fmod, // C's: the sign of the dividend
  // three arguments
  Fma, // one rounding, with or without the instruction
};

/// All `arguments` have one type; so has the result, except for IsNan and IsInf.
llvm::Value *emitMath(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host,
                      MathFunction function, llvm::ArrayRef<llvm::Value *> arguments);

/// Num: a NaN loses against a number. Maximum and Minimum: a NaN wins, and -0 < +0.
enum class FloatExtremum { MaxNum, MinNum, Maximum, Minimum };

/// The larger or smaller of two scalars or vectors, written with comparisons: LLVM's intrinsics are
/// narrowed to half where both sides were widened from it, and call fmaxf() then.
llvm::Value *emitFloatExtremum(llvm::IRBuilderBase &builder, FloatExtremum kind, llvm::Value *lhs,
                               llvm::Value *rhs);

} // namespace sectile::backends
