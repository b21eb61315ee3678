// VALU: conversions between kinds of numbers.
#include "Lanes.h"
#include "Semantics.h"

#include <algorithm>
#include <limits>

namespace sectile::amdisa {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

/// The integer nearest to `value` that the type has; NaN becomes 0.
template <class T>
T saturated(double value) {
  if (value != value)
    return 0;
  return T(std::clamp(value, double(std::numeric_limits<T>::min()),
                      double(std::numeric_limits<T>::max())));
}

void addIntegers(Semantics &table) {
  table.add("V_CVT_F32_I32", vector<[](i32 a) { return float(a); }>);
  table.add("V_CVT_F32_U32", vector<[](u32 a) { return float(a); }>);
  table.add("V_CVT_F64_I32", vector<[](i32 a) { return double(a); }>);
  table.add("V_CVT_F64_U32", vector<[](u32 a) { return double(a); }>);
  table.add("V_CVT_I32_F32", vector<[](float a) { return saturated<i32>(a); }>);
  table.add("V_CVT_U32_F32", vector<[](float a) { return saturated<u32>(a); }>);
  table.add("V_CVT_I32_F64", vector<[](double a) { return saturated<i32>(a); }>);
  table.add("V_CVT_U32_F64", vector<[](double a) { return saturated<u32>(a); }>);
  for (const char *name : {"V_CVT_FLR_I32_F32", "V_CVT_FLOOR_I32_F32"})
    table.add(name, vector<[](float a) { return saturated<i32>(std::floor(double(a))); }>);
  for (const char *name : {"V_CVT_RPI_I32_F32", "V_CVT_NEAREST_I32_F32"})
    table.add(name, vector<[](float a) { return saturated<i32>(std::floor(double(a) + 0.5)); }>);
  table.add("V_CVT_F16_I16", vector<[](i16 a) { return F16{float(a)}; }>);
  table.add("V_CVT_F16_U16", vector<[](u16 a) { return F16{float(a)}; }>);
  table.add("V_CVT_I16_F16", vector<[](F16 a) { return saturated<i16>(a); }>);
  table.add("V_CVT_U16_F16", vector<[](F16 a) { return saturated<u16>(a); }>);
  table.add("V_CVT_I32_I16", vector<[](i16 a) { return i32(a); }>);
  table.add("V_CVT_U32_U16", vector<[](u16 a) { return u32(a); }>);
  table.add("V_CVT_F32_UBYTE0", vector<[](u32 a) { return float(a & 255); }>);
  table.add("V_CVT_F32_UBYTE1", vector<[](u32 a) { return float(a >> 8 & 255); }>);
  table.add("V_CVT_F32_UBYTE2", vector<[](u32 a) { return float(a >> 16 & 255); }>);
  table.add("V_CVT_F32_UBYTE3", vector<[](u32 a) { return float(a >> 24); }>);
  table.add("V_CVT_OFF_F32_I4", vector<[](u32 a) { return float(i32(a << 28) >> 28) / 16; }>);
}

u32 packed(u16 low, u16 high) {
  return low | u32(high) << 16;
}

void addReals(Semantics &table) {
  table.add("V_CVT_F16_F32", vector<[](float a) { return F16{a}; }>);
  table.add("V_CVT_F32_F16", vector<[](F16 a) { return a.value; }>);
  table.add("V_CVT_F64_F32", vector<[](float a) { return double(a); }>);
  table.add("V_CVT_F32_F64", vector<[](double a) { return float(a); }>);
  table.add("V_CVT_F32_BF16", vector<[](BF16 a) { return a.value; }>);
  for (const char *name : {"V_CVT_PKRTZ_F16_F32", "V_CVT_PK_RTZ_F16_F32"})
    table.add(
        name,
        vector<[](float a, float b) { return packed(halfTowardsZero(a), halfTowardsZero(b)); }>);
  table.add("V_CVT_PK_F16_F32",
            vector<[](float a, float b) { return packed(halfFromFloat(a), halfFromFloat(b)); }>);
  table.add(
      "V_CVT_PK_BF16_F32",
      vector<[](float a, float b) { return packed(bfloatFromFloat(a), bfloatFromFloat(b)); }>);
  table.add(
      "V_CVT_PK_I16_I32",
      vector<[](i32 a, i32 b) { return packed(u16(saturated<i16>(a)), u16(saturated<i16>(b))); }>);
  table.add("V_CVT_PK_U16_U32",
            vector<[](u32 a, u32 b) { return packed(saturated<u16>(a), saturated<u16>(b)); }>);
  table.add("V_CVT_PK_I16_F32", vector<[](float a, float b) {
              return packed(u16(saturated<i16>(a)), u16(saturated<i16>(b)));
            }>);
  table.add("V_CVT_PK_U16_F32",
            vector<[](float a, float b) { return packed(saturated<u16>(a), saturated<u16>(b)); }>);
  for (const char *name : {"V_CVT_PKNORM_I16_F32", "V_CVT_PK_NORM_I16_F32"})
    table.add(name, vector<[](float a, float b) {
                auto scaled = [](double x) {
                  return u16(saturated<i16>(std::nearbyint(std::clamp(x, -1.0, 1.0) * 32767)));
                };
                return packed(scaled(a), scaled(b));
              }>);
  table.add("V_CVT_PK_U8_F32", vector<[](float a, u32 byte, u32 old) {
              unsigned shift = 8 * (byte & 3);
              return (old & ~(255u << shift)) | u32(saturated<uint8_t>(a)) << shift;
            }>);
}

constexpr SmallFormat formatOf(bool isE5M2, bool isFnuz) {
  return isE5M2 ? (isFnuz ? kE5M2Fnuz : kE5M2) : (isFnuz ? kE4M3Fnuz : kE4M3);
}

/// A byte of the source: SDWA (gfx9) or byte_sel (gfx12) says which.
template <bool isE5M2>
void widen(Wave &wave, const Instruction &instruction) {
  Space<u32> space, result;
  const u32 *source = fetch<u32>(wave, instruction, instruction.operands[1], 0, space.values);
  unsigned byte = instruction.modifiers.byte;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.values[lane] = std::bit_cast<u32>(
        smallToFloat(formatOf(isE5M2, wave.chip->hasFnuz), uint8_t(source[lane] >> (8 * byte))));
  store<float>(wave, instruction, instruction.operands[0], 4, result.values);
}

/// The two bytes of a half of the source become two registers.
template <bool isE5M2>
void widenPair(Wave &wave, const Instruction &instruction) {
  Space<u32> space;
  Space<uint64_t> result;
  const u32 *source = fetch<u32>(wave, instruction, instruction.operands[1], 0, space.values);
  unsigned shift = instruction.modifiers.hasOpSel && (instruction.modifiers.opSel & 1) ? 16 : 0;
  SmallFormat format = formatOf(isE5M2, wave.chip->hasFnuz);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    u32 half = source[lane] >> shift;
    result.values[lane] = std::bit_cast<u32>(smallToFloat(format, uint8_t(half))) |
                          uint64_t(std::bit_cast<u32>(smallToFloat(format, uint8_t(half >> 8))))
                              << 32;
  }
  Instruction plain = instruction;
  plain.modifiers.isSdwa = false;
  store<uint64_t>(wave, plain, instruction.operands[0], 1, result.values);
}

