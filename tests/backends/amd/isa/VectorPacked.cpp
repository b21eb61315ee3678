// VOP3P: two halves or two registers at once, mixed precision, dot products.
#include "Lanes.h"
#include "RealFunctions.h"
#include "Semantics.h"

#include <algorithm>

namespace sectile::amdisa {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

/// Bit `slot` of op_sel_hi, which is all ones where it is not written.
bool takesHighForHigh(const Modifiers &modifiers, unsigned slot) {
  return !modifiers.hasOpSelHi || (modifiers.opSelHi >> slot & 1);
}

/// A packed operand's registers as they are: 32 bits, constants as 16-bit operands see them.
const u32 *fetchPacked(Wave &wave, const Instruction &instruction, unsigned slot, bool isReal,
                       u32 *space) {
  const Operand &operand = instruction.operands[1 + slot];
  if (operand.isVector())
    return wave.row(operand.index);
  u32 bits = operand.isScalar() ? wave.scalar[operand.index]
             : operand.kind == Operand::Kind::Float
                 ? u32(constantBits(operand, isReal ? 16 : 32, true))
                 : u32(operand.integer);
  std::fill_n(space, wave.lanes, bits);
  return space;
}

template <class T>
T halfOf(u32 word, const Modifiers &modifiers, unsigned slot, bool forHigh) {
  bool takesHigh = forHigh ? takesHighForHigh(modifiers, slot) : (modifiers.opSel >> slot & 1) != 0;
  u32 bits = takesHigh ? word >> 16 : word & 0xffff;
  if (isReal<T> && ((forHigh ? modifiers.negHi : modifiers.negLo) >> slot & 1))
    bits ^= 0x8000;
  return decode<T>(bits);
}

template <auto F, Form form, class T, class... A, size_t... N>
void applyPacked(Wave &wave, const Instruction &instruction, T (*)(A...),
                 std::index_sequence<N...>) {
  constexpr unsigned count = sizeof...(A), given = form == Form::Accumulate ? count - 1 : count;
  Space<u32> spaces[count], result;
  const u32 *sources[count];
  for (unsigned slot = 0; slot < given; ++slot)
    sources[slot] = fetchPacked(wave, instruction, slot, isReal<T>, spaces[slot].values);
  if (form == Form::Accumulate)
    sources[count - 1] = wave.row(instruction.operands[0].index);
  const Modifiers &modifiers = instruction.modifiers;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    u32 halves[2];
    for (unsigned half = 0; half < 2; ++half) {
      Raw<T> raw = encode<T>(F(halfOf<A>(sources[N][lane], modifiers, N, half)...));
      if (isReal<T> && modifiers.clamp)
        modifyResult<T>(modifiers, &raw, 1);
      halves[half] = raw;
    }
    result.values[lane] = halves[0] | halves[1] << 16;
  }
  storeWords(wave, instruction.operands[0].index, result.values, writtenLanes(wave, instruction));
}

template <auto F, Form form = Form::Plain>
void packed(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp && !isReal<decltype(F({}, {}))>)
    return wave.fail("clamp of this instruction is not modelled");
  applyPacked<F, form>(wave, instruction, +F, std::make_index_sequence<arityOf(+F)>());
}
template <auto kPlain, auto kClamped>
void packedClamping(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp)
    applyPacked<kClamped, Form::Plain>(wave, instruction, +kClamped, std::make_index_sequence<2>());
  else
    packed<kPlain>(wave, instruction);
}
template <auto F, Form form = Form::Plain>
void packed3(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp && !isReal<decltype(F({}, {}, {}))>)
    return wave.fail("clamp of this instruction is not modelled");
  applyPacked<F, form>(wave, instruction, +F, std::make_index_sequence<arityOf(+F)>());
}

F16 fma16(F16 a, F16 b, F16 c) {
  return {halfToFloat(halfFromDouble(double(a) * double(b) + double(c)))};
}

