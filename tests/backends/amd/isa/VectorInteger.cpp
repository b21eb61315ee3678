// VALU: integers and bits of 32 and 64 bits.
#include "Lanes.h"
#include "Semantics.h"

#include <algorithm>

namespace sectile::amdisa {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

u32 signed24(u32 value) {
  return u32(i32(value << 8) >> 8);
}
u32 unsigned24(u32 value) {
  return value & 0xffffff;
}

WithFlag<u32> sum(u32 a, u32 b, bool carry) {
  u64 exact = u64(a) + b + carry;
  return {u32(exact), exact >> 32 != 0};
}
WithFlag<u32> difference(u32 a, u32 b, bool borrow) {
  u64 exact = u64(a) - b - borrow;
  return {u32(exact), exact >> 32 != 0};
}

u32 saturated(i64 value) {
  return u32(i32(std::clamp<i64>(value, INT32_MIN, INT32_MAX)));
}

void addSums(Semantics &table) {
  table.add("V_ADD_U32",
            clamping<[](u32 a, u32 b) { return a + b; },
                     [](u32 a, u32 b) { return u32(std::min<u64>(u64(a) + b, 0xffffffff)); }>);
  table.add(
      "V_SUB_U32",
      clamping<[](u32 a, u32 b) { return a - b; }, [](u32 a, u32 b) { return a < b ? 0 : a - b; }>);
  table.add(
      "V_SUBREV_U32",
      clamping<[](u32 a, u32 b) { return b - a; }, [](u32 a, u32 b) { return b < a ? 0 : b - a; }>);
  table.add("V_ADD_I32", clamping<[](u32 a, u32 b) { return a + b; },
                                  [](i32 a, i32 b) { return saturated(i64(a) + b); }>);
  table.add("V_SUB_I32", clamping<[](u32 a, u32 b) { return a - b; },
                                  [](i32 a, i32 b) { return saturated(i64(a) - b); }>);
  table.add("V_ADD_CO_U32", vector<[](u32 a, u32 b) { return sum(a, b, false); }>);
  table.add("V_SUB_CO_U32", vector<[](u32 a, u32 b) { return difference(a, b, false); }>);
  table.add("V_SUBREV_CO_U32", vector<[](u32 a, u32 b) { return difference(b, a, false); }>);
  table.add("V_ADDC_U32", vector<[](u32 a, u32 b, Flag c) { return sum(a, b, c); }>);
  table.add("V_SUBB_U32", vector<[](u32 a, u32 b, Flag c) { return difference(a, b, c); }>);
  table.add("V_SUBBREV_U32", vector<[](u32 a, u32 b, Flag c) { return difference(b, a, c); }>);
  table.add("V_ADD3_U32", vector<[](u32 a, u32 b, u32 c) { return a + b + c; }>);
  table.add("V_LSHL_ADD_U32", vector<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>);
  table.add("V_ADD_LSHL_U32", vector<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>);
  table.add("V_LSHL_ADD_U64", vector<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>);
  table.add("V_XAD_U32", vector<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>);
  table.add("V_ADD_U64", vector<[](u64 a, u64 b) { return a + b; }>);
  table.add("V_SUB_U64", vector<[](u64 a, u64 b) { return a - b; }>);
}

u32 absoluteDifferences(u32 a, u32 b, u32 c) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    c += u32(std::abs(int(a >> shift & 255) - int(b >> shift & 255)));
  return c;
}

