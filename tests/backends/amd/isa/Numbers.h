//===-- Numbers.h - numbers of 16 and 8 bits on the host --------------------------------------===//
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sectile::amdisa {

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float value = float(fraction) * 0x1p-24f;
  return sign ? -value : value;
}

/// Rounds to the nearest number with `fractionBits` whose smallest exponent is `minExponent`, ties
/// to even. The result is exact as a double; the caller looks after overflow.
inline double roundToFormat(double value, int fractionBits, int minExponent) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), minExponent);
  double unit = std::ldexp(1.0, exponent - fractionBits);
  return std::nearbyint(value / unit) * unit;
}

inline uint16_t halfFromDouble(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double rounded = std::fabs(roundToFormat(value, 10, -14));
  if (rounded > 65504)
    return sign | 0x7c00;
  if (rounded < 0x1p-14)
    return sign | uint16_t(rounded * 0x1p24);
  int exponent = std::ilogb(rounded);
  return sign | uint16_t((exponent + 15) << 10) |
         (uint16_t(std::ldexp(rounded, 10 - exponent)) & 1023);
}

/// The same for a float, without a call: the numbers with a half's exponent by integer arithmetic,
/// those below by the rounding of an addition.
inline uint16_t halfFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return uint16_t(sign | 0x7e00);
  if (bits >= 0x477ff000) // 65520
    return uint16_t(sign | 0x7c00);
  if (bits >= 0x38800000) // 2^-14
    return uint16_t(sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
  float aligned = std::bit_cast<float>(bits) + 0.5f;
  return uint16_t(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000));
}

inline uint16_t halfTowardsZero(double value) {
  if (!std::isfinite(value))
    return halfFromDouble(value);
  uint16_t nearest = halfFromDouble(value);
  return std::fabs(double(halfToFloat(nearest))) > std::fabs(value) ? nearest - 1 : nearest;
}

inline float bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

inline uint16_t bfloatFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Numbers of 8 bits: OCP has infinities or NaNs at the top, FNUZ only NaN at 0x80.
struct SmallFormat {
  int fractionBits, bias;
  bool isFnuz, hasInfinity;
};
constexpr SmallFormat kE4M3{3, 7, false, false}, kE5M2{2, 15, false, true};
constexpr SmallFormat kE4M3Fnuz{3, 8, true, false}, kE5M2Fnuz{2, 16, true, false};

inline float smallToFloat(SmallFormat format, uint8_t bits) {
  int fraction = bits & ((1 << format.fractionBits) - 1);
  int exponent = (bits & 127) >> format.fractionBits;
  int topExponent = 127 >> format.fractionBits;
  float nan = std::numeric_limits<float>::quiet_NaN();
  if (format.isFnuz && bits == 0x80)
    return nan;
  if (!format.isFnuz && exponent == topExponent) {
    if (format.hasInfinity)
      return fraction ? nan : std::copysign(INFINITY, bits & 128 ? -1.0f : 1.0f);
    if (fraction == 7)
      return nan;
  }
  float value = exponent == 0 ? std::ldexp(float(fraction), 1 - format.bias - format.fractionBits)
                              : std::ldexp(float(fraction | 1 << format.fractionBits),
                                           exponent - format.bias - format.fractionBits);
  return bits & 128 ? -value : value;
}

inline uint8_t smallFromFloat(SmallFormat format, float value, bool saturates) {
  uint8_t sign = std::signbit(value) ? 128 : 0;
  uint8_t nan = format.isFnuz ? 0x80 : 0x7f | sign;
  uint8_t largest = format.isFnuz ? 127 : format.hasInfinity ? 0x7b : 0x7e;
  if (std::isnan(value))
    return nan;
  double rounded = std::fabs(roundToFormat(value, format.fractionBits, 1 - format.bias));
  if (rounded > smallToFloat(format, largest)) {
    if (saturates && !std::isinf(value))
      return sign | largest;
    return format.hasInfinity ? sign | 0x7c : nan;
  }
  if (rounded == 0)
    return format.isFnuz ? 0 : sign;
  int exponent = std::max(std::ilogb(rounded), 1 - format.bias);
  auto scaled = unsigned(std::ldexp(rounded, format.fractionBits - exponent));
  // A subnormal number has no leading bit, so its exponent field is the sum's zero.
  unsigned field = (unsigned(exponent + format.bias) << format.fractionBits) + scaled -
                   (1u << format.fractionBits);
  return sign | uint8_t(field);
}

} // namespace sectile::amdisa
