// VALU: numbers of 32 and 64 bits, by host IEEE arithmetic. Functions that the hardware
// approximates are computed in double precision, rounded, and moved by a unit in the last place
// under a seed.
#include "Lanes.h"
#include "RealFunctions.h"
#include "Semantics.h"

namespace sectile::amdisa {
namespace {

template <class T>
void addArithmetic(Semantics &table, const std::string &type) {
  table.add("V_ADD_" + type, vector<[](T a, T b) { return a + b; }>);
  table.add("V_MUL_" + type, vector<[](T a, T b) { return a * b; }>);
  table.add("V_FMA_" + type, vector<[](T a, T b, T c) { return std::fma(a, b, c); }>);
  table.add("V_FMAC_" + type, accumulate<[](T a, T b, T c) { return std::fma(a, b, c); }>);
  for (const char *name : {"V_MAX_", "V_MAX_NUM_"})
    table.add(name + type, vector<[](T a, T b) { return maximumNumber(a, b); }>);
  for (const char *name : {"V_MIN_", "V_MIN_NUM_"})
    table.add(name + type, vector<[](T a, T b) { return minimumNumber(a, b); }>);
  table.add("V_MAXIMUM_" + type, vector<[](T a, T b) { return maximumOrNan(a, b); }>);
  table.add("V_MINIMUM_" + type, vector<[](T a, T b) { return minimumOrNan(a, b); }>);
  table.add("V_FRACT_" + type, vector<[](T a) { return fraction(a); }>);
  table.add("V_TRUNC_" + type, vector<[](T a) { return std::trunc(a); }>);
  table.add("V_CEIL_" + type, vector<[](T a) { return std::ceil(a); }>);
  table.add("V_RNDNE_" + type, vector<[](T a) { return std::nearbyint(a); }>);
  table.add("V_FLOOR_" + type, vector<[](T a) { return std::floor(a); }>);
  table.add("V_LDEXP_" + type, vector<[](T a, int32_t b) { return std::ldexp(a, b); }>);
  table.add("V_FREXP_MANT_" + type, vector<[](T a) { return mantissa(a); }>);
  table.add("V_FREXP_EXP_I32_" + type, vector<[](T a) { return exponentOf(a); }>);
}

void addSingle(Semantics &table) {
  addArithmetic<float>(table, "F32");
  table.add("V_SUB_F32", vector<[](float a, float b) { return a - b; }>);
  table.add("V_SUBREV_F32", vector<[](float a, float b) { return b - a; }>);
  table.add("V_MAD_F32", vector<[](float a, float b, float c) { return a * b + c; }>);
  table.add("V_MAC_F32", accumulate<[](float a, float b, float c) { return a * b + c; }>);
  table.add("V_MADAK_F32", vector<[](float a, float b, float c) { return a * b + c; }>);
  table.add("V_MADMK_F32", vector<[](float a, float b, float c) { return a * b + c; }>);
  table.add("V_FMAAK_F32", vector<[](float a, float b, float c) { return std::fma(a, b, c); }>);
  table.add("V_FMAMK_F32", vector<[](float a, float b, float c) { return std::fma(a, b, c); }>);
  table.add("V_MUL_LEGACY_F32",
            vector<[](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }>);
  table.add(
      "V_FMA_LEGACY_F32",
      vector<[](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); }>);
  for (const char *name : {"V_MAX3_F32", "V_MAX3_NUM_F32"})
    table.add(
        name,
        vector<[](float a, float b, float c) { return maximumNumber(maximumNumber(a, b), c); }>);
  for (const char *name : {"V_MIN3_F32", "V_MIN3_NUM_F32"})
    table.add(
        name,
        vector<[](float a, float b, float c) { return minimumNumber(minimumNumber(a, b), c); }>);
  for (const char *name : {"V_MAXMIN_F32", "V_MAXMIN_NUM_F32"})
    table.add(
        name,
        vector<[](float a, float b, float c) { return minimumNumber(maximumNumber(a, b), c); }>);
  for (const char *name : {"V_MINMAX_F32", "V_MINMAX_NUM_F32"})
    table.add(
        name,
        vector<[](float a, float b, float c) { return maximumNumber(minimumNumber(a, b), c); }>);
  for (const char *name : {"V_MED3_F32", "V_MED3_NUM_F32"})
    table.add(name, vector<[](float a, float b, float c) { return medianNumber(a, b, c); }>);
  table.add("V_FMAC_DX9_ZERO_F32", accumulate<[](float a, float b, float c) {
              return a == 0 || b == 0 ? c : std::fma(a, b, c);
            }>);
  table.add("V_MAXIMUMMINIMUM_F32",
            vector<[](float a, float b, float c) { return minimumOrNan(maximumOrNan(a, b), c); }>);
  table.add("V_MINIMUMMAXIMUM_F32",
            vector<[](float a, float b, float c) { return maximumOrNan(minimumOrNan(a, b), c); }>);
  table.add("V_MAXIMUM3_F32",
            vector<[](float a, float b, float c) { return maximumOrNan(maximumOrNan(a, b), c); }>);
  table.add("V_MINIMUM3_F32",
            vector<[](float a, float b, float c) { return minimumOrNan(minimumOrNan(a, b), c); }>);
}

/// One of the two numbers next to a result that is not exact: less than a unit in the last place
/// away.
float perturbed(double exact, uint64_t seed) {
  auto rounded = float(exact);
  if (seed == 0 || double(rounded) == exact || !std::isfinite(rounded) || rounded == 0)
    return rounded;
  uint64_t hash = (std::bit_cast<uint64_t>(exact) ^ seed) * 0x9e3779b97f4a7c15;
  if (hash >> 63)
    return rounded;
  return std::nextafter(rounded, exact > rounded ? INFINITY : -INFINITY);
}

float withoutDenormals(float value) {
  return isDenormal(value) ? std::copysign(0.0f, value) : value;
}

/// exp2, log2, rcp, rsq, sqrt: one unit in the last place, denormal numbers are zero.
template <auto F>
void approximate(Wave &wave, const Instruction &instruction) {
  Space<float> space, result;
  const uint32_t *source =
      fetch<float>(wave, instruction, instruction.operands[1], 0, space.values);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    float argument = withoutDenormals(std::bit_cast<float>(source[lane]));
    float value = withoutDenormals(perturbed(F(double(argument)), wave.seed));
    result.values[lane] = std::bit_cast<uint32_t>(value);
  }
  store<float>(wave, instruction, instruction.operands[0], 1, result.values);
}