void addProducts(Semantics &table) {
  table.add("V_MUL_LO_U32", vector<[](u32 a, u32 b) { return a * b; }>);
  table.add("V_MUL_LO_I32", vector<[](u32 a, u32 b) { return a * b; }>);
  table.add("V_MUL_HI_U32", vector<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }>);
  table.add("V_MUL_HI_I32", vector<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }>);
  table.add("V_MUL_U32_U24", vector<[](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }>);
  table.add("V_MUL_I32_I24", vector<[](u32 a, u32 b) { return signed24(a) * signed24(b); }>);
  table.add("V_MUL_HI_U32_U24",
            vector<[](u32 a, u32 b) { return u32(u64(unsigned24(a)) * unsigned24(b) >> 32); }>);
  table.add(
      "V_MUL_HI_I32_I24",
      vector<[](u32 a, u32 b) { return u32(i64(i32(signed24(a))) * i32(signed24(b)) >> 32); }>);
  table.add("V_MAD_U32_U24",
            vector<[](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; }>);
  table.add("V_MAD_I32_I24",
            vector<[](u32 a, u32 b, u32 c) { return signed24(a) * signed24(b) + c; }>);
  table.add("V_MAD_U64_U32", vector<[](u32 a, u32 b, u64 c) {
              u64 result = u64(a) * b + c;
              return WithFlag<u64>{result, result < c};
            }>);
  table.add("V_MAD_I64_I32", vector<[](i32 a, i32 b, i64 c) {
              __int128 exact = __int128(i64(a) * b) + c;
              return WithFlag<u64>{u64(exact), exact != i64(exact)};
            }>);
  table.add("V_MAD_U32_U16", vector<[](uint16_t a, uint16_t b, u32 c) { return u32(a) * b + c; }>);
  table.add("V_MAD_I32_I16",
            vector<[](int16_t a, int16_t b, u32 c) { return u32(i32(a) * b) + c; }>);
  table.add("V_SAD_U8", vector<[](u32 a, u32 b, u32 c) { return absoluteDifferences(a, b, c); }>);
  table.add("V_SAD_HI_U8",
            vector<[](u32 a, u32 b, u32 c) { return (absoluteDifferences(a, b, 0) << 16) + c; }>);
  table.add("V_SAD_U16", vector<[](u32 a, u32 b, u32 c) {
              auto distance = [](u32 x, u32 y) { return u32(std::abs(int(x) - int(y))); };
              return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
            }>);
  table.add("V_LERP_U8", vector<[](u32 a, u32 b, u32 c) {
              u32 result = 0;
              for (unsigned shift = 0; shift < 32; shift += 8)
                result |= ((a >> shift & 255) + (b >> shift & 255) + (c >> shift & 1)) / 2 << shift;
              return result;
            }>);
  table.add("V_SAD_U32", vector<[](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }>);
}

void addLogic(Semantics &table) {
  table.add("V_AND_B32", vector<[](u32 a, u32 b) { return a & b; }>);
  table.add("V_OR_B32", vector<[](u32 a, u32 b) { return a | b; }>);
  table.add("V_XOR_B32", vector<[](u32 a, u32 b) { return a ^ b; }>);
  table.add("V_XNOR_B32", vector<[](u32 a, u32 b) { return ~(a ^ b); }>);
  table.add("V_NOT_B32", vector<[](u32 a) { return ~a; }>);
  table.add("V_MOV_B32", vector<[](u32 a) { return a; }>);
  table.add("V_MOV_B64", vector<[](u64 a) { return a; }>);
  table.add("V_ACCVGPR_READ_B32", vector<[](u32 a) { return a; }>);
  table.add("V_ACCVGPR_WRITE_B32", vector<[](u32 a) { return a; }>);
  table.add("V_ACCVGPR_MOV_B32", vector<[](u32 a) { return a; }>);
  table.add("V_CNDMASK_B32", vector<[](u32 a, u32 b, Flag c) { return c ? b : a; }>);
  table.add("V_AND_OR_B32", vector<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>);
  table.add("V_OR3_B32", vector<[](u32 a, u32 b, u32 c) { return a | b | c; }>);
  table.add("V_XOR3_B32", vector<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>);
  table.add("V_BFI_B32", vector<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>);
  table.add("V_LSHL_OR_B32", vector<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>);
  table.add("V_BITOP3_B32", [](Wave &wave, const Instruction &instruction) {
    uint8_t truth = instruction.modifiers.truth;
    Space<u32> spaces[3], result;
    const u32 *sources[3];
    for (unsigned slot = 0; slot < 3; ++slot)
      sources[slot] =
          fetch<u32>(wave, instruction, instruction.operands[1 + slot], slot, spaces[slot].values);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      u32 value = 0;
      for (unsigned place = 0; place < 8; ++place)
        if (truth >> place & 1)
          value |= (place & 4 ? sources[0][lane] : ~sources[0][lane]) &
                   (place & 2 ? sources[1][lane] : ~sources[1][lane]) &
                   (place & 1 ? sources[2][lane] : ~sources[2][lane]);
      result.values[lane] = value;
    }
    store<u32>(wave, instruction, instruction.operands[0], 3, result.values);
  });
}

