//===-- Lanes.h - functions of one lane become instructions of a wave -------------------------===//
// The semantics of most vector instructions is a function of one lane:
//
//   table.add("V_ADD_F32", vector<[](float a, float b) { return a + b; }>);
//
// Types say how an operand is read and written: a double is two registers, F16 and BF16 one half of
// a register (which one, op_sel says), Flag one bit per lane of a scalar mask. Modifiers of
// sources, DPP, SDWA, clamp and omod are applied here, around every function.
#pragma once

#include "Numbers.h"
#include "Wave.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sectile::amdisa {

struct F16 {
  float value;
  operator float() const { return value; }
};
struct BF16 {
  float value;
  operator float() const { return value; }
};
struct Flag {
  bool value;
  operator bool() const { return value; }
};
/// A result and a bit for a second, scalar destination: carries.
template <class T>
struct WithFlag {
  T value;
  bool flag;
};

template <class T>
inline constexpr bool isHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16> ||
                               std::is_same_v<T, uint16_t> || std::is_same_v<T, int16_t>;
template <class T>
inline constexpr bool isReal =
    std::is_floating_point_v<T> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool isWide = sizeof(T) == 8 && !isHalf<T>;
template <class T>
using Raw = std::conditional_t<isWide<T>, uint64_t, uint32_t>;
template <class T>
inline constexpr unsigned bitsOf = isHalf<T>   ? 16
                                   : isWide<T> ? 64
                                               : 32;

template <class T>
T decode(Raw<T> raw) {
  if constexpr (std::is_same_v<T, F16>)
    return {halfToFloat(uint16_t(raw))};
  else if constexpr (std::is_same_v<T, BF16>)
    return {bfloatToFloat(uint16_t(raw))};
  else if constexpr (std::is_same_v<T, Flag>)
    return {raw != 0};
  else if constexpr (isHalf<T>)
    return T(raw);
  else
    return std::bit_cast<T>(raw);
}

template <class T>
Raw<T> encode(T value) {
  if constexpr (std::is_same_v<T, F16>)
    return halfFromFloat(value.value);
  else if constexpr (std::is_same_v<T, BF16>)
    return bfloatFromFloat(value.value);
  else if constexpr (std::is_same_v<T, Flag>)
    return value.value;
  else if constexpr (isHalf<T>)
    return uint16_t(value);
  else
    return std::bit_cast<Raw<T>>(value);
}

/// The bits of an inline constant or a literal, as an operand of that many bits sees them.
uint64_t constantBits(const Operand &operand, unsigned bits, bool isReal, bool isBfloat = false);
/// The same for a scalar operand, or its registers.
uint64_t readScalar(const Wave &wave, const Operand &operand, unsigned bits, bool isReal = false);
void writeScalar(Wave &wave, const Operand &operand, unsigned words, uint64_t value);

/// The lanes that a vector instruction writes: EXEC, less those that DPP switches off.
uint64_t writtenLanes(Wave &wave, const Instruction &instruction);
/// The source lane of each lane for DPP; -1 where there is none.
void laneSources(const Wave &wave, const Modifiers &modifiers, int8_t *sources);
void applyDpp(const Wave &wave, const Instruction &instruction, uint32_t *values);
void applySelect(Select select, bool isSigned, uint32_t *values, unsigned lanes);
void flushDenormals(uint32_t *values, unsigned lanes);

template <class T>
void negate(Raw<T> *values, unsigned lanes, const Operand &operand) {
  constexpr Raw<T> sign = Raw<T>(1) << (bitsOf<T> - 1);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Raw<T> value = values[lane];
    if (operand.takesAbsolute)
      value &= ~sign;
    if (operand.negates)
      value ^= sign;
    values[lane] = value;
  }
}

template <class T>
bool flushes(const Wave &wave) {
  if constexpr (std::is_same_v<T, float>)
    return wave.mode.flushes32;
  return false;
}

