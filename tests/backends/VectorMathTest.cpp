// Mathematical functions against the C library in a wider type: error in units in the last place
// over dense samples, special values by table, at every CPU level this machine runs.
#include "backends/common/math/VectorMath.h"

#include "HostCode.h"

#include <cmath>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <limits>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using backends::MathFunction;

namespace {

using Real = long double;

struct Case {
  const char *name;
  MathFunction function;
  unsigned arity;
  Real (*reference)(Real, Real);
  double low, high; // of dense samples for f32; f64 is sampled in the same range
  double ulp32, ulp64;
  double lowExponent = 0, highExponent = 0; // of samples with random exponents; both 0: none
  double ulpOneThread = 0; // of f32, where one thread of a GPU has a form of its own
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.name;
}

Real rsqrtReference(Real x, Real) {
  return 1 / sqrtl(x);
}
Real roundReference(Real x, Real) {
  return roundl(x);
}
Real roundEvenReference(Real x, Real) {
  return nearbyintl(x);
}

#define UNARY(f) +[](Real x, Real) -> Real { return f(x); }
#define BINARY(f) +[](Real x, Real y) -> Real { return f(x, y); }

const Case cases[] = {
    {"exp", MathFunction::Exp, 1, UNARY(expl), -110, 92, 1.3, 1.5, -40, 7},
    {"exp2", MathFunction::Exp2, 1, UNARY(exp2l), -160, 130, 1.3, 1.5, -40, 7},
    {"expm1", MathFunction::Expm1, 1, UNARY(expm1l), -30, 90, 1.6, 2, -148, 7},
    {"log", MathFunction::Log, 1, UNARY(logl), 0, 4, 1.2, 1.2, -148, 127},
    {"log2", MathFunction::Log2, 1, UNARY(log2l), 0, 4, 1.9, 1.9, -148, 127},
    {"log10", MathFunction::Log10, 1, UNARY(log10l), 0, 4, 2, 2, -148, 127},
    {"log1p", MathFunction::Log1p, 1, UNARY(log1pl), -1, 4, 1.5, 2, -148, 127},
    {"sin", MathFunction::Sin, 1, UNARY(sinl), -30, 30, 1.6, 1.6, -148, 127},
    {"cos", MathFunction::Cos, 1, UNARY(cosl), -30, 30, 1.6, 1.6, -148, 127},
    {"tan", MathFunction::Tan, 1, UNARY(tanl), -30, 30, 0.6, 3, -148, 127, 3.5},
    {"asin", MathFunction::Asin, 1, UNARY(asinl), -1, 1, 2, 2, -148, -1},
    {"acos", MathFunction::Acos, 1, UNARY(acosl), -1, 1, 2, 2, -148, -1},
    {"atan", MathFunction::Atan, 1, UNARY(atanl), -8, 8, 2, 2, -148, 127},
    {"sinh", MathFunction::Sinh, 1, UNARY(sinhl), -92, 92, 2, 2, -148, 6},
    {"cosh", MathFunction::Cosh, 1, UNARY(coshl), -92, 92, 2, 2, -148, 6},
    {"tanh", MathFunction::Tanh, 1, UNARY(tanhl), -12, 12, 2, 2.5, -148, 6},
    {"asinh", MathFunction::Asinh, 1, UNARY(asinhl), -9, 9, 0.6, 3, -148, 127, 2},
    {"acosh", MathFunction::Acosh, 1, UNARY(acoshl), 1, 9, 0.6, 3, 0, 127, 2},
    {"atanh", MathFunction::Atanh, 1, UNARY(atanhl), -1, 1, 0.6, 3, -148, -1, 2.6},
    {"erf", MathFunction::Erf, 1, UNARY(erfl), -5, 5, 2, 2, -148, 6},
    {"erfc", MathFunction::Erfc, 1, UNARY(erfcl), -5, 11, 0.6, 3.3, -148, 3, 4},
    {"sqrt", MathFunction::Sqrt, 1, UNARY(sqrtl), 0, 9, 0.5, 0.5, -148, 127},
    {"rsqrt", MathFunction::Rsqrt, 1, rsqrtReference, 0, 9, 1.5, 1.5, -148, 127},
    {"cbrt", MathFunction::Cbrt, 1, UNARY(cbrtl), -9, 9, 0.6, 1.5, -148, 127, 0.8},
    {"floor", MathFunction::Floor, 1, UNARY(floorl), -9, 9, 0, 0, -148, 127},
    {"ceil", MathFunction::Ceil, 1, UNARY(ceill), -9, 9, 0, 0, -148, 127},
    {"trunc", MathFunction::Trunc, 1, UNARY(truncl), -9, 9, 0, 0, -148, 127},
    {"round", MathFunction::Round, 1, roundReference, -9, 9, 0, 0, -148, 127},
    {"rint", MathFunction::RoundEven, 1, roundEvenReference, -9, 9, 0, 0, -148, 127},
    {"abs", MathFunction::Abs, 1, UNARY(fabsl), -9, 9, 0, 0, -148, 127},
    {"atan2", MathFunction::Atan2, 2, BINARY(atan2l), -9, 9, 2.5, 2.5, -148, 127},
    {"pow", MathFunction::Pow, 2, BINARY(powl), -9, 9, 0.6, 2, -148, 127, 1},
    {"fmod", MathFunction::Fmod, 2, BINARY(fmodl), -9, 9, 0, 0, -148, 127},
    {"copysign", MathFunction::CopySign, 2, BINARY(copysignl), -9, 9, 0, 0, -148, 127},
};

template <typename T>
struct Traits;
template <>
struct Traits<float> {
  using Bits = uint32_t;
  static constexpr Element element = Element::F32;
  static constexpr int minExponent = -126, digits = 24;
};
template <>
struct Traits<double> {
  using Bits = uint64_t;
  static constexpr Element element = Element::F64;
  static constexpr int minExponent = -1022, digits = 53;
};

/// In units in the last place of T at the reference; infinities and NaN must match.
template <typename T>
double ulpError(T actual, Real reference) {
  T rounded = T(reference);
  if (std::isnan(reference) || std::isnan(actual))
    return std::isnan(reference) && std::isnan(actual) ? 0 : 1e9;
  if (std::signbit(reference) != std::signbit(actual))
    return 1e9;
  if (std::isinf(rounded) || std::isinf(actual)) {
    if (std::isinf(rounded) && std::isinf(actual))
      return 0;
    // Right at the border of overflow either is within one unit.
    T largest = std::numeric_limits<T>::max();
    Real unit = ldexpl(1, std::numeric_limits<T>::max_exponent - Traits<T>::digits);
    Real finite = std::isinf(actual) ? Real(largest) + unit : Real(actual);
    return double(fabsl(finite - (std::isinf(reference) ? Real(largest) + unit : reference)) /
                  unit);
  }
  int exponent =
      reference == 0 ? Traits<T>::minExponent : std::max(ilogbl(reference), Traits<T>::minExponent);
  return double(fabsl(Real(actual) - reference) / ldexpl(1, exponent - Traits<T>::digits + 1));
}

template <typename T>
T anyBits(std::mt19937_64 &random) {
  typename Traits<T>::Bits bits = typename Traits<T>::Bits(random());
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
std::vector<T> samples(const Case &c, std::mt19937_64 &random, unsigned argument, size_t count) {
  std::uniform_real_distribution<double> uniform(c.low, c.high), unit(1, 2);
  double low = c.lowExponent, high = c.highExponent;
  if (sizeof(T) == 8 && high == 127)
    low = low == -148 ? -1070 : low, high = 1023;
  std::uniform_int_distribution<int> exponent{int(low), int(high)};
  std::vector<T> result(count);
  bool hasNegative = c.low < 0;
  for (size_t k = 0; k < count; ++k) {
    if (k % 2 == 0 || (low == 0 && high == 0))
      result[k] = T(uniform(random));
    else
      result[k] = T(std::ldexp(unit(random), exponent(random))) *
                  (hasNegative && (random() & 1) ? T(-1) : T(1));
  }
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       infinity,
                       -infinity,
                       nan,
                       T(0.5),
                       T(-0.5),
                       2,
                       -2,
                       3,
                       -3,
                       std::numeric_limits<T>::denorm_min(),
                       -std::numeric_limits<T>::denorm_min(),
                       2 * std::numeric_limits<T>::denorm_min(),
                       -3 * std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max(),
                       -std::numeric_limits<T>::max(),
                       T(1.5),
                       T(2.5),
                       T(-2.5),
                       T(0.49999997),
                       100,
                       T(1e10),
                       T(-1e10),
                       T(8388609),
                       T(4503599627370497.0),
                       T(88.72284),
                       T(709.7827),
                       T(-745.2),
                       T(-103.98),
                       T(1.1e30),
                       7,
                       -7};
  // Every pair of them.
  constexpr size_t n = std::size(special);
  for (size_t k = 0; k < n * n && k < count; ++k)
    result[k] = special[argument == 0 ? k % n : k / n];
  return result;
}

template <typename T>
void checkUlp(const Case &c, const cpu::HostFeatures &host, unsigned width, size_t count) {
  const bool hasOwnBar = host.oneThread && sizeof(T) == 4 && c.ulpOneThread > 0;
  SCOPED_TRACE(std::string(c.name) + (sizeof(T) == 4 ? " f32 " : " f64 ") + levelName(host) +
               " width " + std::to_string(width));
  std::vector<Element> inputs(c.arity, Traits<T>::element);
  auto code = compileLanes(host, width, inputs, Traits<T>::element,
                           [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                             return backends::emitMath(b, host, c.function, x);
                           });
  ASSERT_EQ(code->error(), "");
  std::mt19937_64 random(7);
  count = (count + width - 1) / width * width;
  std::vector<T> x = samples<T>(c, random, 0, count), y = samples<T>(c, random, 1, count),
                 out(count);
  if (c.arity == 1)
    (*code)(x.data(), out.data(), int64_t(count));
  else
    (*code)(x.data(), y.data(), out.data(), int64_t(count));
  double worst = -1;
  size_t where = 0;
  for (size_t k = 0; k < count; ++k) {
    Real reference = c.reference(x[k], c.arity == 2 ? y[k] : 0);
    double error = ulpError(out[k], reference);
    if (error > worst)
      worst = error, where = k;
  }
  double bar = hasOwnBar ? c.ulpOneThread : sizeof(T) == 4 ? c.ulp32 : c.ulp64;
  EXPECT_LE(worst, bar) << "at " << std::hexfloat << x[where] << ", " << y[where] << " ("
                        << std::defaultfloat << double(x[where]) << ", " << double(y[where])
                        << "): " << double(out[where]) << " instead of "
                        << double(c.reference(x[where], c.arity == 2 ? y[where] : 0));
  if (getenv("SECTILE_TEST_VERBOSE"))
    printf("%-8s %s %-10s %.3f\n", c.name, sizeof(T) == 4 ? "f32" : "f64", levelName(host).c_str(),
           worst);
}

class VectorMath : public ::testing::TestWithParam<Case> {};

TEST_P(VectorMath, within_units_in_the_last_place) {
  for (const cpu::HostFeatures &host : runnableLevels()) {
    checkUlp<float>(GetParam(), host, host.laneCount(32), 60000);
    checkUlp<double>(GetParam(), host, host.laneCount(64), 30000);
  }
}

// What one thread of a GPU computes: f32 in f32 alone, and what is rare in branches. The GPU's
// reciprocal alone is not this processor's.
TEST_P(VectorMath, of_one_thread_within_units_in_the_last_place) {
  cpu::HostFeatures host = runnableLevels().back();
  if (!host.fma)
    GTEST_SKIP() << "this processor has no multiply-add, which every GPU has";
  host.oneThread = true;
  checkUlp<float>(GetParam(), host, 1, 60000);
  checkUlp<double>(GetParam(), host, 1, 30000);
}

// An instruction that makes or takes a subnormal number costs some hundred cycles on x86. Rows are
// padded with minus infinity, so exp of that must meet none, nor on the way to a subnormal result.
// The processor notes both in MXCSR: underflow (bit 4), denormal operand (bit 1).
template <typename T>
void expectNoSubnormals(MathFunction function, std::vector<T> x) {
  for (const cpu::HostFeatures &host : runnableLevels()) {
    const unsigned width = host.laneCount(8 * sizeof(T));
    auto code = compileLanes(host, width, {Traits<T>::element}, Traits<T>::element,
                             [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> x) {
                               return backends::emitMath(b, host, function, x);
                             });
    ASSERT_EQ(code->error(), "");
    for (T each : x) {
      std::vector<T> in(width, each), out(width);
      _mm_setcsr(_mm_getcsr() & ~0x3fu);
      (*code)(in.data(), out.data(), int64_t(width));
      EXPECT_EQ(_mm_getcsr() & 0x12u, 0u)
          << levelName(host) << ": " << double(each) << " gives " << double(out[0]);
    }
  }
}

TEST(VectorMathSubnormals, are_no_step_of_an_exponential) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<float> x32{-float(infinity), -1e30f, -150, -104, -103.5f, -100, -90, -88, 0.5f, 88};
  std::vector<double> x64{-infinity, -1e300, -2000, -746, -745, -720, -709, 0.5, 709};
  expectNoSubnormals(MathFunction::Exp, x32);
  expectNoSubnormals(MathFunction::Exp, x64);
  for (float &x : x32)
    x *= 1.4427f;
  for (double &x : x64)
    x *= 1.4427;
  expectNoSubnormals(MathFunction::Exp2, x32);
  expectNoSubnormals(MathFunction::Exp2, x64);
}