void addHalves(Semantics &table) {
  table.add("V_PK_ADD_F16", packed<[](F16 a, F16 b) { return F16{a + b}; }>);
  table.add("V_PK_MUL_F16", packed<[](F16 a, F16 b) { return F16{a * b}; }>);
  table.add("V_PK_FMA_F16", packed3<[](F16 a, F16 b, F16 c) { return fma16(a, b, c); }>);
  table.add("V_PK_FMAC_F16", [](Wave &wave, const Instruction &instruction) {
    applyPacked<[](F16 a, F16 b, F16 c) { return fma16(a, b, c); }, Form::Accumulate>(
        wave, instruction, static_cast<F16 (*)(F16, F16, F16)>(nullptr),
        std::make_index_sequence<3>());
  });
  for (const char *name : {"V_PK_MAX_F16", "V_PK_MAX_NUM_F16"})
    table.add(name, packed<[](F16 a, F16 b) { return F16{maximumNumber<float>(a, b)}; }>);
  for (const char *name : {"V_PK_MIN_F16", "V_PK_MIN_NUM_F16"})
    table.add(name, packed<[](F16 a, F16 b) { return F16{minimumNumber<float>(a, b)}; }>);
  table.add("V_PK_MAXIMUM_F16",
            packed<[](F16 a, F16 b) { return F16{maximumOrNan<float>(a, b)}; }>);
  table.add("V_PK_MINIMUM_F16",
            packed<[](F16 a, F16 b) { return F16{minimumOrNan<float>(a, b)}; }>);
  table.add("V_PK_MAXIMUM3_F16", packed3<[](F16 a, F16 b, F16 c) {
              return F16{maximumOrNan<float>(maximumOrNan<float>(a, b), c)};
            }>);
  table.add("V_PK_MINIMUM3_F16", packed3<[](F16 a, F16 b, F16 c) {
              return F16{minimumOrNan<float>(minimumOrNan<float>(a, b), c)};
            }>);
  constexpr auto sum = [](u16 a, u16 b) { return u16(a + b); };
  constexpr auto difference = [](u16 a, u16 b) { return u16(a - b); };
  table.add("V_PK_ADD_U16",
            packedClamping<sum, [](u16 a, u16 b) { return u16(std::min(a + b, 0xffff)); }>);
  table.add("V_PK_SUB_U16",
            packedClamping<difference, [](u16 a, u16 b) { return u16(std::max(a - b, 0)); }>);
  table.add(
      "V_PK_ADD_I16",
      packedClamping<sum, [](i16 a, i16 b) { return i16(std::clamp(a + b, -32768, 32767)); }>);
  table.add("V_PK_SUB_I16", packedClamping<difference, [](i16 a, i16 b) {
              return i16(std::clamp(a - b, -32768, 32767));
            }>);
  table.add("V_PK_MUL_LO_U16", packed<[](u16 a, u16 b) { return u16(u32(a) * b); }>);
  for (const char *name : {"V_PK_MAD_U16", "V_PK_MAD_I16"})
    table.add(name, packed3<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); }>);
  table.add("V_PK_LSHLREV_B16", packed<[](u16 a, u16 b) { return u16(b << (a & 15)); }>);
  table.add("V_PK_LSHRREV_B16", packed<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>);
  table.add("V_PK_ASHRREV_I16", packed<[](i16 a, i16 b) { return i16(b >> (a & 15)); }>);
  table.add("V_PK_MAX_U16", packed<[](u16 a, u16 b) { return std::max(a, b); }>);
  table.add("V_PK_MIN_U16", packed<[](u16 a, u16 b) { return std::min(a, b); }>);
  table.add("V_PK_MAX_I16", packed<[](i16 a, i16 b) { return std::max(a, b); }>);
  table.add("V_PK_MIN_I16", packed<[](i16 a, i16 b) { return std::min(a, b); }>);
}

/// Register `word` of an operand of two, in every lane; a constant is in both.
const u32 *fetchWord(Wave &wave, const Operand &operand, unsigned word, u32 *space) {
  if (operand.isVector())
    return wave.row(operand.index + word);
  u32 bits = operand.isScalar() ? wave.scalar[operand.index + (operand.words == 2 ? word : 0)]
                                : u32(constantBits(operand, 32, true));
  std::fill_n(space, wave.lanes, bits);
  return space;
}