/// The lanes of operand `number`, in `space` or where the register file holds them. `slot` is the
/// operand's place among the sources, from 0.
template <class T>
const Raw<T> *fetch(Wave &wave, const Instruction &instruction, const Operand &operand,
                    unsigned slot, Raw<T> *space) {
  const unsigned lanes = wave.lanes;
  if constexpr (std::is_same_v<T, Flag>) {
    uint64_t mask = operand.isScalar() ? wave.mask(operand.index) : 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
      space[lane] = mask >> lane & 1;
    return space;
  } else {
    const Modifiers &modifiers = instruction.modifiers;
    bool takesHigh = operand.half == Half::High ||
                     (isHalf<T> && modifiers.hasOpSel && (modifiers.opSel >> slot & 1));
    if (operand.isVector()) {
      const uint32_t *row = wave.row(operand.index);
      if constexpr (!isWide<T> && !isHalf<T>)
        if (instruction.isPlain && operand.isPlainVector() && !flushes<T>(wave))
          return row;
      if constexpr (isWide<T>) {
        for (unsigned lane = 0; lane < lanes; ++lane)
          space[lane] = row[lane] | uint64_t(row[lane + 64]) << 32;
      } else if (isHalf<T> && !instruction.modifiers.isSdwa) {
        unsigned shift = takesHigh ? 16 : 0;
        for (unsigned lane = 0; lane < lanes; ++lane)
          space[lane] = row[lane] >> shift & 0xffff;
      } else {
        for (unsigned lane = 0; lane < lanes; ++lane)
          space[lane] = row[lane];
      }
      if constexpr (!isWide<T>)
        if (!instruction.isPlain) {
          if (slot == 0 && modifiers.move != LaneMove::None)
            applyDpp(wave, instruction, space);
          if (modifiers.isSdwa && slot < 2)
            applySelect(modifiers.sources[slot], operand.extendsSign, space, lanes);
        }
    } else {
      uint64_t bits = readScalar(wave, operand, bitsOf<T>, isReal<T>);
      if (std::is_same_v<T, BF16> && operand.kind == Operand::Kind::Float)
        bits = constantBits(operand, 16, true, true);
      if (std::is_same_v<T, int64_t> && operand.isLiteral)
        bits = uint64_t(int64_t(int32_t(bits)));
      if (isHalf<T>)
        bits = bits >> (takesHigh && operand.isScalar() ? 16 : 0) & 0xffff;
      if (modifiers.isSdwa && slot < 2 && !isWide<T>) {
        uint32_t selected[1] = {uint32_t(bits)};
        applySelect(modifiers.sources[slot], operand.extendsSign, selected, 1);
        bits = selected[0];
      }
      for (unsigned lane = 0; lane < lanes; ++lane)
        space[lane] = Raw<T>(bits);
    }
    if (operand.negates || operand.takesAbsolute)
      negate<T>(space, lanes, operand);
    if constexpr (std::is_same_v<T, float>)
      if (wave.mode.flushes32)
        flushDenormals(space, lanes);
    return space;
  }
}

template <class T>
Raw<T> encodeNumber(double value) {
  if constexpr (std::is_same_v<T, F16>)
    return halfFromDouble(value);
  else if constexpr (std::is_same_v<T, BF16>)
    return bfloatFromFloat(float(value));
  else
    return encode<T>(T(value));
}

/// clamp and omod of a result that is a number.
template <class T>
void modifyResult(const Modifiers &modifiers, Raw<T> *values, unsigned lanes) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    auto value = double(decode<T>(values[lane]));
    if (modifiers.omod)
      value *= modifiers.omod == 1 ? 2 : modifiers.omod == 2 ? 4 : 0.5;
    if (modifiers.clamp)
      value = value > 0 ? std::min(value, 1.0) : 0.0; // NaN becomes 0
    values[lane] = encodeNumber<T>(value);
  }
}

void storeWords(Wave &wave, unsigned index, const uint32_t *values, uint64_t written);
void storeHalves(Wave &wave, const Instruction &instruction, const Operand &operand,
                 unsigned sources, const uint32_t *values, uint64_t written);
void storeSelected(Wave &wave, const Instruction &instruction, const uint32_t *values,
                   uint64_t written);

/// Writes the lanes of a result to `operand`; `sources` is the number of the instruction's sources.
template <class T>
void store(Wave &wave, const Instruction &instruction, const Operand &operand, unsigned sources,
           Raw<T> *values, bool isClamped = false) {
  if constexpr (isReal<T>) {
    if (instruction.modifiers.omod || instruction.modifiers.clamp)
      modifyResult<T>(instruction.modifiers, values, wave.lanes);
    if constexpr (std::is_same_v<T, float>)
      if (wave.mode.flushes32)
        flushDenormals(values, wave.lanes);
  } else if (instruction.modifiers.clamp && !isClamped) {
    wave.fail("clamp of this instruction is not modelled");
  }
  if (operand.kind == Operand::Kind::Null)
    return;
  uint64_t written = writtenLanes(wave, instruction);
  if constexpr (isWide<T>) {
    uint32_t halves[2][64];
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      halves[0][lane] = uint32_t(values[lane]);
      halves[1][lane] = uint32_t(values[lane] >> 32);
    }
    storeWords(wave, operand.index, halves[0], written);
    storeWords(wave, operand.index + 1, halves[1], written);
  } else if (instruction.modifiers.isSdwa) {
    storeSelected(wave, instruction, values, written);
  } else if constexpr (isHalf<T>) {
    storeHalves(wave, instruction, operand, sources, values, written);
  } else {
    storeWords(wave, operand.index, values, written);
  }
}

