//===-- AmdMath.h - functions by AMD's instructions where they are right ----------------------===//
#pragma once

#include "backends/amd/AmdArch.h"
#include "backends/common/MathTarget.h"

namespace sectile::amd {

class AmdMath final : public backends::MathTarget {
public:
  explicit AmdMath(const AmdArch &arch);
  Value *math(Builder &builder, backends::MathFunction function, llvm::ArrayRef<Value *> arguments,
              bool mayApproximate) const override;
  Value *divide(Builder &builder, Value *lhs, Value *rhs) const override;
  Value *extremum(Builder &builder, backends::FloatExtremum kind, Value *lhs,
                  Value *rhs) const override;
  void widenEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                 backends::NarrowFloat kind) const override;
  void narrowEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                  backends::NarrowFloat kind, backends::FloatRounding rounding) const override;
  Value *round(Builder &builder, Value *value, backends::NarrowFloat kind,
               backends::FloatRounding rounding) const override;
  Value *intToNarrow(Builder &builder, Value *value, backends::NarrowFloat kind,
                     bool isSigned) const override;

private:
  /// Whether conversions between f32 and the kind have instructions.
  bool converts(backends::NarrowFloat kind) const;
  /// `value` (f32) between -limit and limit; NaN stays NaN.
  Value *clamped(Builder &builder, Value *value, double limit) const;

  bool hasMaximum;
  Fp8Kinds fp8;
};

} // namespace sectile::amd
