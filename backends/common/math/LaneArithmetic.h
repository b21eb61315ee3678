//===-- LaneArithmetic.h - vector arithmetic with every rounding in its place -----------------===//
// The vocabulary in which the mathematical functions are written: a builder for one floating-point
// type (scalar or vector), with constants splatted to its shape.
//
//   Lanes l(builder, host, x->getType());
//   llvm::Value *y = l.mulAdd(x, x, l.number(1)); // x * x + 1
//
// Invariant: while a Lanes lives, the builder's fast-math flags are off.
#pragma once

#include "backends/common/math/ArithmeticFeatures.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

namespace sectile::backends {

class Lanes {
public:
  using V = llvm::Value *;

  Lanes(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host, llvm::Type *floatType);

  llvm::IRBuilderBase &builder;
  const ArithmeticFeatures &host;
  llvm::Type *const type;
  /// Integers of the same width and shape.
  llvm::Type *const intType;
  const bool isDouble;

  bool hasFma() const { return host.fma; }
  unsigned bits() const { return isDouble ? 64 : 32; }
  unsigned mantissaBits() const { return isDouble ? 52 : 23; }
  unsigned exponentBias() const { return isDouble ? 1023 : 127; }

  V number(double value) const;
  V integer(uint64_t bits) const;
  V infinity() const;
  V nan() const;

  V add(V a, V b) const { return builder.CreateFAdd(a, b); }
  V sub(V a, V b) const { return builder.CreateFSub(a, b); }
  V mul(V a, V b) const { return builder.CreateFMul(a, b); }
  V div(V a, V b) const { return builder.CreateFDiv(a, b); }
  /// a / b for 2^-126 <= |b| < 2^126 in f32, within one unit in the last place. NaN may come of an
  /// infinite quotient, and of other b.
  V ratio(V a, V b) const;
  /// 1 / b for such b, within one unit in the last place. Zero may come of larger ones.
  V inverse(V b) const;
  V neg(V a) const { return builder.CreateFNeg(a); }
  V abs(V a) const;
  V sqrt(V a) const;
  /// a * b + c: one rounding where the host has the instruction, else two.
  V mulAdd(V a, V b, V c) const;
  V mulSub(V a, V b, V c) const { return mulAdd(a, b, neg(c)); }
  /// c - a * b
  V negMulAdd(V a, V b, V c) const { return mulAdd(neg(a), b, c); }
  /// The square root of 0 or a normal number within one unit in the last place.
  V root(V a) const;
  /// What an instruction of the target gives for f32; null where there is none.
  V approximation(llvm::Intrinsic::ID instruction, V a) const;
  V copySign(V magnitude, V sign) const;
  /// The smaller or larger one; NaN in `a` stays.
  V min(V a, double limit) const;
  V max(V a, double limit) const;
  V clamp(V a, double low, double high) const { return min(max(a, low), high); }

  V less(V a, V b) const { return builder.CreateFCmpOLT(a, b); }
  V lessEqual(V a, V b) const { return builder.CreateFCmpOLE(a, b); }
  V equal(V a, V b) const { return builder.CreateFCmpOEQ(a, b); }
  V isNan(V a) const { return builder.CreateFCmpUNO(a, a); }
  /// 0 < a < infinity.
  V isPositiveFinite(V a) const;
  V select(V condition, V yes, V no) const { return builder.CreateSelect(condition, yes, no); }
  /// `usual` where the condition holds, which it nearly always does, else what `rare` gives. One
  /// thread branches, and leaves the builder in another block.
  V usually(V condition, V usual, llvm::function_ref<V()> rare) const;

  V bitsOf(V a) const { return builder.CreateBitCast(a, intType); }
  V floatOf(V a) const { return builder.CreateBitCast(a, type); }

  /// c[0] + c[1] x + ...
  V polynomial(V x, llvm::ArrayRef<double> coefficients) const;

  /// Round to an integral number, in [-2^22, 2^22] or [-2^51, 2^51]. `whole` is the number; `raw`
  /// has it in the low bits, as an integer in two's complement.
  struct Whole {
    V whole, raw;
  };
  Whole nearest(V a) const;
  /// nearest(a * scale), rounding once where possible.
  Whole nearestProduct(V a, double scale) const;
  /// p * 2^n with one rounding also where the result is subnormal or overflows. `n` from nearest(),
  /// |n| <= 2 * (bias - 1), 0 <= p <= 2.
  V scale(V p, const Whole &n) const;
  /// 2^n for a normal result.
  V powerOfTwo(const Whole &n) const;

  /// A sum or product as an unevaluated pair: high is the rounded result, low what rounding lost.
  struct Pair {
    V high, low;
  };
  /// Exact (Knuth).
  Pair twoSum(V a, V b) const;
  /// Exact for |a| >= |b| (Dekker).
  Pair fastTwoSum(V a, V b) const;
  /// Exact unless it overflows or underflows.
  Pair twoProduct(V a, V b) const;

  /// The same lanes as f32 or f64.
  llvm::Type *withElement(llvm::Type *element) const { return type->getWithNewType(element); }

private:
  /// scale() by floating-point instructions.
  V multiplyByPower(V p, const Whole &n) const;
  Pair split(V a) const; // Veltkamp: two halves of few bits
  llvm::IRBuilderBase::FastMathFlagGuard guard;
};

/// The number that all lanes are; null where that is not known.
llvm::ConstantFP *constantOf(llvm::Value *lanes);

} // namespace sectile::backends
