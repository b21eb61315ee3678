// VALU: numbers and integers of 16 bits.
#include "Lanes.h"
#include "RealFunctions.h"
#include "Semantics.h"

#include <algorithm>

namespace sectile::amdisa {
namespace {

using u16 = uint16_t;
using i16 = int16_t;

/// A double has room for the exact sum of a product, so one rounding remains.
F16 rounded(double value) {
  return {halfToFloat(halfFromDouble(value))};
}
F16 fma16(F16 a, F16 b, F16 c) {
  return rounded(double(a) * double(b) + double(c));
}

void addArithmetic(Semantics &table) {
  table.add("V_ADD_F16", vector<[](F16 a, F16 b) { return F16{a + b}; }>);
  table.add("V_SUB_F16", vector<[](F16 a, F16 b) { return F16{a - b}; }>);
  table.add("V_SUBREV_F16", vector<[](F16 a, F16 b) { return F16{b - a}; }>);
  table.add("V_MUL_F16", vector<[](F16 a, F16 b) { return F16{a * b}; }>);
  for (const char *name : {"V_FMA_F16", "V_FMAAK_F16", "V_FMAMK_F16", "V_MAD_F16", "V_MADAK_F16",
                           "V_MADMK_F16", "V_FMA_LEGACY_F16", "V_MAD_LEGACY_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) { return fma16(a, b, c); }>);
  for (const char *name : {"V_FMAC_F16", "V_MAC_F16"})
    table.add(name, accumulate<[](F16 a, F16 b, F16 c) { return fma16(a, b, c); }>);
  for (const char *name : {"V_MAX_F16", "V_MAX_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b) { return F16{maximumNumber<float>(a, b)}; }>);
  for (const char *name : {"V_MIN_F16", "V_MIN_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b) { return F16{minimumNumber<float>(a, b)}; }>);
  table.add("V_MAXIMUM_F16", vector<[](F16 a, F16 b) { return F16{maximumOrNan<float>(a, b)}; }>);
  table.add("V_MINIMUM_F16", vector<[](F16 a, F16 b) { return F16{minimumOrNan<float>(a, b)}; }>);
  for (const char *name : {"V_MAX3_F16", "V_MAX3_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) {
                return F16{maximumNumber<float>(maximumNumber<float>(a, b), c)};
              }>);
  for (const char *name : {"V_MIN3_F16", "V_MIN3_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) {
                return F16{minimumNumber<float>(minimumNumber<float>(a, b), c)};
              }>);
  for (const char *name : {"V_MED3_F16", "V_MED3_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) { return F16{medianNumber<float>(a, b, c)}; }>);
  table.add("V_MAXIMUMMINIMUM_F16", vector<[](F16 a, F16 b, F16 c) {
              return F16{minimumOrNan<float>(maximumOrNan<float>(a, b), c)};
            }>);
  table.add("V_MINIMUMMAXIMUM_F16", vector<[](F16 a, F16 b, F16 c) {
              return F16{maximumOrNan<float>(minimumOrNan<float>(a, b), c)};
            }>);
  table.add("V_MAXIMUM3_F16", vector<[](F16 a, F16 b, F16 c) {
              return F16{maximumOrNan<float>(maximumOrNan<float>(a, b), c)};
            }>);
  table.add("V_MINIMUM3_F16", vector<[](F16 a, F16 b, F16 c) {
              return F16{minimumOrNan<float>(minimumOrNan<float>(a, b), c)};
            }>);
  for (const char *name : {"V_MAXMIN_F16", "V_MAXMIN_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) {
                return F16{minimumNumber<float>(maximumNumber<float>(a, b), c)};
              }>);
  for (const char *name : {"V_MINMAX_F16", "V_MINMAX_NUM_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) {
                return F16{maximumNumber<float>(minimumNumber<float>(a, b), c)};
              }>);
}

float fixup16(float quotient, float denominator, float numerator) {
  float sign = std::signbit(denominator) != std::signbit(numerator) ? -1.0f : 1.0f;
  if (numerator != numerator || denominator != denominator ||
      (denominator == 0 && numerator == 0) || (std::isinf(denominator) && std::isinf(numerator)))
    return NAN;
  if (denominator == 0 || std::isinf(numerator))
    return sign * INFINITY;
  if (std::isinf(denominator) || numerator == 0)
    return std::copysign(0.0f, sign);
  return std::copysign(quotient, sign);
}

void addFunctions(Semantics &table) {
  table.add("V_RCP_F16", vector<[](F16 a) { return rounded(1 / double(a)); }>);
  table.add("V_SQRT_F16", vector<[](F16 a) { return rounded(std::sqrt(double(a))); }>);
  table.add("V_RSQ_F16", vector<[](F16 a) { return rounded(1 / std::sqrt(double(a))); }>);
  table.add("V_LOG_F16", vector<[](F16 a) { return rounded(std::log2(double(a))); }>);
  table.add("V_EXP_F16", vector<[](F16 a) { return rounded(std::exp2(double(a))); }>);
  table.add("V_SIN_F16", vector<[](F16 a) { return rounded(sineOfTurns(a)); }>);
  table.add("V_COS_F16", vector<[](F16 a) { return rounded(cosineOfTurns(a)); }>);
  table.add("V_FLOOR_F16", vector<[](F16 a) { return F16{std::floor(a.value)}; }>);
  table.add("V_CEIL_F16", vector<[](F16 a) { return F16{std::ceil(a.value)}; }>);
  table.add("V_TRUNC_F16", vector<[](F16 a) { return F16{std::trunc(a.value)}; }>);
  table.add("V_RNDNE_F16", vector<[](F16 a) { return F16{std::nearbyint(a.value)}; }>);
  table.add("V_FRACT_F16", vector<[](F16 a) {
              return F16{minimumNumber(a.value - std::floor(a.value), 0.99951171875f)};
            }>);
  table.add("V_LDEXP_F16", vector<[](F16 a, i16 b) { return rounded(std::ldexp(double(a), b)); }>);
  table.add("V_FREXP_MANT_F16", vector<[](F16 a) { return F16{mantissa(a.value)}; }>);
  table.add("V_FREXP_EXP_I16_F16", vector<[](F16 a) { return i16(exponentOf(a.value)); }>);
  for (const char *name : {"V_DIV_FIXUP_F16", "V_DIV_FIXUP_LEGACY_F16"})
    table.add(name, vector<[](F16 a, F16 b, F16 c) { return F16{fixup16(a, b, c)}; }>);
}

template <class T>
void addExtrema(Semantics &table, const std::string &type) {
  table.add("V_MIN_" + type, vector<[](T a, T b) { return std::min(a, b); }>);
  table.add("V_MAX_" + type, vector<[](T a, T b) { return std::max(a, b); }>);
  table.add("V_MIN3_" + type, vector<[](T a, T b, T c) { return std::min(std::min(a, b), c); }>);
  table.add("V_MAX3_" + type, vector<[](T a, T b, T c) { return std::max(std::max(a, b), c); }>);
  table.add(
      "V_MED3_" + type,
      vector<[](T a, T b, T c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }>);
}

i16 saturated16(int value) {
  return i16(std::clamp(value, -32768, 32767));
}

/// Each bit of the result is the truth table's at 4a + 2b + c.
void combineBits(Wave &wave, const Instruction &instruction) {
  Space<u16> spaces[3], result;
  const uint32_t *sources[3];
  for (unsigned slot = 0; slot < 3; ++slot)
    sources[slot] =
        fetch<u16>(wave, instruction, instruction.operands[1 + slot], slot, spaces[slot].values);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint32_t value = 0;
    for (unsigned bit = 0; bit < 16; ++bit) {
      unsigned place = (sources[0][lane] >> bit & 1) * 4 + (sources[1][lane] >> bit & 1) * 2 +
                       (sources[2][lane] >> bit & 1);
      value |= uint32_t(instruction.modifiers.truth >> place & 1) << bit;
    }
    result.values[lane] = value;
  }
  store<u16>(wave, instruction, instruction.operands[0], 3, result.values);
}

void addIntegers(Semantics &table) {
  table.add("V_BITOP3_B16", combineBits);
  table.add("V_ADD_U16", clamping<[](u16 a, u16 b) { return u16(a + b); },
                                  [](u16 a, u16 b) { return u16(std::min(a + b, 0xffff)); }>);
  table.add("V_SUB_U16", clamping<[](u16 a, u16 b) { return u16(a - b); },
                                  [](u16 a, u16 b) { return u16(std::max(a - b, 0)); }>);
  table.add("V_SUBREV_U16", clamping<[](u16 a, u16 b) { return u16(b - a); },
                                     [](u16 a, u16 b) { return u16(std::max(b - a, 0)); }>);
  table.add("V_ADD_I16", clamping<[](u16 a, u16 b) { return u16(a + b); },
                                  [](i16 a, i16 b) { return saturated16(a + b); }>);
  table.add("V_SUB_I16", clamping<[](u16 a, u16 b) { return u16(a - b); },
                                  [](i16 a, i16 b) { return saturated16(a - b); }>);
  table.add("V_MUL_LO_U16", vector<[](u16 a, u16 b) { return u16(uint32_t(a) * b); }>);
  for (const char *name : {"V_MAD_U16", "V_MAD_I16"})
    table.add(name, vector<[](u16 a, u16 b, u16 c) { return u16(uint32_t(a) * b + c); }>);
  table.add("V_LSHLREV_B16", vector<[](u16 a, u16 b) { return u16(b << (a & 15)); }>);
  table.add("V_LSHRREV_B16", vector<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>);
  table.add("V_ASHRREV_I16", vector<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>);
  table.add("V_AND_B16", vector<[](u16 a, u16 b) { return u16(a & b); }>);
  table.add("V_OR_B16", vector<[](u16 a, u16 b) { return u16(a | b); }>);
  table.add("V_XOR_B16", vector<[](u16 a, u16 b) { return u16(a ^ b); }>);
  table.add("V_NOT_B16", vector<[](u16 a) { return u16(~a); }>);
  table.add("V_MOV_B16", vector<[](u16 a) { return a; }>);
  table.add("V_CNDMASK_B16", vector<[](u16 a, u16 b, Flag c) { return c ? b : a; }>);
  table.add("V_PACK_B32_F16", vector<[](u16 a, u16 b) { return uint32_t(a) | uint32_t(b) << 16; }>);
  table.add("V_SAT_PK_U8_I16", vector<[](uint32_t a) {
              auto byte = [](uint32_t half) {
                return uint32_t(std::clamp<int>(i16(half), 0, 255));
              };
              return byte(a) | byte(a >> 16) << 8;
            }>);
  addExtrema<u16>(table, "U16");
  addExtrema<i16>(table, "I16");
}

} // namespace

void addVectorHalf(Semantics &table) {
  addArithmetic(table);
  addFunctions(table);
  addIntegers(table);
}

} // namespace sectile::amdisa