void addApproximations(Semantics &table) {
  table.add("V_EXP_F32", approximate<[](double x) { return std::exp2(x); }>);
  table.add("V_LOG_F32", approximate<[](double x) { return std::log2(x); }>);
  table.add("V_RCP_F32", approximate<[](double x) { return 1 / x; }>);
  table.add("V_RCP_IFLAG_F32", approximate<[](double x) { return 1 / x; }>);
  table.add("V_RSQ_F32", approximate<[](double x) { return 1 / std::sqrt(x); }>);
  table.add("V_SQRT_F32", approximate<[](double x) { return std::sqrt(x); }>);
  table.add("V_SIN_F32", approximate<[](double x) { return sineOfTurns(x); }>);
  table.add("V_COS_F32", approximate<[](double x) { return cosineOfTurns(x); }>);
}

/// Of these the hardware gives about 24 bits, which the compiler refines; all of them without a
/// seed.
double coarse(double exact, uint64_t seed) {
  if (!std::isfinite(exact) || exact == 0 || seed == 0)
    return exact;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(exact) & ~((uint64_t(1) << 28) - 1));
}

template <auto F>
void approximateDouble(Wave &wave, const Instruction &instruction) {
  Space<double> space, result;
  const uint64_t *source =
      fetch<double>(wave, instruction, instruction.operands[1], 0, space.values);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result.values[lane] =
        std::bit_cast<uint64_t>(coarse(F(std::bit_cast<double>(source[lane])), wave.seed));
  store<double>(wave, instruction, instruction.operands[0], 1, result.values);
}

void addDouble(Semantics &table) {
  addArithmetic<double>(table, "F64");
  table.add("V_RCP_F64", approximateDouble<[](double a) { return 1 / a; }>);
  table.add("V_RSQ_F64", approximateDouble<[](double a) { return 1 / std::sqrt(a); }>);
  table.add("V_SQRT_F64", approximateDouble<[](double a) { return std::sqrt(a); }>);
  // The hardware's table of 2/pi, for large arguments of sin and cos.
  table.add("V_TRIG_PREOP_F64",
            [](Wave &wave, const Instruction &) { wave.fail("v_trig_preop_f64 is not modelled"); });
}

template <class T>
struct Division {
  static constexpr int step = sizeof(T) == 4 ? 64 : 128; // exponents of a scaling
  static constexpr int far = sizeof(T) == 4 ? 96 : 768;  // of quotients near infinity
  static constexpr int small = sizeof(T) == 4 ? 23 : 53; // of small numerators
  static constexpr int top = sizeof(T) == 4 ? 255 : 2047;
  static constexpr int bias = top / 2;
};

