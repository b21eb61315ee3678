//===-- AmdMath.h - functions by AMD's instructions where they are right ----------------------===//
#pragma once

#include "backends/amd/AmdArch.h"
#include "backends/common/MathTarget.h"

namespace sectile::amd {

class AmdMath final : public backends::MathTarget {
public:
  explicit AmdMath(const AmdArch &arch)
      : MathTarget(backends::ArithmeticFeatures::gpu()), hasMaximum(arch.isGfx12()) {}
  Value *math(Builder &builder, backends::MathFunction function, llvm::ArrayRef<Value *> arguments,
              bool mayApproximate) const override;
  Value *divide(Builder &builder, Value *lhs, Value *rhs) const override;
  Value *extremum(Builder &builder, backends::FloatExtremum kind, Value *lhs,
                  Value *rhs) const override;

private:
  /// v_maximum_f32, in which NaN wins.
  bool hasMaximum;
};

} // namespace sectile::amd
