// SALU: arithmetic, logic, shifts, comparisons.
#include "Lanes.h"
#include "RealFunctions.h"
#include "Semantics.h"

#include <algorithm>
#include <limits>

namespace sectile::amdisa {
namespace {

template <class T>
T scalarSource(const Wave &wave, const Operand &operand) {
  uint64_t bits = readScalar(wave, operand, bitsOf<T>, isReal<T>);
  if (std::is_same_v<T, int64_t> && operand.isLiteral)
    bits = uint64_t(int64_t(int32_t(bits)));
  return decode<T>(Raw<T>(bits));
}

/// Writes the result; a flag goes to SCC.
template <class R>
void storeScalar(Wave &wave, const Operand &operand, R result) {
  using Value = typename ResultOf<R>::Value;
  if constexpr (ResultOf<R>::hasFlag) {
    writeScalar(wave, operand, isWide<Value> ? 2 : 1, encode<Value>(result.value));
    wave.scalar[kScc] = result.flag;
  } else {
    writeScalar(wave, operand, isWide<Value> ? 2 : 1, encode<Value>(result));
  }
}

template <auto F, class R, class... A, size_t... N>
void applyScalar(Wave &wave, const Instruction &instruction, unsigned first, R (*)(A...),
                 std::index_sequence<N...>) {
  storeScalar(wave, instruction.operands[0],
              F(scalarSource<A>(wave, instruction.operands[first + N])...));
}

template <auto F>
void scalar(Wave &wave, const Instruction &instruction) {
  applyScalar<F>(wave, instruction, 1, +F, std::make_index_sequence<arityOf(+F)>());
}

/// The destination is the first source, too.
template <auto F>
void scalarInPlace(Wave &wave, const Instruction &instruction) {
  applyScalar<F>(wave, instruction, 0, +F, std::make_index_sequence<arityOf(+F)>());
}

template <auto F, class... A, size_t... N>
bool scalarTest(Wave &wave, const Instruction &instruction, bool (*)(A...),
                std::index_sequence<N...>) {
  return F(scalarSource<A>(wave, instruction.operands[N])...);
}

template <auto F>
void scalarCompare(Wave &wave, const Instruction &instruction) {
  wave.scalar[kScc] = scalarTest<F>(wave, instruction, +F, std::make_index_sequence<arityOf(+F)>());
}

template <class T>
WithFlag<T> andNotZero(T value) {
  return {value, value != 0};
}

template <class T>
T reversed(T value) {
  T result = 0;
  for (unsigned bit = 0; bit < bitsOf<T>; ++bit)
    result |= (value >> bit & 1) << (bitsOf<T> - 1 - bit);
  return result;
}

template <class T>
T field(T value, uint32_t control) {
  unsigned offset = control & (bitsOf<T> - 1), width = control >> 16 & 127;
  using Unsigned = std::make_unsigned_t<T>;
  if (width == 0)
    return 0;
  auto shifted = T(value >> offset);
  if (width >= bitsOf<T>)
    return shifted;
  unsigned rest = bitsOf<T> - width;
  return T(T(Unsigned(shifted) << rest) >> rest);
}

template <class T>
int32_t leadingZeros(T value) {
  return value ? std::countl_zero(value) : -1;
}

/// The number of leading bits that are equal to the sign; -1 where all are.
int32_t leadingSigns(uint32_t value) {
  uint32_t different = int32_t(value) < 0 ? ~value : value;
  return different ? std::countl_zero(different) : -1;
}

template <class T>
void addLogic(Semantics &table, const std::string &suffix) {
  table.add("S_AND_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(a & b); }>);
  table.add("S_OR_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(a | b); }>);
  table.add("S_XOR_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(a ^ b); }>);
  table.add("S_ANDN2_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(a & ~b); }>);
  table.add("S_ORN2_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(a | ~b); }>);
  table.add("S_NAND_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(~(a & b)); }>);
  table.add("S_NOR_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(~(a | b)); }>);
  table.add("S_XNOR_" + suffix, scalar<[](T a, T b) { return andNotZero<T>(~(a ^ b)); }>);
  table.add("S_NOT_" + suffix, scalar<[](T a) { return andNotZero<T>(~a); }>);
  table.add("S_MOV_" + suffix, scalar<[](T a) { return a; }>);
  table.add("S_BREV_" + suffix, scalar<[](T a) { return reversed(a); }>);
  constexpr unsigned bits = bitsOf<T>;
  table.add("S_LSHL_" + suffix,
            scalar<[](T a, uint32_t b) { return andNotZero<T>(a << (b & (bits - 1))); }>);
  table.add("S_LSHR_" + suffix,
            scalar<[](T a, uint32_t b) { return andNotZero<T>(a >> (b & (bits - 1))); }>);
  table.add("S_BCNT1_I32_" + suffix,
            scalar<[](T a) { return andNotZero<uint32_t>(std::popcount(a)); }>);
  table.add("S_BCNT0_I32_" + suffix,
            scalar<[](T a) { return andNotZero<uint32_t>(bits - std::popcount(a)); }>);
  table.add("S_FF1_I32_" + suffix, scalar<[](T a) { return a ? std::countr_zero(a) : -1; }>);
  table.add("S_FF0_I32_" + suffix, scalar<[](T a) { return ~a ? std::countr_zero(T(~a)) : -1; }>);
  table.add("S_FLBIT_I32_" + suffix, scalar<[](T a) { return leadingZeros(a); }>);
  table.add("S_BFM_" + suffix, scalar<[](uint32_t a, uint32_t b) {
              return T(((T(1) << (a & (bits - 1))) - 1) << (b & (bits - 1)));
            }>);
  table.add("S_BITSET0_" + suffix, [](Wave &wave, const Instruction &instruction) {
    T old = scalarSource<T>(wave, instruction.operands[0]);
    uint32_t bit = scalarSource<uint32_t>(wave, instruction.operands[1]) & (bits - 1);
    storeScalar<T>(wave, instruction.operands[0], old & ~(T(1) << bit));
  });
  table.add("S_BITSET1_" + suffix, [](Wave &wave, const Instruction &instruction) {
    T old = scalarSource<T>(wave, instruction.operands[0]);
    uint32_t bit = scalarSource<uint32_t>(wave, instruction.operands[1]) & (bits - 1);
    storeScalar<T>(wave, instruction.operands[0], old | T(1) << bit);
  });
  table.add("S_BITCMP0_" + suffix,
            scalarCompare<[](T a, uint32_t b) { return (a >> (b & (bits - 1)) & 1) == 0; }>);
  table.add("S_BITCMP1_" + suffix,
            scalarCompare<[](T a, uint32_t b) { return (a >> (b & (bits - 1)) & 1) == 1; }>);
  table.add("S_CSELECT_" + suffix, [](Wave &wave, const Instruction &instruction) {
    const Operand &taken = instruction.operands[wave.scalar[kScc] ? 1 : 2];
    storeScalar<T>(wave, instruction.operands[0], scalarSource<T>(wave, taken));
  });
  table.add("S_CMOV_" + suffix, [](Wave &wave, const Instruction &instruction) {
    if (wave.scalar[kScc])
      storeScalar<T>(wave, instruction.operands[0], scalarSource<T>(wave, instruction.operands[1]));
  });
}

/// sdst = EXEC; EXEC = F(source, EXEC); SCC = EXEC != 0.
template <class T, auto F>
void saveExec(Wave &wave, const Instruction &instruction) {
  T source = scalarSource<T>(wave, instruction.operands[1]);
  T old = isWide<T> ? T(wave.pair(kExec)) : T(wave.scalar[kExec]);
  T updated = F(source, old);
  storeScalar<T>(wave, instruction.operands[0], old);
  wave.scalar[kExec] = uint32_t(updated);
  if (isWide<T>)
    wave.scalar[kExec + 1] = uint32_t(uint64_t(updated) >> 32);
  wave.scalar[kScc] = updated != 0;
}

template <class T>
void addSaveExec(Semantics &table, const std::string &suffix) {
  std::string name = "_SAVEEXEC_" + suffix;
  table.add("S_AND" + name, saveExec<T, [](T source, T exec) { return T(source & exec); }>);
  table.add("S_OR" + name, saveExec<T, [](T source, T exec) { return T(source | exec); }>);
  table.add("S_XOR" + name, saveExec<T, [](T source, T exec) { return T(source ^ exec); }>);
  table.add("S_ANDN2" + name, saveExec<T, [](T source, T exec) { return T(source & ~exec); }>);
  table.add("S_ORN2" + name, saveExec<T, [](T source, T exec) { return T(source | ~exec); }>);
  table.add("S_ANDN1" + name, saveExec<T, [](T source, T exec) { return T(~source & exec); }>);
  table.add("S_ORN1" + name, saveExec<T, [](T source, T exec) { return T(~source | exec); }>);
  table.add("S_NAND" + name, saveExec<T, [](T source, T exec) { return T(~(source & exec)); }>);
  table.add("S_NOR" + name, saveExec<T, [](T source, T exec) { return T(~(source | exec)); }>);
  table.add("S_XNOR" + name, saveExec<T, [](T source, T exec) { return T(~(source ^ exec)); }>);
  table.add("S_ANDN2_WREXEC_" + suffix, [](Wave &wave, const Instruction &instruction) {
    saveExec<T, [](T source, T exec) { return T(source & ~exec); }>(wave, instruction);
    storeScalar<T>(wave, instruction.operands[0],
                   isWide<T> ? T(wave.pair(kExec)) : T(wave.scalar[kExec]));
  });
}

template <class T>
WithFlag<int32_t> signedSum(T a, T b, bool subtracts) {
  int64_t exact = subtracts ? int64_t(a) - b : int64_t(a) + b;
  return {int32_t(exact), exact != int32_t(exact)};
}

void addSums(Semantics &table) {
  table.add("S_ADD_U32", scalar<[](uint32_t a, uint32_t b) {
              return WithFlag<uint32_t>{a + b, uint64_t(a) + b > 0xffffffff};
            }>);
  table.add("S_SUB_U32",
            scalar<[](uint32_t a, uint32_t b) { return WithFlag<uint32_t>{a - b, a < b}; }>);
  table.add("S_ADD_I32", scalar<[](int32_t a, int32_t b) { return signedSum(a, b, false); }>);
  table.add("S_SUB_I32", scalar<[](int32_t a, int32_t b) { return signedSum(a, b, true); }>);
  table.add("S_ADDC_U32", [](Wave &wave, const Instruction &instruction) {
    uint64_t sum = uint64_t(scalarSource<uint32_t>(wave, instruction.operands[1])) +
                   scalarSource<uint32_t>(wave, instruction.operands[2]) + wave.scalar[kScc];
    storeScalar(wave, instruction.operands[0], WithFlag<uint32_t>{uint32_t(sum), sum >> 32 != 0});
  });
  table.add("S_SUBB_U32", [](Wave &wave, const Instruction &instruction) {
    uint64_t difference = uint64_t(scalarSource<uint32_t>(wave, instruction.operands[1])) -
                          scalarSource<uint32_t>(wave, instruction.operands[2]) - wave.scalar[kScc];
    storeScalar(wave, instruction.operands[0],
                WithFlag<uint32_t>{uint32_t(difference), difference >> 32 != 0});
  });
  table.add(
      "S_ADDK_I32",
      scalarInPlace<[](int32_t a, int32_t b) { return signedSum<int32_t>(a, int16_t(b), false); }>);
  table.add("S_MULK_I32",
            scalarInPlace<[](uint32_t a, int32_t b) { return a * uint32_t(int32_t(int16_t(b))); }>);
  table.add("S_MOVK_I32", scalar<[](int32_t a) { return int32_t(int16_t(a)); }>);
  table.add("S_CMOVK_I32", [](Wave &wave, const Instruction &instruction) {
    if (wave.scalar[kScc])
      storeScalar<int32_t>(wave, instruction.operands[0],
                           int16_t(scalarSource<int32_t>(wave, instruction.operands[1])));
  });
  table.add("S_ADD_U64", scalar<[](uint64_t a, uint64_t b) { return a + b; }>);
  table.add("S_SUB_U64", scalar<[](uint64_t a, uint64_t b) { return a - b; }>);
  table.add("S_MUL_U64", scalar<[](uint64_t a, uint64_t b) { return a * b; }>);
  table.add("S_MUL_I32", scalar<[](uint32_t a, uint32_t b) { return a * b; }>);
  table.add("S_MUL_HI_U32",
            scalar<[](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }>);
  table.add("S_MUL_HI_I32",
            scalar<[](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }>);
  table.add("S_MIN_I32",
            scalar<[](int32_t a, int32_t b) { return WithFlag<int32_t>{std::min(a, b), a < b}; }>);
  table.add("S_MAX_I32",
            scalar<[](int32_t a, int32_t b) { return WithFlag<int32_t>{std::max(a, b), a >= b}; }>);
  table.add(
      "S_MIN_U32",
      scalar<[](uint32_t a, uint32_t b) { return WithFlag<uint32_t>{std::min(a, b), a < b}; }>);
  table.add(
      "S_MAX_U32",
      scalar<[](uint32_t a, uint32_t b) { return WithFlag<uint32_t>{std::max(a, b), a >= b}; }>);
  table.add("S_ABS_I32", scalar<[](int32_t a) {
              return andNotZero<uint32_t>(a < 0 ? 0u - uint32_t(a) : uint32_t(a));
            }>);
  table.add("S_ABSDIFF_I32", scalar<[](int32_t a, int32_t b) {
              auto difference = uint32_t(a) - uint32_t(b);
              return andNotZero<uint32_t>(int32_t(difference) < 0 ? 0 - difference : difference);
            }>);
  table.add("S_SEXT_I32_I8", scalar<[](uint32_t a) { return int32_t(int8_t(a)); }>);
  table.add("S_SEXT_I32_I16", scalar<[](uint32_t a) { return int32_t(int16_t(a)); }>);
}

template <unsigned kShift>
WithFlag<uint32_t> shiftedSum(uint32_t a, uint32_t b) {
  uint64_t sum = (uint64_t(a) << kShift) + b;
  return {uint32_t(sum), sum >> 32 != 0};
}

void addShifts(Semantics &table) {
  table.add("S_ASHR_I32",
            scalar<[](int32_t a, uint32_t b) { return andNotZero<int32_t>(a >> (b & 31)); }>);
  table.add("S_ASHR_I64",
            scalar<[](int64_t a, uint32_t b) { return andNotZero<int64_t>(a >> (b & 63)); }>);
  table.add("S_BFE_U32", scalar<[](uint32_t a, uint32_t b) { return andNotZero(field(a, b)); }>);
  table.add("S_BFE_I32", scalar<[](int32_t a, uint32_t b) { return andNotZero(field(a, b)); }>);
  table.add("S_BFE_U64", scalar<[](uint64_t a, uint32_t b) { return andNotZero(field(a, b)); }>);
  table.add("S_BFE_I64", scalar<[](int64_t a, uint32_t b) { return andNotZero(field(a, b)); }>);
  table.add("S_LSHL1_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftedSum<1>(a, b); }>);
  table.add("S_LSHL2_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftedSum<2>(a, b); }>);
  table.add("S_LSHL3_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftedSum<3>(a, b); }>);
  table.add("S_LSHL4_ADD_U32", scalar<[](uint32_t a, uint32_t b) { return shiftedSum<4>(a, b); }>);
  table.add("S_FLBIT_I32", scalar<[](uint32_t a) { return leadingSigns(a); }>);
  table.add("S_FLBIT_I32_I64", scalar<[](int64_t a) {
              uint64_t different = uint64_t(a < 0 ? ~a : a);
              return different ? std::countl_zero(different) : -1;
            }>);
  table.add("S_PACK_LL_B32_B16",
            scalar<[](uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }>);
  table.add("S_PACK_LH_B32_B16",
            scalar<[](uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000); }>);
  table.add("S_PACK_HH_B32_B16",
            scalar<[](uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000); }>);
  table.add("S_PACK_HL_B32_B16", scalar<[](uint32_t a, uint32_t b) { return a >> 16 | b << 16; }>);
  table.add("S_BITREPLICATE_B64_B32", scalar<[](uint32_t a) {
              uint64_t result = 0;
              for (unsigned bit = 0; bit < 32; ++bit)
                result |= uint64_t(a >> bit & 1) * 3 << (2 * bit);
              return result;
            }>);
}

template <class T>
void addComparisons(Semantics &table, const std::string &type) {
  table.add("S_CMP_EQ_" + type, scalarCompare<[](T a, T b) { return a == b; }>);
  table.add("S_CMP_LG_" + type, scalarCompare<[](T a, T b) { return a != b; }>);
  table.add("S_CMP_LT_" + type, scalarCompare<[](T a, T b) { return a < b; }>);
  table.add("S_CMP_LE_" + type, scalarCompare<[](T a, T b) { return a <= b; }>);
  table.add("S_CMP_GT_" + type, scalarCompare<[](T a, T b) { return a > b; }>);
  table.add("S_CMP_GE_" + type, scalarCompare<[](T a, T b) { return a >= b; }>);
}

/// The constant of a comparison has 16 bits, extended as the type says.
template <class T>
void addConstantComparisons(Semantics &table, const std::string &type) {
  using Short = std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>;
  table.add("S_CMPK_EQ_" + type, scalarCompare<[](T a, T b) { return a == T(Short(b)); }>);
  table.add("S_CMPK_LG_" + type, scalarCompare<[](T a, T b) { return a != T(Short(b)); }>);
  table.add("S_CMPK_LT_" + type, scalarCompare<[](T a, T b) { return a < T(Short(b)); }>);
  table.add("S_CMPK_LE_" + type, scalarCompare<[](T a, T b) { return a <= T(Short(b)); }>);
  table.add("S_CMPK_GT_" + type, scalarCompare<[](T a, T b) { return a > T(Short(b)); }>);
  table.add("S_CMPK_GE_" + type, scalarCompare<[](T a, T b) { return a >= T(Short(b)); }>);
}

/// exp2 and the like of one number: gfx12's v_s_exp_f32 has scalar operands.
template <auto F>
void scalarFunction(Wave &wave, const Instruction &instruction) {
  float argument = scalarSource<float>(wave, instruction.operands[1]);
  const Operand &operand = instruction.operands[1];
  if (operand.takesAbsolute)
    argument = std::fabs(argument);
  if (operand.negates)
    argument = -argument;
  storeScalar<float>(wave, instruction.operands[0], float(F(double(argument))));
}

void addFunctions(Semantics &table) {
  table.add("V_S_EXP_F32", scalarFunction<[](double x) { return std::exp2(x); }>);
  table.add("V_S_LOG_F32", scalarFunction<[](double x) { return std::log2(x); }>);
  table.add("V_S_RCP_F32", scalarFunction<[](double x) { return 1 / x; }>);
  table.add("V_S_RSQ_F32", scalarFunction<[](double x) { return 1 / std::sqrt(x); }>);
  table.add("V_S_SQRT_F32", scalarFunction<[](double x) { return std::sqrt(x); }>);
}

/// The integer nearest to `value` that the type has; NaN becomes 0.
template <class T>
T saturated(double value) {
  return value != value ? 0
                        : T(std::clamp(value, double(std::numeric_limits<T>::min()),
                                       double(std::numeric_limits<T>::max())));
}

template <class T>
void addNumberComparisons(Semantics &table, const std::string &type) {
  addComparisons<T>(table, type);
  table.add("S_CMP_U_" + type, scalarCompare<[](T a, T b) { return a != a || b != b; }>);
  table.add("S_CMP_O_" + type, scalarCompare<[](T a, T b) { return a == a && b == b; }>);
  table.add("S_CMP_LG_" + type, scalarCompare<[](T a, T b) { return a < b || a > b; }>);
  table.add("S_CMP_NEQ_" + type, scalarCompare<[](T a, T b) { return !(a == b); }>);
  table.add("S_CMP_NLG_" + type, scalarCompare<[](T a, T b) { return !(a < b || a > b); }>);
  table.add("S_CMP_NLT_" + type, scalarCompare<[](T a, T b) { return !(a < b); }>);
  table.add("S_CMP_NLE_" + type, scalarCompare<[](T a, T b) { return !(a <= b); }>);
  table.add("S_CMP_NGT_" + type, scalarCompare<[](T a, T b) { return !(a > b); }>);
  table.add("S_CMP_NGE_" + type, scalarCompare<[](T a, T b) { return !(a >= b); }>);
}

uint32_t halfResult(float value) {
  return halfFromFloat(value);
}

/// gfx12 computes with scalar numbers, too.
void addNumbers(Semantics &table) {
  table.add("S_CVT_I32_F32", scalar<[](float a) { return saturated<int32_t>(a); }>);
  table.add("S_CVT_U32_F32", scalar<[](float a) { return saturated<uint32_t>(a); }>);
  table.add("S_ADD_F32", scalar<[](float a, float b) { return a + b; }>);
  table.add("S_SUB_F32", scalar<[](float a, float b) { return a - b; }>);
  table.add("S_MUL_F32", scalar<[](float a, float b) { return a * b; }>);
  table.add("S_FMAC_F32", [](Wave &wave, const Instruction &instruction) {
    storeScalar<float>(wave, instruction.operands[0],
                       std::fma(scalarSource<float>(wave, instruction.operands[1]),
                                scalarSource<float>(wave, instruction.operands[2]),
                                scalarSource<float>(wave, instruction.operands[0])));
  });
  table.add("S_FMAAK_F32", scalar<[](float a, float b, float c) { return std::fma(a, b, c); }>);
  table.add("S_FMAMK_F32", scalar<[](float a, float b, float c) { return std::fma(a, b, c); }>);
  table.add("S_MIN_F32", scalar<[](float a, float b) { return minimumNumber(a, b); }>);
  table.add("S_MAX_F32", scalar<[](float a, float b) { return maximumNumber(a, b); }>);
  table.add("S_CEIL_F32", scalar<[](float a) { return std::ceil(a); }>);
  table.add("S_FLOOR_F32", scalar<[](float a) { return std::floor(a); }>);
  table.add("S_TRUNC_F32", scalar<[](float a) { return std::trunc(a); }>);
  table.add("S_RNDNE_F32", scalar<[](float a) { return std::nearbyint(a); }>);
  table.add("S_CVT_F32_I32", scalar<[](int32_t a) { return float(a); }>);
  table.add("S_CVT_F32_U32", scalar<[](uint32_t a) { return float(a); }>);
  table.add("S_CVT_F32_F16", scalar<[](F16 a) { return a.value; }>);
  table.add("S_CVT_HI_F32_F16", scalar<[](uint32_t a) { return halfToFloat(uint16_t(a >> 16)); }>);
  table.add("S_CVT_F16_F32", scalar<[](float a) { return uint32_t(halfFromFloat(a)); }>);
  table.add("S_CVT_PK_RTZ_F16_F32", scalar<[](float a, float b) {
              return uint32_t(halfTowardsZero(a)) | uint32_t(halfTowardsZero(b)) << 16;
            }>);
  addNumberComparisons<float>(table, "F32");
  addNumberComparisons<F16>(table, "F16");
  table.add("S_ADD_F16", scalar<[](F16 a, F16 b) { return halfResult(a + b); }>);
  table.add("S_SUB_F16", scalar<[](F16 a, F16 b) { return halfResult(a - b); }>);
  table.add("S_MUL_F16", scalar<[](F16 a, F16 b) { return halfResult(a * b); }>);
  table.add("S_FMAC_F16", [](Wave &wave, const Instruction &instruction) {
    auto number = [&](unsigned operand) {
      return double(scalarSource<F16>(wave, instruction.operands[operand]));
    };
    storeScalar<uint32_t>(wave, instruction.operands[0],
                          halfFromDouble(number(1) * number(2) + number(0)));
  });
  table.add("S_MIN_F16",
            scalar<[](F16 a, F16 b) { return halfResult(minimumNumber<float>(a, b)); }>);
  table.add("S_MAX_F16",
            scalar<[](F16 a, F16 b) { return halfResult(maximumNumber<float>(a, b)); }>);
  table.add("S_MINIMUM_F16",
            scalar<[](F16 a, F16 b) { return halfResult(minimumOrNan<float>(a, b)); }>);
  table.add("S_MAXIMUM_F16",
            scalar<[](F16 a, F16 b) { return halfResult(maximumOrNan<float>(a, b)); }>);
  table.add("S_CEIL_F16", scalar<[](F16 a) { return halfResult(std::ceil(a.value)); }>);
  table.add("S_FLOOR_F16", scalar<[](F16 a) { return halfResult(std::floor(a.value)); }>);
  table.add("S_TRUNC_F16", scalar<[](F16 a) { return halfResult(std::trunc(a.value)); }>);
  table.add("S_RNDNE_F16", scalar<[](F16 a) { return halfResult(std::nearbyint(a.value)); }>);
  table.add("S_MAXIMUM_F32", scalar<[](float a, float b) { return maximumOrNan(a, b); }>);
  table.add("S_MINIMUM_F32", scalar<[](float a, float b) { return minimumOrNan(a, b); }>);
}

} // namespace

void addScalarArithmetic(Semantics &table) {
  addLogic<uint32_t>(table, "B32");
  addLogic<uint64_t>(table, "B64");
  addSaveExec<uint32_t>(table, "B32");
  addSaveExec<uint64_t>(table, "B64");
  addSums(table);
  addShifts(table);
  addComparisons<int32_t>(table, "I32");
  addComparisons<uint32_t>(table, "U32");
  table.add("S_CMP_EQ_U64", scalarCompare<[](uint64_t a, uint64_t b) { return a == b; }>);
  table.add("S_CMP_LG_U64", scalarCompare<[](uint64_t a, uint64_t b) { return a != b; }>);
  addConstantComparisons<int32_t>(table, "I32");
  addConstantComparisons<uint32_t>(table, "U32");
  addNumbers(table);
  addFunctions(table);
}

} // namespace sectile::amdisa
