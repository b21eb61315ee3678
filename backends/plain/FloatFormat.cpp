#include "backends/plain/FloatFormat.h"

#include "lang/plain/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace sectile::backends {
using lang::ScalarKind;

uint64_t encodeFloat(double number, ScalarKind kind) {
  uint64_t bits = 0;
  if (kind == ScalarKind::Float64) {
    std::memcpy(&bits, &number, sizeof number);
    return bits;
  }
  if (kind == ScalarKind::Float32) {
    float narrow = static_cast<float>(number);
    std::memcpy(&bits, &narrow, sizeof narrow);
    return bits;
  }
  lang::FloatFormat format = lang::floatFormatOf(kind);
  uint64_t sign = std::signbit(number) ? uint64_t{1} << (format.bits - 1) : 0;
  if (std::isnan(number))
    return format.hasNan() ? format.nan : sign | format.nan;
  double magnitude = std::fabs(number);
  uint64_t overflow = sign | (format.saturates ? format.largest : format.largest + 1);
  if (std::isinf(magnitude))
    return overflow;
  int mantissaBits = static_cast<int>(format.mantissaBits);
  int exponent = magnitude == 0 ? 1 - format.bias : std::ilogb(magnitude);
  if (exponent < 1 - format.bias)
    exponent = 1 - format.bias; // subnormal: the exponent of the smallest normal number
  // In units of the last place; nearbyint rounds to nearest even, round halves away from zero, and
  // a carry moves into the exponent.
  double exact = std::ldexp(magnitude, mantissaBits - exponent);
  double units = format.roundsHalvesAway ? std::round(exact) : std::nearbyint(exact);
  uint64_t mantissa = static_cast<uint64_t>(units);
  uint64_t encoded =
      (static_cast<uint64_t>(exponent + format.bias - 1) << format.mantissaBits) + mantissa;
  if (encoded > format.largest)
    return overflow;
  if (encoded == 0 && !format.hasNegativeZero)
    return 0;
  return sign | encoded;
}

double decodeFloat(uint64_t bits, ScalarKind kind) {
  if (kind == ScalarKind::Float64) {
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  if (kind == ScalarKind::Float32) {
    float number;
    uint32_t low = static_cast<uint32_t>(bits);
    std::memcpy(&number, &low, sizeof number);
    return number;
  }
  lang::FloatFormat format = lang::floatFormatOf(kind);
  uint64_t signBit = uint64_t{1} << (format.bits - 1);
  bool isNegative = bits & signBit;
  uint64_t magnitude = bits & (signBit - 1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (!format.hasNegativeZero && isNegative && magnitude == 0)
    return kNan;
  if (magnitude > format.largest && format.hasNan()) {
    bool isInfinite = format.hasInfinity && magnitude == format.largest + 1;
    double special = isInfinite ? std::numeric_limits<double>::infinity() : kNan;
    return isNegative ? -special : special;
  }
  int mantissaBits = static_cast<int>(format.mantissaBits);
  int exponent = static_cast<int>(magnitude >> mantissaBits);
  uint64_t mantissa = magnitude & ((uint64_t{1} << mantissaBits) - 1);
  double value = exponent == 0
                     ? std::ldexp(static_cast<double>(mantissa), 1 - format.bias - mantissaBits)
                     : std::ldexp(static_cast<double>(mantissa | uint64_t{1} << mantissaBits),
                                  exponent - format.bias - mantissaBits);
  return isNegative ? -value : value;
}

} // namespace sectile::backends