/// Operands are two registers; op_sel takes one for the low result, op_sel_hi one for the high.
template <auto F, unsigned count>
void packedWords(Wave &wave, const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  Space<u32> results[2];
  for (unsigned half = 0; half < 2; ++half) {
    Space<u32> spaces[count];
    const u32 *sources[count];
    u32 signs[3] = {};
    for (unsigned slot = 0; slot < count; ++slot) {
      bool takesHigh =
          half ? takesHighForHigh(modifiers, slot) : (modifiers.opSel >> slot & 1) != 0;
      sources[slot] =
          fetchWord(wave, instruction.operands[1 + slot], takesHigh, spaces[slot].values);
      signs[slot] = u32((half ? modifiers.negHi : modifiers.negLo) >> slot & 1) << 31;
    }
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      float values[3] = {};
      for (unsigned slot = 0; slot < count; ++slot)
        values[slot] = std::bit_cast<float>(sources[slot][lane] ^ signs[slot]);
      results[half].values[lane] = std::bit_cast<u32>(F(values));
    }
    if (modifiers.clamp)
      modifyResult<float>(modifiers, results[half].values, wave.lanes);
  }
  for (unsigned half = 0; half < 2; ++half)
    storeWords(wave, instruction.operands[0].index + half, results[half].values, wave.exec());
}

/// v_pk_mov_b32: op_sel says which register of the first and of the second source.
void movePair(Wave &wave, const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  Space<u32> results[2];
  for (unsigned half = 0; half < 2; ++half) {
    Space<u32> space;
    const u32 *source =
        fetchWord(wave, instruction.operands[1 + half], modifiers.opSel >> half & 1, space.values);
    std::copy_n(source, wave.lanes, results[half].values);
  }
  for (unsigned half = 0; half < 2; ++half)
    storeWords(wave, instruction.operands[0].index + half, results[half].values, wave.exec());
}

/// Each source is a float, or by op_sel_hi a half that op_sel names.
template <class Store>
void mix(Wave &wave, const Instruction &instruction, Store store) {
  const Modifiers &modifiers = instruction.modifiers;
  Space<u32> spaces[3], words[3];
  for (unsigned slot = 0; slot < 3; ++slot) {
    const Operand &operand = instruction.operands[1 + slot];
    Operand plain = operand;
    plain.negates = plain.takesAbsolute = false;
    bool isHalf = modifiers.opSelHi >> slot & 1;
    const u32 *source = operand.isVector() ? wave.row(operand.index) : spaces[slot].values;
    if (!operand.isVector())
      std::fill_n(spaces[slot].values, wave.lanes,
                  u32(readScalar(wave, plain, isHalf ? 16 : 32, true)));
    unsigned shift = modifiers.opSel >> slot & 1 ? 16 : 0;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      float value =
          isHalf ? halfToFloat(u16(source[lane] >> shift)) : std::bit_cast<float>(source[lane]);
      if (operand.takesAbsolute)
        value = std::fabs(value);
      words[slot].values[lane] = std::bit_cast<u32>(operand.negates ? -value : value);
    }
  }
  Space<u32> result;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    auto value = [&](unsigned slot) { return std::bit_cast<float>(words[slot].values[lane]); };
    result.values[lane] = std::bit_cast<u32>(std::fma(value(0), value(1), value(2)));
  }
  if (modifiers.clamp)
    modifyResult<float>(modifiers, result.values, wave.lanes);
  store(result.values);
}

template <bool toHigh>
void mixToHalf(Wave &wave, const Instruction &instruction) {
  mix(wave, instruction, [&](u32 *values) {
    u32 *row = wave.row(instruction.operands[0].index);
    uint64_t exec = wave.exec();
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      u32 half = halfFromFloat(std::bit_cast<float>(values[lane]));
      if (exec >> lane & 1)
        row[lane] = toHigh ? (row[lane] & 0xffff) | half << 16 : (row[lane] & 0xffff0000) | half;
    }
  });
}

