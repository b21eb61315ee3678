//===-- NvidiaMath.h - functions by NVIDIA's instructions where they are right ----------------===//
#pragma once

#include "backends/common/MathTarget.h"

namespace sectile::nvidia {

class NvidiaMath final : public backends::MathTarget {
public:
  /// 90: sm_90.
  explicit NvidiaMath(int capability);
  Value *math(Builder &builder, backends::MathFunction function, llvm::ArrayRef<Value *> arguments,
              bool mayApproximate) const override;
  Value *extremum(Builder &builder, backends::FloatExtremum kind, Value *lhs,
                  Value *rhs) const override;
  Value *divide(Builder &builder, Value *lhs, Value *rhs) const override;
  void widenEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                 backends::NarrowFloat kind) const override;
  void narrowEach(Builder &builder, llvm::MutableArrayRef<Value *> values,
                  backends::NarrowFloat kind, backends::FloatRounding rounding) const override;
  Value *floatToInt(Builder &builder, Value *value, llvm::Type *integerType,
                    bool isSigned) const override;
  Value *intToNarrow(Builder &builder, Value *value, backends::NarrowFloat kind,
                     bool isSigned) const override;
  Value *round(Builder &builder, Value *value, backends::NarrowFloat kind,
               backends::FloatRounding rounding) const override;

private:
  int capability;
};

} // namespace sectile::nvidia