/// A scalar destination that holds one bit per lane; lanes that are off give 0.
void storeMask(Wave &wave, const Operand &operand, uint64_t mask);

template <class T>
struct ResultOf {
  using Value = T;
  static constexpr bool hasFlag = false;
};
template <class T>
struct ResultOf<WithFlag<T>> {
  using Value = T;
  static constexpr bool hasFlag = true;
};

template <class T>
struct Space {
  Space() {} // leaves the values alone
  alignas(64) Raw<T> values[64];
};

/// Accumulate: the destination's old value is the function's last argument. Clamped: the function
/// itself does what clamp asks of integers, which is to saturate.
enum class Form { Plain, Accumulate, Clamped };

template <auto F, Form form, class R, class... A, size_t... N>
void applyToLanes(Wave &wave, const Instruction &instruction, R (*)(A...),
                  std::index_sequence<N...>) {
  using Result = ResultOf<R>;
  using Value = typename Result::Value;
  constexpr unsigned first = Result::hasFlag ? 2 : 1, count = sizeof...(A);
  auto operandOf = [&](unsigned slot) -> const Operand & {
    return form == Form::Accumulate && slot + 1 == count ? instruction.operands[0]
                                                         : instruction.operands[first + slot];
  };
  std::tuple<Space<A>...> spaces;
  auto sources =
      std::make_tuple(fetch<A>(wave, instruction, operandOf(N), N, std::get<N>(spaces).values)...);
  Space<Value> result;
  uint64_t flags = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if constexpr (Result::hasFlag) {
      R both = F(decode<A>(std::get<N>(sources)[lane])...);
      result.values[lane] = encode<Value>(both.value);
      flags |= uint64_t(both.flag) << lane;
    } else {
      result.values[lane] = encode<Value>(F(decode<A>(std::get<N>(sources)[lane])...));
    }
  }
  store<Value>(wave, instruction, instruction.operands[0], count, result.values,
               form == Form::Clamped);
  if constexpr (Result::hasFlag)
    storeMask(wave, instruction.operands[1], flags & wave.exec());
}

template <class R, class... A>
constexpr size_t arityOf(R (*)(A...)) {
  return sizeof...(A);
}

/// An instruction whose sources are the function's arguments and whose destination is its result.
template <auto F>
void vector(Wave &wave, const Instruction &instruction) {
  applyToLanes<F, Form::Plain>(wave, instruction, +F, std::make_index_sequence<arityOf(+F)>());
}

template <auto F>
void accumulate(Wave &wave, const Instruction &instruction) {
  applyToLanes<F, Form::Accumulate>(wave, instruction, +F, std::make_index_sequence<arityOf(+F)>());
}

/// An instruction on integers that saturates where clamp is set.
template <auto kPlain, auto kClamped>
void clamping(Wave &wave, const Instruction &instruction) {
  if (instruction.modifiers.clamp)
    applyToLanes<kClamped, Form::Clamped>(wave, instruction, +kClamped,
                                          std::make_index_sequence<arityOf(+kClamped)>());
  else
    vector<kPlain>(wave, instruction);
}

template <auto F, class... A, size_t... N>
uint64_t compareLanes(Wave &wave, const Instruction &instruction, unsigned first, bool (*)(A...),
                      std::index_sequence<N...>) {
  std::tuple<Space<A>...> spaces;
  auto sources = std::make_tuple(fetch<A>(wave, instruction, instruction.operands[first + N], N,
                                          std::get<N>(spaces).values)...);
  uint8_t bits[64];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    bits[lane] = F(decode<A>(std::get<N>(sources)[lane])...);
  uint64_t result = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result |= uint64_t(bits[lane]) << lane;
  return result & writtenLanes(wave, instruction);
}

template <auto F>
void compare(Wave &wave, const Instruction &instruction) {
  storeMask(wave, instruction.operands[0],
            compareLanes<F>(wave, instruction, 1, +F, std::make_index_sequence<arityOf(+F)>()));
}

/// v_cmpx: writes EXEC, on gfx9 the named mask, too.
template <auto F>
void compareToExec(Wave &wave, const Instruction &instruction) {
  constexpr unsigned count = unsigned(arityOf(+F));
  unsigned first = unsigned(instruction.operands.size()) - count;
  uint64_t result =
      compareLanes<F>(wave, instruction, first, +F, std::make_index_sequence<count>());
  if (first == 1)
    storeMask(wave, instruction.operands[0], result);
  wave.setMask(kExec, result);
}

} // namespace sectile::amdisa
