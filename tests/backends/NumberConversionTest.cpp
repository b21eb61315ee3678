// Narrow floats against an independent model: every pattern decoded from the definition of its
// format, narrowing by search among the decoded values.
#include "backends/common/math/NumberConversion.h"

#include "HostCode.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using backends::FloatRounding;
using backends::NarrowFloat;

namespace {

struct Kind {
  const char *name;
  NarrowFloat kind;
  unsigned bits, mantissaBits;
  int bias;
};
void PrintTo(const Kind &kind, std::ostream *out) {
  *out << kind.name;
}

const Kind kinds[] = {
    {"f16", NarrowFloat::F16, 16, 10, 15},        {"bf16", NarrowFloat::BF16, 16, 7, 127},
    {"f8e4m3fn", NarrowFloat::F8E4M3FN, 8, 3, 7}, {"f8e4m3fnuz", NarrowFloat::F8E4M3FNUZ, 8, 3, 8},
    {"f8e5m2", NarrowFloat::F8E5M2, 8, 2, 15},    {"f8e5m2fnuz", NarrowFloat::F8E5M2FNUZ, 8, 2, 16},
};

bool hasInfinity(const Kind &k) {
  return k.kind == NarrowFloat::F16 || k.kind == NarrowFloat::BF16 || k.kind == NarrowFloat::F8E5M2;
}
bool isUnsignedZero(const Kind &k) {
  return k.kind == NarrowFloat::F8E4M3FNUZ || k.kind == NarrowFloat::F8E5M2FNUZ;
}

/// What a pattern means.
double decode(const Kind &k, uint32_t pattern) {
  uint32_t sign = 1u << (k.bits - 1), magnitude = pattern & (sign - 1);
  uint32_t top = (sign - 1) >> k.mantissaBits;
  uint32_t exponent = magnitude >> k.mantissaBits,
           mantissa = magnitude & ((1u << k.mantissaBits) - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (isUnsignedZero(k) && pattern == sign)
    return nan;
  if (k.kind == NarrowFloat::F8E4M3FN && magnitude == 0x7f)
    return nan;
  if (hasInfinity(k) && exponent == top)
    return mantissa ? nan : pattern & sign ? -INFINITY : INFINITY;
  double value = exponent ? std::ldexp((1u << k.mantissaBits) + mantissa,
                                       int(exponent) - k.bias - int(k.mantissaBits))
                          : std::ldexp(double(mantissa), 1 - k.bias - int(k.mantissaBits));
  return pattern & sign ? -value : value;
}

/// The finite values not below zero, ascending; the index is the pattern.
std::vector<double> finiteValues(const Kind &k) {
  std::vector<double> values;
  for (uint32_t pattern = 0; pattern < 1u << (k.bits - 1); ++pattern) {
    double value = decode(k, pattern);
    if (!std::isfinite(value))
      break;
    values.push_back(value);
  }
  return values;
}

/// By search: the two neighbours and their middle.
double narrowed(const Kind &k, const std::vector<double> &values, long double x,
                FloatRounding rounding) {
  if (std::isnan(x))
    return NAN;
  long double magnitude = fabsl(x);
  double overflow = k.bits == 8 ? values.back() : INFINITY; // fp8 saturates
  size_t above = std::upper_bound(values.begin(), values.end(), magnitude,
                                  [](long double a, double b) { return a < (long double)b; }) -
                 values.begin();
  double result;
  if (std::isinf(x)) {
    result = overflow;
  } else if (rounding == FloatRounding::TowardZero) {
    result = values[above - 1];
  } else {
    long double low = values[above - 1];
    long double high = above < values.size() ? (long double)values[above]
                                             : 2 * low - (long double)values[above - 2];
    long double middle = (low + high) / 2;
    bool up = magnitude > middle || (magnitude == middle && (above - 1) % 2 == 1);
    result = !up ? double(low) : above < values.size() ? double(high) : overflow;
  }
  result = std::copysign(result, double(std::signbit(x) ? -1 : 1));
  return isUnsignedZero(k) && result == 0 ? 0.0 : result;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

Element storage(const Kind &k) {
  return k.bits == 16 ? Element::I16 : Element::I8;
}

class Narrow : public ::testing::TestWithParam<Kind> {};

TEST_P(Narrow, every_pattern_widens_exactly) {
  const Kind &k = GetParam();
  for (const cpu::HostFeatures &host : runnableLevels())
    for (unsigned width : {1u, host.laneCount(32), 64u}) {
      SCOPED_TRACE(levelName(host) + " width " + std::to_string(width));
      auto code = compileLanes(host, width, {storage(k)}, Element::F32,
                               [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                 return backends::emitWiden(b, host, x[0], k.kind);
                               });
      ASSERT_EQ(code->error(), "");
      std::vector<uint16_t> wide(1u << k.bits);
      std::vector<uint8_t> bytes(1u << k.bits);
      for (size_t p = 0; p < wide.size(); ++p)
        wide[p] = uint16_t(p), bytes[p] = uint8_t(p);
      std::vector<float> out(wide.size());
      (*code)(k.bits == 16 ? (void *)wide.data() : (void *)bytes.data(), out.data(),
              int64_t(out.size()));
      for (size_t p = 0; p < out.size(); ++p)
        ASSERT_TRUE(same(out[p], decode(k, uint32_t(p)))) << p << " " << out[p];
    }
}

/// What only changes its form keeps every pattern, infinities too.
TEST_P(Narrow, every_pattern_survives_a_change_of_form) {
  const Kind &k = GetParam();
  for (const cpu::HostFeatures &host : runnableLevels()) {
    SCOPED_TRACE(levelName(host));
    auto code = compileLanes(host, host.laneCount(32), {storage(k)}, storage(k),
                             [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                               return backends::emitNarrow(
                                   b, host, backends::emitWiden(b, host, x[0], k.kind), k.kind,
                                   FloatRounding::NearestEven, backends::Narrowing::Form);
                             });
    ASSERT_EQ(code->error(), "");
    std::vector<uint16_t> words(1u << k.bits), wordsOut(words.size());
    std::vector<uint8_t> bytes(words.size()), bytesOut(words.size());
    for (size_t p = 0; p < words.size(); ++p)
      words[p] = uint16_t(p), bytes[p] = uint8_t(p);
    bool isByte = k.bits == 8;
    (*code)(isByte ? (void *)bytes.data() : (void *)words.data(),
            isByte ? (void *)bytesOut.data() : (void *)wordsOut.data(), int64_t(words.size()));
    for (size_t p = 0; p < words.size(); ++p)
      ASSERT_TRUE(same(decode(k, isByte ? bytesOut[p] : wordsOut[p]), decode(k, uint32_t(p)))) << p;
  }
}

/// Copies of bf16 are copies of words: rounding what was widened took a dozen instructions for
/// sixteen numbers, for each operand of a product.
TEST(NarrowMoved, bf16_is_not_rounded) {
  llvm::LLVMContext context;
  llvm::Module module("moved", context);
  auto *bits = llvm::FixedVectorType::get(llvm::Type::getInt16Ty(context), 16);
  auto *flags = llvm::FixedVectorType::get(llvm::Type::getInt1Ty(context), 16);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(bits, {bits, flags}, false),
                                          llvm::GlobalValue::ExternalLinkage, "moved", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  cpu::HostFeatures host = cpu::HostFeatures::level(backends::ProcessorLevel::V4);
  llvm::Value *widened = backends::emitWiden(b, host, function->getArg(0), NarrowFloat::BF16);
  EXPECT_EQ(backends::emitNarrow(b, host, widened, NarrowFloat::BF16), function->getArg(0));
  auto constant = [&](double number) { return llvm::ConstantFP::get(widened->getType(), number); };
  auto *chosen = llvm::dyn_cast<llvm::SelectInst>(backends::emitNarrow(
      b, host, b.CreateSelect(function->getArg(1), widened, constant(-1.5)), NarrowFloat::BF16));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->getTrueValue(), function->getArg(0));
  EXPECT_EQ(chosen->getFalseValue(), llvm::ConstantInt::get(bits, 0xbfc0));
  // A number that is no bf16 is rounded, and so is a sum.
  for (llvm::Value *other : {b.CreateSelect(function->getArg(1), widened, constant(0.1)),
                             b.CreateFAdd(widened, widened)})
    EXPECT_FALSE(
        llvm::isa<llvm::SelectInst>(backends::emitNarrow(b, host, other, NarrowFloat::BF16)));
}

/// All 16-bit numbers of two kinds against the definition.
TEST_P(Narrow, every_half_and_bfloat_narrows_to_the_nearest) {
  const Kind &k = GetParam();
  if (k.bits == 16)
    GTEST_SKIP() << "16-bit kinds widen";
  std::vector<double> values = finiteValues(k);
  for (const Kind &from : {kinds[0], kinds[1]})
    for (const cpu::HostFeatures &host : runnableLevels())
      for (FloatRounding rounding : {FloatRounding::NearestEven, FloatRounding::TowardZero}) {
        auto code = compileLanes(host, host.laneCount(32), {Element::I16}, Element::I8,
                                 [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                   return backends::emitNarrow(
                                       b, host, backends::emitWiden(b, host, x[0], from.kind),
                                       k.kind, rounding);
                                 });
        ASSERT_EQ(code->error(), "");
        std::vector<uint16_t> in(1u << 16);
        std::vector<uint8_t> out(in.size());
        for (size_t p = 0; p < in.size(); ++p)
          in[p] = uint16_t(p);
        (*code)(in.data(), out.data(), int64_t(in.size()));
        for (size_t p = 0; p < in.size(); ++p) {
          double x = decode(from, uint32_t(p));
          ASSERT_TRUE(same(decode(k, out[p]), narrowed(k, values, x, rounding)))
              << from.name << " " << x << " became " << decode(k, out[p]);
        }
      }
}

/// All values, their middles and the neighbours of both, random bits, and what overflows.
template <typename T>
std::vector<T> interesting(const Kind &k, size_t randomCount) {
  std::vector<double> values = finiteValues(k);
  std::vector<T> result = {0,
                           T(-0.0),
                           T(INFINITY),
                           T(-INFINITY),
                           T(NAN),
                           std::numeric_limits<T>::max(),
                           -std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::denorm_min()};
  double last = values.back(), step = last - values[values.size() - 2];
  values.push_back(last + step);
  for (size_t p = 0; p + 1 < values.size(); ++p)
    for (double x : {values[p], (values[p] + values[p + 1]) / 2}) {
      T t = T(x);
      for (T y : {t, std::nextafter(t, T(INFINITY)), std::nextafter(t, T(0))})
        result.push_back(y), result.push_back(-y);
    }
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(1, 2),
      exponent(1 - k.bias - int(k.mantissaBits) - 3, k.bias + 4);
  for (size_t n = 0; n < randomCount; ++n) {
    uint64_t bits = random();
    T any;
    memcpy(&any, &bits, sizeof any);
    result.push_back(
        n % 4 ? T((bits & 1 ? -1 : 1) * std::ldexp(unit(random), int(exponent(random)))) : any);
  }
  while (result.size() % 64)
    result.push_back(0);
  return result;
}

template <typename T>
void checkNarrow(const Kind &k, Element element, size_t randomCount) {
  std::vector<T> in = interesting<T>(k, randomCount);
  std::vector<double> values = finiteValues(k);
  for (FloatRounding rounding : {FloatRounding::NearestEven, FloatRounding::TowardZero}) {
    std::vector<double> expected;
    for (T x : in)
      expected.push_back(narrowed(k, values, x, rounding));
    for (const cpu::HostFeatures &host : runnableLevels())
      for (unsigned width : {1u, host.laneCount(32)}) {
        SCOPED_TRACE(levelName(host) + " width " + std::to_string(width) +
                     (rounding == FloatRounding::TowardZero ? " toward zero" : " nearest even"));
        auto narrow = compileLanes(host, width, {element}, storage(k),
                                   [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                     return backends::emitNarrow(b, host, x[0], k.kind, rounding);
                                   });
        auto round = compileLanes(host, width, {element}, Element::F32,
                                  [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                    return backends::emitRound(b, host, x[0], k.kind, rounding);
                                  });
        ASSERT_EQ(narrow->error() + round->error(), "");
        std::vector<uint16_t> words(in.size());
        std::vector<uint8_t> bytes(in.size());
        std::vector<float> rounded(in.size());
        (*narrow)(in.data(), k.bits == 16 ? (void *)words.data() : (void *)bytes.data(),
                  int64_t(in.size()));
        (*round)(in.data(), rounded.data(), int64_t(in.size()));
        for (size_t n = 0; n < in.size(); ++n) {
          double actual = decode(k, k.bits == 16 ? words[n] : bytes[n]);
          ASSERT_TRUE(same(actual, expected[n]))
              << in[n] << " narrowed to " << actual << ", not " << expected[n];
          ASSERT_TRUE(same(rounded[n], expected[n]))
              << in[n] << " rounded to " << rounded[n] << ", not " << expected[n];
        }
      }
  }
}

TEST_P(Narrow, f32_rounds_correctly) {
  checkNarrow<float>(GetParam(), Element::F32, 200000);
}
TEST_P(Narrow, f64_rounds_once) {
  checkNarrow<double>(GetParam(), Element::F64, 50000);
}

TEST_P(Narrow, i64_rounds_once) {
  const Kind &k = GetParam();
  std::vector<double> values = finiteValues(k);
  std::mt19937_64 random(5);
  std::vector<int64_t> in = {0, 1, -1, INT64_MAX, INT64_MIN, (1ll << 53) + 1, -(1ll << 53) - 1};
  while (in.size() < 20000) {
    // Numbers just beside a middle, which two roundings get wrong.
    int64_t x = int64_t(random()) >> (random() % 63);
    in.push_back(x);
    uint64_t top = uint64_t(x) & ~((uint64_t(1) << 50) - 1);
    in.push_back(int64_t(top | uint64_t(1) << 49 | (random() & 1)));
  }
  while (in.size() % 64)
    in.push_back(0);
  for (bool isSigned : {true, false})
    for (const cpu::HostFeatures &host : runnableLevels()) {
      SCOPED_TRACE(levelName(host));
      auto code = compileLanes(host, host.laneCount(64), {Element::I64}, Element::F32,
                               [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                 return backends::emitIntToNarrow(b, host, x[0], k.kind, isSigned);
                               });
      ASSERT_EQ(code->error(), "");
      std::vector<float> out(in.size());
      (*code)(in.data(), out.data(), int64_t(in.size()));
      for (size_t n = 0; n < in.size(); ++n) {
        long double x = isSigned ? (long double)in[n] : (long double)uint64_t(in[n]);
        double expected = narrowed(k, values, x, FloatRounding::NearestEven);
        ASSERT_TRUE(same(out[n], expected))
            << double(x) << " became " << out[n] << ", not " << expected;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Narrow, ::testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });

//===-- integers ------------------------------------------------------------------------------===//

template <typename Float, typename Int>
void checkFloatToInt(Element from, Element to) {
  constexpr bool isSigned = std::is_signed_v<Int>;
  std::mt19937_64 random(9);
  std::vector<Float> in = {
      0,          Float(-0.0), Float(0.99), Float(-0.99), Float(INFINITY), Float(-INFINITY),
      Float(NAN), Float(1e30), Float(-1e30)};
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (double sign : {1.0, -1.0}) {
      Float border = Float(std::ldexp(sign, bits));
      for (Float x :
           {border, std::nextafter(border, Float(0)), border + Float(1), border - Float(1)})
        in.push_back(x);
    }
  std::uniform_real_distribution<double> unit(-2, 2);
  while (in.size() < 4096)
    in.push_back(Float(std::ldexp(unit(random), int(random() % 66))));
  auto expected = [](Float x) -> Int {
    if (std::isnan(x))
      return 0;
    Float truncated = std::trunc(x);
    if (truncated >= Float(std::ldexp(1.0, std::numeric_limits<Int>::digits)))
      return std::numeric_limits<Int>::max();
    if (truncated <= Float(std::numeric_limits<Int>::min()))
      return std::numeric_limits<Int>::min();
    return Int(truncated);
  };
  for (const cpu::HostFeatures &host : runnableLevels())
    for (unsigned width : {1u, 16u}) {
      SCOPED_TRACE(levelName(host) + " width " + std::to_string(width) + " to " +
                   std::to_string(8 * sizeof(Int)) + (isSigned ? " signed" : " unsigned"));
      auto code = compileLanes(host, width, {from}, to,
                               [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                                 return backends::emitFloatToInt(
                                     b, host, x[0], elementType(b.getContext(), to), isSigned);
                               });
      ASSERT_EQ(code->error(), "");
      std::vector<Int> out(in.size());
      (*code)(in.data(), out.data(), int64_t(in.size()));
      for (size_t n = 0; n < in.size(); ++n)
        ASSERT_EQ(out[n], expected(in[n])) << "from " << in[n];
    }
}

template <typename Int>
void checkIntToFloat(Element from) {
  std::mt19937_64 random(13);
  std::vector<Int> in = {0, Int(-1), 1, std::numeric_limits<Int>::max(),
                         std::numeric_limits<Int>::min()};
  while (in.size() < 8192)
    in.push_back(Int(random() >> (random() % 64)));
  while (in.size() % 16)
    in.push_back(0);
  for (const cpu::HostFeatures &host : runnableLevels())
    for (unsigned width : {1u, 16u}) {
      SCOPED_TRACE(levelName(host) + " width " + std::to_string(width) + " from " +
                   std::to_string(8 * sizeof(Int)));
      auto compile = [&](Element to) {
        return compileLanes(
            host, width, {from}, to, [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
              return backends::emitIntToFloat(b, host, x[0], elementType(b.getContext(), to),
                                              std::is_signed_v<Int>);
            });
      };
      auto toFloat = compile(Element::F32), toDouble = compile(Element::F64);
      ASSERT_EQ(toFloat->error() + toDouble->error(), "");
      std::vector<float> floats(in.size());
      std::vector<double> doubles(in.size());
      (*toFloat)(in.data(), floats.data(), int64_t(in.size()));
      (*toDouble)(in.data(), doubles.data(), int64_t(in.size()));
      for (size_t n = 0; n < in.size(); ++n) {
        ASSERT_EQ(floats[n], float(in[n])) << +in[n];
        ASSERT_EQ(doubles[n], double(in[n])) << +in[n];
      }
    }
}

template <typename Int>
void checkInteger(Element element) {
  checkFloatToInt<float, Int>(Element::F32, element);
  checkFloatToInt<double, Int>(Element::F64, element);
  checkIntToFloat<Int>(element);
}

TEST(IntegerConversion, i8) {
  checkInteger<int8_t>(Element::I8);
}
TEST(IntegerConversion, u8) {
  checkInteger<uint8_t>(Element::I8);
}
TEST(IntegerConversion, i16) {
  checkInteger<int16_t>(Element::I16);
}
TEST(IntegerConversion, u16) {
  checkInteger<uint16_t>(Element::I16);
}
TEST(IntegerConversion, i32) {
  checkInteger<int32_t>(Element::I32);
}
TEST(IntegerConversion, u32) {
  checkInteger<uint32_t>(Element::I32);
}
TEST(IntegerConversion, i64) {
  checkInteger<int64_t>(Element::I64);
}
TEST(IntegerConversion, u64) {
  checkInteger<uint64_t>(Element::I64);
}

TEST(FloatConversion, f64_to_f32_toward_zero) {
  std::mt19937_64 random(17);
  std::vector<double> in = {0,     -0.0,   INFINITY, -INFINITY, NAN,
                            1e300, -1e300, 1e-300,   -1e-300,   1 + 0x1p-53};
  std::uniform_real_distribution<double> unit(-2, 2);
  while (in.size() < 65536)
    in.push_back(std::ldexp(unit(random), int(random() % 300) - 160));
  for (const cpu::HostFeatures &host : runnableLevels()) {
    auto code = compileLanes(host, host.laneCount(32), {Element::F64}, Element::F32,
                             [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                               return backends::emitTruncateDouble(b, host, x[0],
                                                                   FloatRounding::TowardZero);
                             });
    ASSERT_EQ(code->error(), "");
    std::vector<float> out(in.size());
    (*code)(in.data(), out.data(), int64_t(in.size()));
    for (size_t n = 0; n < in.size(); ++n) {
      float expected = float(in[n]);
      if (std::fabs(double(expected)) > std::fabs(in[n]))
        expected = std::nextafter(expected, 0.0f);
      ASSERT_TRUE(same(out[n], expected)) << in[n];
    }
  }
}

} // namespace
