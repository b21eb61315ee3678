//===-- RealFunctions.h - what floating-point instructions of all widths share ----------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sectile::amdisa {

/// IEEE 754-2019's maximumNumber: a number wins over NaN, +0 over -0.
template <class T>
T maximumNumber(T a, T b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <class T>
T minimumNumber(T a, T b) {
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
/// IEEE 754-2019's maximum: NaN wins.
template <class T>
T maximumOrNan(T a, T b) {
  return a != a ? a : b != b ? b : maximumNumber(a, b);
}
template <class T>
T minimumOrNan(T a, T b) {
  return a != a ? a : b != b ? b : minimumNumber(a, b);
}
template <class T>
T medianNumber(T a, T b, T c) {
  if (a != a || b != b || c != c)
    return minimumNumber(minimumNumber(a, b), c);
  return maximumNumber(minimumNumber(a, b), minimumNumber(maximumNumber(a, b), c));
}

/// x - floor(x), always below 1.
template <class T>
T fraction(T x) {
  return minimumNumber(T(x - std::floor(x)), std::nextafter(T(1), T(0)));
}

template <class T>
T mantissa(T x) {
  int exponent;
  return x == 0 || !std::isfinite(x) ? x : std::frexp(x, &exponent);
}
template <class T>
int32_t exponentOf(T x) {
  int exponent = 0;
  if (x != 0 && std::isfinite(x))
    std::frexp(x, &exponent);
  return exponent;
}

/// sin and cos of revolutions; the instructions know them up to 256.
inline double sineOfTurns(double x) {
  return std::fabs(x) > 256 ? 0 : std::sin(6.283185307179586476925 * (x - std::nearbyint(x)));
}
inline double cosineOfTurns(double x) {
  return std::fabs(x) > 256 ? 1 : std::cos(6.283185307179586476925 * (x - std::nearbyint(x)));
}

/// The biased exponent of a float or double.
template <class T>
int biasedExponent(T x) {
  if constexpr (sizeof(T) == 4)
    return int(std::bit_cast<uint32_t>(x) >> 23 & 255);
  else
    return int(std::bit_cast<uint64_t>(x) >> 52 & 2047);
}

template <class T>
bool isDenormal(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

/// The bits of v_cmp_class: signalling and quiet NaN, -inf, -normal, -denormal, -0, and the
/// positive ones the other way round.
template <class T>
uint32_t classOf(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int quietBit = sizeof(T) == 4 ? 22 : 51;
  bool isNegative = std::signbit(x);
  switch (std::fpclassify(x)) {
  case FP_NAN:
    return std::bit_cast<Bits>(x) >> quietBit & 1 ? 2 : 1;
  case FP_INFINITE:
    return isNegative ? 4 : 512;
  case FP_NORMAL:
    return isNegative ? 8 : 256;
  case FP_SUBNORMAL:
    return isNegative ? 16 : 128;
  default:
    return isNegative ? 32 : 64;
  }
}

} // namespace sectile::amdisa