/// Products of the parts of two registers, added to a third or to the destination. F gets whether
/// the parts of each source are signed (neg_lo, of v_dot4_i32_iu8).
template <auto F, Form form>
void dot(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp || instruction.modifiers.opSel || instruction.modifiers.negHi)
    return wave.fail("modifiers of this instruction are not modelled");
  Space<u32> spaces[3], result;
  const u32 *sources[3];
  for (unsigned slot = 0; slot < 3; ++slot) {
    const Operand &operand =
        instruction.operands[slot == 2 && form == Form::Accumulate ? 0 : 1 + slot];
    sources[slot] = fetch<u32>(wave, instruction, operand, slot, spaces[slot].values);
  }
  uint8_t isSigned = instruction.modifiers.negLo;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.values[lane] = F(sources[0][lane], sources[1][lane], sources[2][lane], isSigned);
  storeWords(wave, instruction.operands[0].index, result.values, writtenLanes(wave, instruction));
}

template <bool isSignedA, bool isSignedB>
u32 dot4(u32 a, u32 b, u32 c) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    i32 left = isSignedA ? i32(int8_t(a >> shift)) : i32(uint8_t(a >> shift));
    i32 right = isSignedB ? i32(int8_t(b >> shift)) : i32(uint8_t(b >> shift));
    c += u32(left * right);
  }
  return c;
}

u32 dot4Mixed(u32 a, u32 b, u32 c, uint8_t isSigned) {
  switch (isSigned & 3) {
  case 0:
    return dot4<false, false>(a, b, c);
  case 1:
    return dot4<true, false>(a, b, c);
  case 2:
    return dot4<false, true>(a, b, c);
  default:
    return dot4<true, true>(a, b, c);
  }
}

/// Both sources and the sum are of 16 bits.
template <class T>
u32 dot2Half(u32 a, u32 b, u32 c) {
  auto part = [](u32 word, unsigned shift) { return double(decode<T>(word >> shift & 0xffff)); };
  return encodeNumber<T>(part(a, 0) * part(b, 0) + part(a, 16) * part(b, 16) + part(c, 0));
}

template <bool isSigned>
u32 dot2Integer(u32 a, u32 b, u32 c) {
  auto part = [](u32 word, unsigned shift) {
    return isSigned ? u32(i32(i16(word >> shift))) : u32(u16(word >> shift));
  };
  return part(a, 0) * part(b, 0) + part(a, 16) * part(b, 16) + c;
}

u32 dot8(u32 a, u32 b, u32 c, uint8_t isSigned) {
  for (unsigned shift = 0; shift < 32; shift += 4) {
    auto part = [&](u32 word, unsigned source) {
      u32 bits = word >> shift & 15;
      return (isSigned >> source & 1) && bits >= 8 ? bits - 16 : bits;
    };
    c += part(a, 0) * part(b, 1);
  }
  return c;
}

u32 dot4Small(u32 a, u32 b, u32 c, SmallFormat formatA, SmallFormat formatB) {
  double sum = std::bit_cast<float>(c);
  for (unsigned shift = 0; shift < 32; shift += 8)
    sum += double(smallToFloat(formatA, uint8_t(a >> shift))) *
           smallToFloat(formatB, uint8_t(b >> shift));
  return std::bit_cast<u32>(float(sum));
}

u32 dot2(u32 a, u32 b, u32 c, float (*widen)(u16)) {
  // The order and the roundings of the hardware's sum are not documented: one rounding here.
  double sum = double(widen(u16(a))) * widen(u16(b)) +
               double(widen(u16(a >> 16))) * widen(u16(b >> 16)) + std::bit_cast<float>(c);
  return std::bit_cast<u32>(float(sum));
}