void addShifts(Semantics &table) {
  table.add("V_LSHLREV_B32", vector<[](u32 a, u32 b) { return b << (a & 31); }>);
  table.add("V_LSHRREV_B32", vector<[](u32 a, u32 b) { return b >> (a & 31); }>);
  table.add("V_ASHRREV_I32", vector<[](u32 a, i32 b) { return b >> (a & 31); }>);
  table.add("V_LSHLREV_B64", vector<[](u32 a, u64 b) { return b << (a & 63); }>);
  table.add("V_LSHRREV_B64", vector<[](u32 a, u64 b) { return b >> (a & 63); }>);
  table.add("V_ASHRREV_I64", vector<[](u32 a, i64 b) { return b >> (a & 63); }>);
  table.add("V_ALIGNBIT_B32",
            vector<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (c & 31)); }>);
  table.add("V_ALIGNBYTE_B32",
            vector<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (8 * (c & 3))); }>);
  table.add("V_BFE_U32",
            vector<[](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); }>);
  table.add("V_BFE_I32", vector<[](u32 a, u32 b, u32 c) {
              u32 width = c & 31, field = a >> (b & 31) & ((1u << width) - 1);
              return width ? i32(field << (32 - width)) >> (32 - width) : 0;
            }>);
  table.add("V_BFM_B32", vector<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>);
}

/// v_perm_b32: each byte of the selector names a byte of {a, b}, b's first, a sign or a constant.
u32 permuted(u32 a, u32 b, u32 selector) {
  u64 bytes = u64(a) << 32 | b;
  u32 result = 0;
  for (unsigned place = 0; place < 4; ++place) {
    unsigned select = selector >> (8 * place) & 255;
    u32 byte = 0;
    if (select < 8)
      byte = u32(bytes >> (8 * select)) & 255;
    else if (select < 12) // the sign of the halves of b and of a
      byte = bytes >> (16 * (select - 8) + 15) & 1 ? 255 : 0;
    else if (select > 12)
      byte = 255;
    result |= byte << (8 * place);
  }
  return result;
}

u32 reversed(u32 value) {
  u32 result = 0;
  for (unsigned bit = 0; bit < 32; ++bit)
    result |= (value >> bit & 1) << (31 - bit);
  return result;
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
  table.add("V_MAXMIN_" + type, vector<[](T a, T b, T c) { return std::min(std::max(a, b), c); }>);
  table.add("V_MINMAX_" + type, vector<[](T a, T b, T c) { return std::max(std::min(a, b), c); }>);
}

void addCounts(Semantics &table) {
  table.add("V_PERM_B32", vector<[](u32 a, u32 b, u32 c) { return permuted(a, b, c); }>);
  table.add("V_BFREV_B32", vector<[](u32 a) { return reversed(a); }>);
  table.add("V_BCNT_U32_B32", vector<[](u32 a, u32 b) { return u32(std::popcount(a)) + b; }>);
  table.add("V_FFBH_U32", vector<[](u32 a) { return a ? std::countl_zero(a) : -1; }>);
  table.add("V_FFBL_B32", vector<[](u32 a) { return a ? std::countr_zero(a) : -1; }>);
  table.add("V_FFBH_I32", vector<[](i32 a) {
              u32 different = u32(a < 0 ? ~a : a);
              return different ? std::countl_zero(different) : -1;
            }>);
  // A lane counts the bits of the mask below itself.
  table.add("V_MBCNT_LO_U32_B32", [](Wave &wave, const Instruction &instruction) {
    Space<u32> spaces[2], result;
    const u32 *mask = fetch<u32>(wave, instruction, instruction.operands[1], 0, spaces[0].values);
    const u32 *more = fetch<u32>(wave, instruction, instruction.operands[2], 1, spaces[1].values);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      u32 below = lane < 32 ? (1u << lane) - 1 : ~0u;
      result.values[lane] = u32(std::popcount(mask[lane] & below)) + more[lane];
    }
    store<u32>(wave, instruction, instruction.operands[0], 2, result.values);
  });
  table.add("V_MBCNT_HI_U32_B32", [](Wave &wave, const Instruction &instruction) {
    Space<u32> spaces[2], result;
    const u32 *mask = fetch<u32>(wave, instruction, instruction.operands[1], 0, spaces[0].values);
    const u32 *more = fetch<u32>(wave, instruction, instruction.operands[2], 1, spaces[1].values);
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      u32 below = lane < 32 ? 0 : (1u << (lane - 32)) - 1;
      result.values[lane] = u32(std::popcount(mask[lane] & below)) + more[lane];
    }
    store<u32>(wave, instruction, instruction.operands[0], 2, result.values);
  });
}

} // namespace

void addVectorInteger(Semantics &table) {
  addSums(table);
  addProducts(table);
  addLogic(table);
  addShifts(table);
  addExtrema<u32>(table, "U32");
  addExtrema<i32>(table, "I32");
  addCounts(table);
}

} // namespace sectile::amdisa
