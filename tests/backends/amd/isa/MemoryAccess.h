//===-- MemoryAccess.h - what instructions on LDS, global memory and buffers share ------------===//
#pragma once

#include "Lanes.h"
#include "RealFunctions.h"

#include <algorithm>

namespace sectile::amdisa {

/// What an access moves between memory and registers: so many bytes, or a byte or two that become a
/// register, with their sign or without, or one half of it.
struct Width {
  unsigned bytes;
  bool isSigned = false;
  Half half = Half::None;
};

/// Writes what a lane has loaded.
template <Width width>
void putLoaded(Wave &wave, const Operand &target, unsigned lane, const uint8_t *bytes) {
  if constexpr (width.bytes >= 4) {
    for (unsigned word = 0; word < width.bytes / 4; ++word)
      std::memcpy(wave.row(target.index + word) + lane, bytes + 4 * word, 4);
  } else {
    uint32_t value = width.bytes == 1 ? bytes[0] : bytes[0] | bytes[1] << 8;
    if (width.isSigned)
      value =
          width.bytes == 1 ? uint32_t(int32_t(int8_t(value))) : uint32_t(int32_t(int16_t(value)));
    uint32_t &word = wave.row(target.index)[lane];
    if (width.half == Half::None)
      word = value;
    // With error correction of registers (gfx90a and later data center chips) the other half is
    // lost.
    else if (width.half == Half::High)
      word = (wave.chip->generation == 9 ? 0 : word & 0xffff) | value << 16;
    else
      word = (wave.chip->generation == 9 ? 0 : word & 0xffff0000) | (value & 0xffff);
  }
}

/// Reads what a lane stores.
template <Width width>
void takeStored(Wave &wave, const Operand &source, unsigned lane, uint8_t *bytes) {
  if constexpr (width.bytes >= 4) {
    for (unsigned word = 0; word < width.bytes / 4; ++word)
      std::memcpy(bytes + 4 * word, wave.row(source.index + word) + lane, 4);
  } else {
    bool takesHigh = width.half == Half::High || source.half == Half::High;
    uint32_t value = wave.row(source.index)[lane] >> (takesHigh ? 16 : 0);
    bytes[0] = uint8_t(value);
    if constexpr (width.bytes == 2)
      bytes[1] = uint8_t(value >> 8);
  }
}

/// Two numbers of 16 bits, for packed atomics.
template <class T>
uint32_t addPairs(uint32_t a, uint32_t b) {
  auto sum = [&](unsigned shift) {
    return encode<T>(T{decode<T>(a >> shift & 0xffff) + decode<T>(b >> shift & 0xffff)});
  };
  return sum(0) | sum(16) << 16;
}

/// Calls `visit.operator()<T, F>(global, lds)` for each atomic: F makes the new value of the old
/// one and the lane's; the names are those behind GLOBAL_ATOMIC_ and DS_, null where there is none.
template <class Visit>
void forEachAtomicOfWidth32(Visit visit) {
  using T = uint32_t;
  visit.template operator()<T, [](T a, T b) { return a + b; }>("ADD", "ADD_U32");
  visit.template operator()<T, [](T a, T b) { return a - b; }>("SUB", "SUB_U32");
  visit.template operator()<T, [](T a, T b) { return b - a; }>(nullptr, "RSUB_U32");
  visit.template operator()<T, [](T a, T b) { return std::min(a, b); }>("UMIN", "MIN_U32");
  visit.template operator()<T, [](T a, T b) { return std::max(a, b); }>("UMAX", "MAX_U32");
  visit.template operator()<T, [](T a, T b) { return a & b; }>("AND", "AND_B32");
  visit.template operator()<T, [](T a, T b) { return a | b; }>("OR", "OR_B32");
  visit.template operator()<T, [](T a, T b) { return a ^ b; }>("XOR", "XOR_B32");
  visit.template operator()<T, [](T, T b) { return b; }>("SWAP", "WRXCHG_B32");
  visit.template operator()<T, [](T a, T b) { return a >= b ? 0 : a + 1; }>("INC", "INC_U32");
  visit.template operator()<T, [](T a, T b) { return a == 0 || a > b ? b : a - 1; }>("DEC",
                                                                                     "DEC_U32");
  visit.template operator()<int32_t, [](int32_t a, int32_t b) { return std::min(a, b); }>(
      "SMIN", "MIN_I32");
  visit.template operator()<int32_t, [](int32_t a, int32_t b) { return std::max(a, b); }>(
      "SMAX", "MAX_I32");
  visit.template operator()<float, [](float a, float b) { return a + b; }>("ADD_F32", "ADD_F32");
  visit.template operator()<float, [](float a, float b) { return minimumNumber(a, b); }>("FMIN",
                                                                                         "MIN_F32");
  visit.template operator()<float, [](float a, float b) { return maximumNumber(a, b); }>("FMAX",
                                                                                         "MAX_F32");
  visit.template operator()<T, [](T a, T b) { return addPairs<F16>(a, b); }>("PK_ADD_F16",
                                                                             "PK_ADD_F16");
  visit.template operator()<T, [](T a, T b) { return addPairs<BF16>(a, b); }>("PK_ADD_BF16",
                                                                              "PK_ADD_BF16");
}

template <class Visit>
void forEachAtomicOfWidth64(Visit visit) {
  using T = uint64_t;
  visit.template operator()<T, [](T a, T b) { return a + b; }>("ADD_X2", "ADD_U64");
  visit.template operator()<T, [](T a, T b) { return a - b; }>("SUB_X2", "SUB_U64");
  visit.template operator()<T, [](T a, T b) { return b - a; }>(nullptr, "RSUB_U64");
  visit.template operator()<T, [](T a, T b) { return std::min(a, b); }>("UMIN_X2", "MIN_U64");
  visit.template operator()<T, [](T a, T b) { return std::max(a, b); }>("UMAX_X2", "MAX_U64");
  visit.template operator()<T, [](T a, T b) { return a & b; }>("AND_X2", "AND_B64");
  visit.template operator()<T, [](T a, T b) { return a | b; }>("OR_X2", "OR_B64");
  visit.template operator()<T, [](T a, T b) { return a ^ b; }>("XOR_X2", "XOR_B64");
  visit.template operator()<T, [](T, T b) { return b; }>("SWAP_X2", "WRXCHG_B64");
  visit.template operator()<T, [](T a, T b) { return a >= b ? 0 : a + 1; }>("INC_X2", "INC_U64");
  visit.template operator()<T, [](T a, T b) { return a == 0 || a > b ? b : a - 1; }>("DEC_X2",
                                                                                     "DEC_U64");
  visit.template operator()<int64_t, [](int64_t a, int64_t b) { return std::min(a, b); }>(
      "SMIN_X2", "MIN_I64");
  visit.template operator()<int64_t, [](int64_t a, int64_t b) { return std::max(a, b); }>(
      "SMAX_X2", "MAX_I64");
  visit.template operator()<double, [](double a, double b) { return a + b; }>("ADD_F64", "ADD_F64");
  visit.template operator()<double, [](double a, double b) { return minimumNumber(a, b); }>(
      "MIN_F64", "MIN_F64");
  visit.template operator()<double, [](double a, double b) { return maximumNumber(a, b); }>(
      "MAX_F64", "MAX_F64");
}

template <class Visit>
void forEachAtomic(Visit visit) {
  forEachAtomicOfWidth32(visit);
  forEachAtomicOfWidth64(visit);
}

/// The loads and stores that global memory, scratch and buffers share, by the ends of their names.
template <class Visit>
void forEachLoad(Visit visit) {
  visit.template operator()<Width{1}>("UBYTE");
  visit.template operator()<Width{1, true}>("SBYTE");
  visit.template operator()<Width{2}>("USHORT");
  visit.template operator()<Width{2, true}>("SSHORT");
  visit.template operator()<Width{4}>("DWORD");
  visit.template operator()<Width{8}>("DWORDX2");
  visit.template operator()<Width{12}>("DWORDX3");
  visit.template operator()<Width{16}>("DWORDX4");
  visit.template operator()<Width{1, false, Half::Low}>("UBYTE_D16");
  visit.template operator()<Width{1, false, Half::High}>("UBYTE_D16_HI");
  visit.template operator()<Width{1, true, Half::Low}>("SBYTE_D16");
  visit.template operator()<Width{1, true, Half::High}>("SBYTE_D16_HI");
  visit.template operator()<Width{2, false, Half::Low}>("SHORT_D16");
  visit.template operator()<Width{2, false, Half::High}>("SHORT_D16_HI");
}

template <class Visit>
void forEachStore(Visit visit) {
  visit.template operator()<Width{1}>("BYTE");
  visit.template operator()<Width{1, false, Half::High}>("BYTE_D16_HI");
  visit.template operator()<Width{2}>("SHORT");
  visit.template operator()<Width{2, false, Half::High}>("SHORT_D16_HI");
  visit.template operator()<Width{4}>("DWORD");
  visit.template operator()<Width{8}>("DWORDX2");
  visit.template operator()<Width{12}>("DWORDX3");
  visit.template operator()<Width{16}>("DWORDX4");
}

/// Fails where the bytes have been stored by another wave and not been waited for since.
inline bool mayRead(Wave &wave, unsigned lane, uint64_t address, unsigned count) {
  int racing = wave.group->stores.racingWave(address, count, wave.id, wave.group->progress,
                                             wave.chip->generation == 9);
  if (racing >= 0)
    wave.failLane(lane, "reads from " + wave.buffers->describe(address) + " what wave " +
                            std::to_string(racing) +
                            " stores, without a wait and a barrier between");
  return racing < 0;
}

/// The stream that counts a store: gfx9 counts loads and stores together, in order.
inline Stream storeStream(const Wave &wave) {
  return wave.chip->generation == 9 ? Stream::Load : Stream::Store;
}

} // namespace sectile::amdisa