void addDots(Semantics &table) {
  constexpr auto f16 = [](u32 a, u32 b, u32 c, uint8_t) { return dot2(a, b, c, halfToFloat); };
  constexpr auto bf16 = [](u32 a, u32 b, u32 c, uint8_t) { return dot2(a, b, c, bfloatToFloat); };
  constexpr auto i8 = [](u32 a, u32 b, u32 c, uint8_t) { return dot4<true, true>(a, b, c); };
  constexpr auto u8 = [](u32 a, u32 b, u32 c, uint8_t) { return dot4<false, false>(a, b, c); };
  constexpr auto iu8 = [](u32 a, u32 b, u32 c, uint8_t s) { return dot4Mixed(a, b, c, s); };
  table.add("V_DOT2_F32_F16", dot<f16, Form::Plain>);
  table.add("V_DOT2C_F32_F16", dot<f16, Form::Accumulate>);
  table.add("V_DOT2ACC_F32_F16", dot<f16, Form::Accumulate>);
  table.add("V_DOT2_F32_BF16", dot<bf16, Form::Plain>);
  table.add("V_DOT2C_F32_BF16", dot<bf16, Form::Accumulate>);
  table.add("V_DOT4_I32_I8", dot<i8, Form::Plain>);
  table.add("V_DOT4C_I32_I8", dot<i8, Form::Accumulate>);
  table.add("V_DOT4_U32_U8", dot<u8, Form::Plain>);
  table.add("V_DOT4_I32_IU8", dot<iu8, Form::Plain>);
  table.add("V_DOT2_F16_F16",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot2Half<F16>(a, b, c); }, Form::Plain>);
  table.add("V_DOT2_BF16_BF16",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot2Half<BF16>(a, b, c); }, Form::Plain>);
  table.add(
      "V_DOT2_I32_I16",
      dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot2Integer<true>(a, b, c); }, Form::Plain>);
  table.add(
      "V_DOT2_U32_U16",
      dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot2Integer<false>(a, b, c); }, Form::Plain>);
  table.add("V_DOT2C_I32_I16",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot2Integer<true>(a, b, c); },
                Form::Accumulate>);
  table.add("V_DOT8_I32_IU4",
            dot<[](u32 a, u32 b, u32 c, uint8_t s) { return dot8(a, b, c, s); }, Form::Plain>);
  table.add("V_DOT8_U32_U4",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot8(a, b, c, 0); }, Form::Plain>);
  table.add("V_DOT8_I32_I4",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot8(a, b, c, 3); }, Form::Plain>);
  table.add("V_DOT8C_I32_I4",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot8(a, b, c, 3); }, Form::Accumulate>);
  table.add("V_DOT4_F32_FP8_FP8",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot4Small(a, b, c, kE4M3, kE4M3); },
                Form::Plain>);
  table.add("V_DOT4_F32_FP8_BF8",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot4Small(a, b, c, kE4M3, kE5M2); },
                Form::Plain>);
  table.add("V_DOT4_F32_BF8_FP8",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot4Small(a, b, c, kE5M2, kE4M3); },
                Form::Plain>);
  table.add("V_DOT4_F32_BF8_BF8",
            dot<[](u32 a, u32 b, u32 c, uint8_t) { return dot4Small(a, b, c, kE5M2, kE5M2); },
                Form::Plain>);
}

} // namespace

void addVectorPacked(Semantics &table) {
  addHalves(table);
  addDots(table);
  table.add("V_PK_ADD_F32", packedWords<[](const float *v) { return v[0] + v[1]; }, 2>);
  table.add("V_PK_MUL_F32", packedWords<[](const float *v) { return v[0] * v[1]; }, 2>);
  table.add("V_PK_FMA_F32",
            packedWords<[](const float *v) { return std::fma(v[0], v[1], v[2]); }, 3>);
  table.add("V_PK_MOV_B32", movePair);
  table.add("V_FMA_MIX_F32", [](Wave &wave, const Instruction &instruction) {
    mix(wave, instruction,
        [&](u32 *values) { storeWords(wave, instruction.operands[0].index, values, wave.exec()); });
  });
  table.add("V_FMA_MIXLO_F16", mixToHalf<false>);
  table.add("V_FMA_MIXHI_F16", mixToHalf<true>);
}

} // namespace sectile::amdisa
