//===-- ArithmeticFeatures.h - the arithmetic a processor has instructions for ----------------===//
// What the emission of mathematical functions and number conversions asks of its target. Where an
// instruction is lacking the same function is made of others; results differ in the last place at
// most. CPUs derive from it (backends/cpu/HostFeatures.h); GPUs have `gpu()`.
#pragma once

#include "llvm/IR/Intrinsics.h"

namespace sectile::backends {

/// Instructions of a GPU for f32 that are right within one unit in the last place, where both
/// argument and result are normal numbers. Functions are made of exact ones where there are none.
struct FloatInstructions {
  llvm::Intrinsic::ID reciprocal = llvm::Intrinsic::not_intrinsic,
                      squareRoot = llvm::Intrinsic::not_intrinsic,
                      // To base 2. Absolute error 2^-22 for arguments in (1/2, 2).
      logarithm = llvm::Intrinsic::not_intrinsic,
                      // Of 2, within two units in the last place.
      power = llvm::Intrinsic::not_intrinsic;
};

struct ArithmeticFeatures {
  bool sse41 = false; // rounding instructions
  bool fma = false;
  bool f16c = false;   // conversion between f16 and f32
  bool avx512 = false; // F, BW, CD, DQ and VL
  /// Instructions whose result is a subnormal number take some hundred cycles, as on x86
  /// processors.
  bool slowSubnormals = false;
  /// Scalar code of one thread of a GPU: what is rare stands in a branch, and functions of f32 stay
  /// in f32, since most GPUs have 32 or 64 times fewer units for f64.
  bool oneThread = false;
  FloatInstructions instructions;
  /// The bits of one native vector: 128, 256 or 512.
  unsigned vectorBits = 128;

  unsigned laneCount(unsigned elementBits) const { return vectorBits / elementBits; }

  /// Scalar code of one thread: multiply-add, rounding and f16 are instructions.
  static ArithmeticFeatures gpu(const FloatInstructions &instructions = {}) {
    ArithmeticFeatures features;
    features.sse41 = features.fma = features.f16c = features.oneThread = true;
    features.instructions = instructions;
    return features;
  }
};

} // namespace sectile::backends