// Widths that are no native vector: split, padded and scalar code.
TEST_P(VectorMath, at_any_width) {
  for (const cpu::HostFeatures &host : {runnableLevels().front(), runnableLevels().back()})
    for (unsigned width : {1u, 3u, 64u}) {
      checkUlp<float>(GetParam(), host, width, 2000);
      checkUlp<double>(GetParam(), host, width, 2000);
    }
}

TEST(VectorMathPredicates, tell_nan_and_infinity) {
  const float x[] = {0,
                     -1,
                     std::numeric_limits<float>::infinity(),
                     -std::numeric_limits<float>::infinity(),
                     std::numeric_limits<float>::quiet_NaN(),
                     -std::numeric_limits<float>::quiet_NaN(),
                     std::numeric_limits<float>::max(),
                     std::numeric_limits<float>::denorm_min()};
  for (const cpu::HostFeatures &host : runnableLevels())
    for (MathFunction function : {MathFunction::IsNan, MathFunction::IsInf}) {
      auto code = compileLanes(host, 4, {Element::F32}, Element::I8,
                               [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> v) {
                                 return backends::emitMath(b, host, function, v);
                               });
      ASSERT_EQ(code->error(), "");
      int8_t out[8];
      (*code)(x, out, int64_t(8));
      for (int k = 0; k < 8; ++k)
        EXPECT_EQ(out[k] != 0,
                  function == MathFunction::IsNan ? std::isnan(x[k]) : std::isinf(x[k]));
    }
}

