//===-- MathTarget.h - numbers that elementwise code asks its target for ----------------------===//
// The seam between ElementwiseEmitter.h, which every back end uses, and how one target computes
// mathematical functions and converts numbers. The defaults use arithmetic only (VectorMath.h,
// NumberConversion.h), which is right everywhere and all a CPU needs; GPUs override what they have
// instructions for. Values are scalars or fixed vectors.
#pragma once

#include "backends/common/math/NumberConversion.h"
#include "backends/common/math/VectorMath.h"

namespace sectile::backends {

class MathTarget {
public:
  using Value = llvm::Value;
  using Builder = llvm::IRBuilderBase;

  explicit MathTarget(const ArithmeticFeatures &features) : features(features) {}
  virtual ~MathTarget() = default;

  /// `mayApproximate`: the kernel asks for speed (`afn`), so an instruction of the target may do.
  virtual Value *math(Builder &builder, MathFunction function, llvm::ArrayRef<Value *> arguments,
                      bool mayApproximate) const {
    return emitMath(builder, features, function, arguments);
  }
  virtual Value *extremum(Builder &builder, FloatExtremum kind, Value *lhs, Value *rhs) const {
    return emitFloatExtremum(builder, kind, lhs, rhs);
  }
  /// `/` of the language.
  virtual Value *divide(Builder &builder, Value *lhs, Value *rhs) const {
    return builder.CreateFDiv(lhs, rhs);
  }

  /// i8 or i16 bits -> f32, exactly. Several at once, because some targets convert pairs.
  virtual void widenEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                         NarrowFloat kind) const {
    for (Value *&value : values)
      value = emitWiden(builder, features, value, kind);
  }
  /// f32 or f64 -> i8 or i16 bits; fp8 saturates.
  virtual void narrowEach(Builder &builder, llvm::MutableArrayRef<Value *> values, NarrowFloat kind,
                          FloatRounding rounding = FloatRounding::NearestEven) const {
    for (Value *&value : values)
      value = emitNarrow(builder, features, value, kind, rounding);
  }
  Value *widen(Builder &builder, Value *bits, NarrowFloat kind) const {
    widenEach(builder, bits, kind);
    return bits;
  }
  /// The bits of an f32 that is one of the kind's numbers.
  Value *bitsOf(Builder &builder, Value *value, NarrowFloat kind) const {
    return emitNarrow(builder, features, value, kind, FloatRounding::NearestEven, Narrowing::Form);
  }
  /// f32 or f64 -> the f32 that widen(narrow(value)) gives.
  virtual Value *round(Builder &builder, Value *value, NarrowFloat kind,
                       FloatRounding rounding = FloatRounding::NearestEven) const {
    return emitRound(builder, features, value, kind, rounding);
  }

  Value *truncateDouble(Builder &builder, Value *value, FloatRounding rounding) const {
    return emitTruncateDouble(builder, features, value, rounding);
  }
  /// Toward zero, to the nearest number of the type where there is none, and NaN to 0.
  virtual Value *floatToInt(Builder &builder, Value *value, llvm::Type *integerType,
                            bool isSigned) const {
    return emitFloatToInt(builder, features, value, integerType, isSigned);
  }
  Value *intToFloat(Builder &builder, Value *value, llvm::Type *floatType, bool isSigned) const {
    return emitIntToFloat(builder, features, value, floatType, isSigned);
  }
  virtual Value *intToNarrow(Builder &builder, Value *value, NarrowFloat kind,
                             bool isSigned) const {
    return emitIntToNarrow(builder, features, value, kind, isSigned);
  }

  const ArithmeticFeatures features;
};

} // namespace sectile::backends
