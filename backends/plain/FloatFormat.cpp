#include "backends/plain/FloatFormat.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace sectile::backends {
namespace {

using lang::ScalarKind;

struct Format {
  int exponentBits, mantissaBits, bias;
  /// Ieee: the top exponent is infinity and NaN. Finite: only all ones is NaN. Unsigned zero: the
  /// bits of minus zero are the NaN.
  enum class Special { Ieee, Finite, UnsignedZero } special;
};

Format formatOf(ScalarKind kind) {
  switch (kind) {
  case ScalarKind::Float8E4NV:
    return {4, 3, 7, Format::Special::Finite};
  case ScalarKind::Float8E4B8:
    return {4, 3, 8, Format::Special::UnsignedZero};
  case ScalarKind::Float8E5:
    return {5, 2, 15, Format::Special::Ieee};
  case ScalarKind::Float8E5B16:
    return {5, 2, 16, Format::Special::UnsignedZero};
  case ScalarKind::BFloat16:
    return {8, 7, 127, Format::Special::Ieee};
  default:
    return {5, 10, 15, Format::Special::Ieee};
  }
}

uint64_t nan(const Format &format) {
  uint64_t exponent = ((uint64_t{1} << format.exponentBits) - 1) << format.mantissaBits;
  switch (format.special) {
  case Format::Special::Ieee:
    return exponent | uint64_t{1} << (format.mantissaBits - 1);
  case Format::Special::Finite:
    return exponent | ((uint64_t{1} << format.mantissaBits) - 1);
  case Format::Special::UnsignedZero:
    break;
  }
  return uint64_t{1} << (format.exponentBits + format.mantissaBits);
}

} // namespace

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
  Format format = formatOf(kind);
  if (std::isnan(number))
    return nan(format);
  uint64_t sign =
      std::signbit(number) ? uint64_t{1} << (format.exponentBits + format.mantissaBits) : 0;
  double magnitude = std::fabs(number);
  int topExponent = (1 << format.exponentBits) - 1;
  uint64_t largest = (static_cast<uint64_t>(topExponent) << format.mantissaBits) |
                     ((uint64_t{1} << format.mantissaBits) - 1);
  if (format.special == Format::Special::Ieee)
    largest = (static_cast<uint64_t>(topExponent) << format.mantissaBits) - 1;
  else if (format.special == Format::Special::Finite)
    --largest;
  uint64_t overflow = format.special == Format::Special::Ieee
                          ? sign | static_cast<uint64_t>(topExponent) << format.mantissaBits
                          : nan(format) | (format.special == Format::Special::Finite ? sign : 0);
  if (std::isinf(magnitude))
    return overflow;
  int exponent = magnitude == 0 ? 1 - format.bias : std::ilogb(magnitude);
  if (exponent < 1 - format.bias)
    exponent = 1 - format.bias; // subnormal: the exponent of the smallest normal number
  // In units of the last place; nearbyint rounds to nearest even, and a carry moves into the
  // exponent.
  double units = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  uint64_t mantissa = static_cast<uint64_t>(units);
  uint64_t encoded =
      (static_cast<uint64_t>(exponent + format.bias - 1) << format.mantissaBits) + mantissa;
  if (encoded > largest)
    return overflow;
  if (encoded == 0 && format.special == Format::Special::UnsignedZero)
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
  Format format = formatOf(kind);
  int width = format.exponentBits + format.mantissaBits;
  bool isNegative = bits >> width & 1;
  uint64_t magnitude = bits & ((uint64_t{1} << width) - 1);
  int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  uint64_t mantissa = magnitude & ((uint64_t{1} << format.mantissaBits) - 1);
  int topExponent = (1 << format.exponentBits) - 1;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == Format::Special::Ieee && exponent == topExponent) {
    double special = mantissa ? kNan : std::numeric_limits<double>::infinity();
    return isNegative ? -special : special;
  }
  if (format.special == Format::Special::Finite && magnitude == (uint64_t{1} << width) - 1)
    return kNan;
  if (format.special == Format::Special::UnsignedZero && isNegative && magnitude == 0)
    return kNan;
  double value =
      exponent == 0
          ? std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissaBits)
          : std::ldexp(static_cast<double>(mantissa | uint64_t{1} << format.mantissaBits),
                       exponent - format.bias - format.mantissaBits);
  return isNegative ? -value : value;
}

} // namespace sectile::backends