/// v_div_scale: `scaled` is the denominator or the numerator; the flag asks v_div_fmas to undo it.
template <class T>
WithFlag<T> divisionScale(T scaled, T denominator, T numerator) {
  using D = Division<T>;
  bool isDenominator = std::bit_cast<Raw<T>>(scaled) == std::bit_cast<Raw<T>>(denominator);
  bool isNumerator = std::bit_cast<Raw<T>>(scaled) == std::bit_cast<Raw<T>>(numerator);
  if (numerator == 0 || denominator == 0)
    return {std::numeric_limits<T>::quiet_NaN(), false};
  auto up = [&] { return std::ldexp(scaled, D::step); };
  auto down = [&] { return std::ldexp(scaled, -D::step); };
  if (biasedExponent(numerator) - biasedExponent(denominator) >= D::far)
    return {isDenominator ? up() : scaled, true};
  if (isDenormal(denominator))
    return {up(), false};
  // By their exponents: what underflows to zero counts, too.
  auto isTiny = [](T value) { return std::fabs(value) < std::numeric_limits<T>::min(); };
  bool isTinyReciprocal = isTiny(T(1) / denominator),
       isTinyQuotient = isTiny(numerator / denominator);
  // The manuals have a denominator made larger here, which overflows; made smaller, the quotient is
  // right.
  if (isTinyReciprocal && isTinyQuotient)
    return {isDenominator ? down() : scaled, true};
  if (isTinyReciprocal)
    return {down(), false};
  if (isTinyQuotient)
    return {isNumerator ? up() : scaled, true};
  if (biasedExponent(numerator) <= D::small)
    return {up(), false};
  return {scaled, false};
}

template <class T>
T divisionFixup(T quotient, T denominator, T numerator) {
  using D = Division<T>;
  T sign = std::signbit(denominator) != std::signbit(numerator) ? T(-1) : T(1);
  T infinity = std::numeric_limits<T>::infinity();
  if (numerator != numerator || denominator != denominator)
    return std::numeric_limits<T>::quiet_NaN();
  if ((denominator == 0 && numerator == 0) || (std::isinf(denominator) && std::isinf(numerator)))
    return std::numeric_limits<T>::quiet_NaN();
  if (denominator == 0 || std::isinf(numerator))
    return sign * infinity;
  if (std::isinf(denominator) || numerator == 0)
    return std::copysign(T(0), sign);
  if (biasedExponent(quotient) == D::top)
    return std::copysign(infinity, sign);
  return std::copysign(quotient, sign);
}

/// 2^exponent (a b + c), rounded once.
template <class T>
T scaledFma(T a, T b, T c, int exponent) {
  using Wide = __float128; // has room for an exact product of doubles
  Wide scale = std::ldexp(1.0, exponent);
  return T((Wide(a) * Wide(b) + Wide(c)) * scale);
}

/// v_div_fmas: the last step of the quotient, with the scaling taken back where VCC says so:
/// upwards for a large quotient, whose denominator was made larger, downwards for a small one.
template <class T>
void divisionFma(Wave &wave, const Instruction &instruction) {
  using D = Division<T>;
  Space<T> spaces[3], result;
  const Raw<T> *sources[3];
  for (unsigned slot = 0; slot < 3; ++slot)
    sources[slot] =
        fetch<T>(wave, instruction, instruction.operands[1 + slot], slot, spaces[slot].values);
  uint64_t vcc = wave.mask(kVcc);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    T addend = decode<T>(sources[2][lane]);
    T a = decode<T>(sources[0][lane]), b = decode<T>(sources[1][lane]);
    int exponent = biasedExponent(addend) > D::bias ? D::step : -D::step;
    result.values[lane] =
        encode<T>(vcc >> lane & 1 ? scaledFma(a, b, addend, exponent) : std::fma(a, b, addend));
  }
  store<T>(wave, instruction, instruction.operands[0], 3, result.values);
}

template <class T>
void addDivision(Semantics &table, const std::string &type) {
  table.add("V_DIV_SCALE_" + type, vector<[](T a, T b, T c) { return divisionScale(a, b, c); }>);
  table.add("V_DIV_FIXUP_" + type, vector<[](T a, T b, T c) { return divisionFixup(a, b, c); }>);
  table.add("V_DIV_FMAS_" + type, divisionFma<T>);
}

} // namespace

void addVectorFloat(Semantics &table) {
  addSingle(table);
  addApproximations(table);
  addDivision<float>(table, "F32");
}

void addVectorDouble(Semantics &table) {
  addDouble(table);
  addDivision<double>(table, "F64");
}

} // namespace sectile::amdisa