// One rounding, with and without the instruction.
template <typename T>
void checkFma(const cpu::HostFeatures &host, int exponents) {
  SCOPED_TRACE(levelName(host) + (sizeof(T) == 4 ? " f32" : " f64"));
  constexpr Element element = Traits<T>::element;
  auto code = compileLanes(host, host.laneCount(8 * sizeof(T)), {element, element, element},
                           element, [&](llvm::IRBuilderBase &b, llvm::ArrayRef<llvm::Value *> v) {
                             return backends::emitMath(b, host, MathFunction::Fma, v);
                           });
  ASSERT_EQ(code->error(), "");
  constexpr size_t count = 1 << 17;
  std::vector<T> x(count), y(count), z(count), out(count);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-2, 2);
  for (size_t k = 0; k < count; ++k) {
    auto draw = [&] {
      return T(std::ldexp(unit(random), int(random() % unsigned(2 * exponents)) - exponents));
    };
    x[k] = draw(), y[k] = draw(), z[k] = k % 3 ? draw() : -x[k] * y[k];
  }
  x[0] = std::numeric_limits<T>::infinity(), x[1] = std::numeric_limits<T>::quiet_NaN();
  z[2] = -std::numeric_limits<T>::infinity();
  (*code)(x.data(), y.data(), z.data(), out.data(), int64_t(count));
  for (size_t k = 0; k < count; ++k) {
    T expected = std::fma(x[k], y[k], z[k]);
    ASSERT_TRUE(out[k] == expected || (std::isnan(out[k]) && std::isnan(expected)))
        << x[k] << " * " << y[k] << " + " << z[k] << " = " << out[k] << ", not " << expected;
  }
}

TEST(VectorMathFma, rounds_once) {
  for (const cpu::HostFeatures &host : runnableLevels()) {
    checkFma<float>(host, 70);
    checkFma<double>(host, 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, VectorMath, ::testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
