//===-- NvidiaMath.h - functions by NVIDIA's instructions where they are right ----------------===//
#pragma once

#include "backends/common/MathTarget.h"

namespace sectile::nvidia {

class NvidiaMath final : public backends::MathTarget {
public:
  NvidiaMath() : MathTarget(backends::ArithmeticFeatures::gpu()) {}
  Value *math(Builder &builder, backends::MathFunction function,
              llvm::ArrayRef<Value *> arguments) const override;
  Value *extremum(Builder &builder, backends::FloatExtremum kind, Value *lhs,
                  Value *rhs) const override;
  Value *divide(Builder &builder, Value *lhs, Value *rhs) const override;
  Value *round(Builder &builder, Value *value, backends::NarrowFloat kind,
               backends::FloatRounding rounding) const override;
};

} // namespace sectile::nvidia
