//===-- FloatFormats.h - the floats of 8 and 16 bits ------------------------------------------===//
// One table for what converts on the host (backends/plain/FloatFormat.h) and what emits conversions
// for a device (backends/common/math/NumberConversion.h).
#pragma once

#include "lang/plain/DType.h"

#include <cstdint>

namespace sectile::lang {

/// Bits of a sign, an exponent and a mantissa.
struct FloatFormat {
  unsigned bits, mantissaBits;
  int bias;
  uint32_t largest;     // pattern of the largest number that conversions give
  uint32_t nan;         // without sign; `largest` where no pattern is NaN
  bool hasInfinity;     // its pattern is largest + 1
  bool hasNegativeZero; // where not, that pattern is the one NaN
  /// Conversions of what is too large, and of infinity, give the largest finite number; else
  /// infinity.
  bool saturates;
  /// Conversions round halves away from zero; else to even.
  bool roundsHalvesAway = false;

  bool hasNan() const { return nan != largest; }
};

/// Returns the format of a float of 8 or 16 bits; any other kind gives that of fp16.
constexpr FloatFormat floatFormatOf(ScalarKind kind) {
  switch (kind) {
  case ScalarKind::Float8E4NV:
    return {8, 3, 7, 0x7e, 0x7f, false, true, true};
  case ScalarKind::Float8E4B8:
    return {8, 3, 8, 0x7f, 0x80, false, false, true};
  case ScalarKind::Float8E5:
    return {8, 2, 15, 0x7b, 0x7e, true, true, true};
  case ScalarKind::Float8E5B16:
    return {8, 2, 16, 0x7f, 0x80, false, false, true};
  // 0x7f is 1.875, but Triton's conversions stop at 1.75, and give that for NaN, too.
  case ScalarKind::Float8E4B15:
    return {8, 3, 15, 0x7e, 0x7e, false, true, true, true};
  case ScalarKind::BFloat16:
    return {16, 7, 127, 0x7f7f, 0x7fc0, true, true, false};
  default:
    return {16, 10, 15, 0x7bff, 0x7e00, true, true, false};
  }
}

} // namespace sectile::lang