/// Two numbers become the low or, by op_sel, the high half of the destination.
template <bool isE5M2>
void narrowPair(Wave &wave, const Instruction &instruction) {
  Space<float> spaces[2];
  Space<u32> result;
  const u32 *sources[2];
  for (unsigned slot = 0; slot < 2; ++slot)
    sources[slot] =
        fetch<float>(wave, instruction, instruction.operands[1 + slot], slot, spaces[slot].values);
  SmallFormat format = formatOf(isE5M2, wave.chip->hasFnuz);
  const u32 *old = wave.row(instruction.operands[0].index);
  bool toHigh = instruction.modifiers.opSel >> 2 & 1;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    u32 pair = 0;
    for (unsigned slot = 0; slot < 2; ++slot)
      pair |= u32(smallFromFloat(format, std::bit_cast<float>(sources[slot][lane]),
                                 wave.mode.saturatesFp16))
              << (8 * slot);
    result.values[lane] =
        toHigh ? (old[lane] & 0xffff) | pair << 16 : (old[lane] & 0xffff0000) | pair;
  }
  store<u32>(wave, instruction, instruction.operands[0], 2, result.values);
}

} // namespace

void addVectorConvert(Semantics &table) {
  addIntegers(table);
  addReals(table);
  table.add("V_CVT_F32_FP8", widen<false>);
  table.add("V_CVT_F32_BF8", widen<true>);
  table.add("V_CVT_PK_F32_FP8", widenPair<false>);
  table.add("V_CVT_PK_F32_BF8", widenPair<true>);
  table.add("V_CVT_PK_FP8_F32", narrowPair<false>);
  table.add("V_CVT_PK_BF8_F32", narrowPair<true>);
}

} // namespace sectile::amdisa
