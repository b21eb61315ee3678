//===-- MathTarget.h - numbers that elementwise code asks its target for ----------------------===//
// The seam between ElementwiseEmitter.h, which every back end uses, and how one target computes
// mathematical functions and converts numbers. The CPU answers with polynomials over vectors, GPUs
// with their own instructions where those are right, and the same polynomials elsewhere.
#pragma once

#include "backends/common/math/NumberConversion.h"
#include "backends/common/math/VectorMath.h"

namespace sectile::backends {

class MathTarget {
public:
  virtual ~MathTarget() = default;
  virtual llvm::Value *math(llvm::IRBuilderBase &builder, MathFunction function,
                            llvm::ArrayRef<llvm::Value *> arguments) const = 0;
  /// fp division of f32 as the language means it.
  virtual llvm::Value *divide(llvm::IRBuilderBase &builder, llvm::Value *lhs,
                              llvm::Value *rhs) const = 0;
  /// i8 or i16 bits -> f32, exactly.
  virtual llvm::Value *widen(llvm::IRBuilderBase &builder, llvm::Value *bits,
                             NarrowFloat kind) const = 0;
  /// f32 or f64 -> i8 or i16 bits.
  virtual llvm::Value *narrow(llvm::IRBuilderBase &builder, llvm::Value *value, NarrowFloat kind,
                              FloatRounding rounding) const = 0;
};

} // namespace sectile::backends
