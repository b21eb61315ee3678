//===-- NumbersTest.cpp - which type a number has in a kernel -----------------------------===//
// Handles declared with a type keep it, plain numbers take that of what they stand beside, and what
// does not fit is refused. The results are those of the same expressions in C++.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sectile/sectile.h>

using namespace sectile;
using testing::HasSubstr;

namespace {

/// The i64 that a kernel stores; its arguments come after the pointer.
template <class F, class... Arguments>
int64_t integerOf(F function, Arguments... arguments) {
  std::vector<int64_t> out(1, -77);
  kernel("integer", function).launch({1}, out, arguments...);
  return out[0];
}
template <class F, class... Arguments>
double numberOf(F function, Arguments... arguments) {
  std::vector<double> out(1, -77);
  kernel("number", function).launch({1}, out, arguments...);
  return out[0];
}
/// The first line of the error of a kernel.
template <class F, class... Arguments>
std::string errorOf(F function, Arguments... arguments) {
  try {
    integerOf(function, arguments...);
    return "no error";
  } catch (const Error &error) {
    std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

TEST(CppNumbers, DeclaredHandlesKeepTheirType) {
  EXPECT_EQ(integerOf(
                [](Ptr<i64> out, i32 row) {
                  i64 stride = 4096;
                  store(out, row * stride);
                },
                1'000'000),
            4'096'000'000);
  EXPECT_EQ(integerOf(
                [](Ptr<i64> out, i32 row) {
                  i64 stride;
                  stride = 4096;
                  store(out, row * stride);
                },
                1'000'000),
            4'096'000'000);
  EXPECT_EQ(integerOf([](Ptr<i64> out) {
              u32 m = 0;
              store(out, to<i64>(m - 1 > 0));
            }),
            1);
  EXPECT_EQ(integerOf([](Ptr<i64> out) {
              u32 m = 0;
              store(out, to<i64>(m - 1));
            }),
            4'294'967'295);
  EXPECT_EQ(integerOf(
                [](Ptr<i64> out, u8 n) {
                  u8 x = 255;
                  store(out, to<i64>(x + n));
                },
                1),
            0);
  EXPECT_EQ(numberOf(
                [](Ptr<f64> out, f32 a) {
                  f64 x = 1e-9;
                  store(out, a + x);
                },
                1.0f),
            1.0 + 1e-9);
  EXPECT_EQ(numberOf([](Ptr<f64> out) {
              f32 n = 7;
              store(out, to<f64>(n / 2));
            }),
            3.5);
}

TEST(CppNumbers, CarriedValuesKeepTheirDeclaredType) {
  EXPECT_EQ(integerOf(
                [](Ptr<i64> out, i32 n) {
                  store(out,
                        loop(range(n), i64(0), [](auto, auto t) { return t + 2'000'000'000; }));
                },
                3),
            6'000'000'000);
  double expected = 0;
  for (int i = 0; i < 1000; ++i)
    expected += 0.1;
  EXPECT_EQ(numberOf(
                [](Ptr<f64> out, i32 n) {
                  store(out, loop(range(n), f64(0), [](auto, auto t) { return t + 0.1; }));
                },
                1000),
            expected);
}

TEST(CppNumbers, ConstantsComputeLikeValuesOfTheirType) {
  // The same expression of constants and of values of run time.
  auto compare = [](auto expression, auto left, auto right) {
    using L = decltype(left);
    using R = decltype(right);
    auto known = [=](Ptr<i64> out) {
      Handle<detail::ScalarType<detail::elementKind<L>>> a = left;
      Handle<detail::ScalarType<detail::elementKind<R>>> b = right;
      store(out, to<i64>(expression(a, b)));
    };
    auto unknown = [=](Ptr<i64> out, NoSpecialize<L> a, NoSpecialize<R> b) {
      store(out, to<i64>(expression(a, b)));
    };
    EXPECT_EQ(integerOf(known), integerOf(unknown, left, right))
        << +left << " and " << +right << " of " << sizeof(L) << " and " << sizeof(R) << " bytes";
  };
  auto all = [&](auto expression) {
    compare(expression, int32_t(2'000'000'000), int32_t(2'000'000'000));
    compare(expression, uint32_t(1), uint32_t(7));
    compare(expression, int8_t(100), int8_t(100));
    compare(expression, uint8_t(200), uint8_t(100));
    compare(expression, int8_t(-100), int64_t(3));
    compare(expression, int32_t(-1), uint32_t(2));
  };
  all([](auto a, auto b) { return a + b; });
  all([](auto a, auto b) { return a * b - b; });
  all([](auto a, auto b) { return (a ^ b) & ~b; });
  all([](auto a, auto b) { return to<i64>(a < b) * 2 + to<i64>(a - b > a); });
  all([](auto a, auto b) { return -a + b * 3; });
}

TEST(CppNumbers, ParametersSpecialisedToOneAreNoOtherType) {
  auto sum = [](Ptr<i64> out, i8 a, i32 n) { store(out, to<i64>(a + n)); };
  EXPECT_EQ(integerOf(sum, 127, 2), 129);
  EXPECT_EQ(integerOf(sum, 127, 1), 128);
  auto known = [](Ptr<i64> out, i32 n) {
    EXPECT_TRUE(n.isConstant());
    EXPECT_EQ(n.dtype(), dtypeOf<i32>);
    EXPECT_TRUE((n * 2 + 1).isConstant());
    store(out, to<i64>(if_(n == 1, [&] { return n + 2; }, [&] { return n; })));
  };
  EXPECT_EQ(integerOf(known, 1), 3);
}

TEST(CppNumbers, WideNumbersComputeInSixtyFourBits) {
  auto product = [](Ptr<i64> out, i32 row, Const<int64_t> stride) { store(out, row * stride); };
  EXPECT_EQ(integerOf(product, 1'000'000, 4096), 4'096'000'000);
  int64_t captured = 4096;
  EXPECT_EQ(integerOf([=](Ptr<i64> out, i32 row) { store(out, row * captured); }, 1'000'000),
            4'096'000'000);
  size_t size = 4096;
  EXPECT_EQ(
      integerOf([=](Ptr<i64> out, u32 row) { store(out, row * size / size_t(2)); }, 4'000'000'000u),
      4'000'000'000ll * 2048);
  EXPECT_EQ(
      integerOf([](Ptr<i64> out, i32 row) { store(out, to<i64>(row - size_t(3) < size_t(1))); }, 2),
      1);
  // Narrower ones take the type of the other side, floating-point ones, too.
  EXPECT_EQ(integerOf([](Ptr<i64> out, u8 n) { store(out, to<i64>(n + 1)); }, 255), 0);
  int64_t shift = 31;
  EXPECT_EQ(integerOf([=](Ptr<i64> out, u32 n) { store(out, to<i64>((n << shift) >> shift)); }, 3),
            1);
  EXPECT_EQ(numberOf([](Ptr<f64> out, f32 x) { store(out, to<f64>(x * 0.1)); }, 1.0f),
            double(0.1f));
  EXPECT_EQ(numberOf([=](Ptr<f64> out, f32 x) { store(out, to<f64>(x * captured)); }, 0.5f),
            2048.0);
}

TEST(CppNumbers, DtypeIsTheDeclaredOne) {
  integerOf([](Ptr<i64> out) {
    i64 h = 1;
    EXPECT_EQ(h.dtype(), dtypeOf<i64>);
    EXPECT_EQ((h + 1).dtype(), dtypeOf<i64>);
    u8 small = 3;
    EXPECT_EQ((small + h).dtype(), dtypeOf<i64>);
    EXPECT_EQ((small < h).dtype(), dtypeOf<i1>);
    f16 half = 2;
    EXPECT_EQ((half * 3).dtype(), dtypeOf<f16>);
    EXPECT_EQ(*h.constant()->as<lang::Int>(), 1);
    store(out, h);
  });
}

TEST(CppNumbers, WhatDoesNotFitADeclaredHandleIsRefused) {
  EXPECT_EQ(errorOf([](Ptr<i64> out) {
              i8 h = 300;
              store(out, to<i64>(h));
            }),
            "variable: 300 is out of range for i8");
  EXPECT_EQ(errorOf([](Ptr<i64> out) {
              u8 h = -1;
              store(out, to<i64>(h));
            }),
            "variable: -1 is out of range for u8");
  EXPECT_EQ(errorOf([](Ptr<i64> out) {
              i32 h;
              h = 3.7f;
              store(out, to<i64>(h));
            }),
            "assignment: 3.700000047683716 is not an integer, as i32 wants");
  EXPECT_EQ(errorOf([](Ptr<i64> out) {
              i32 h = 3;
              h += 0.5;
              store(out, to<i64>(h));
            }),
            "assignment: the variable is i32, the value is f32");
  EXPECT_EQ(errorOf(
                [](Ptr<i64> out, i32 n) {
                  i64 h = n;
                  store(out, h);
                },
                1),
            "variable: declared as i64, but the value is i32");
  // `i32 h = 2.7` does not compile: refused/FractionForInteger.cpp.
  static i8 outside = 300;
  EXPECT_EQ(errorOf([](Ptr<i64> out) { store(out, to<i64>(outside)); }),
            "variable: 300 is out of range for i8");
}

TEST(CppNumbers, ConstantsThatABodyReturnsFit) {
  EXPECT_EQ(errorOf(
                [](Ptr<i64> out, i32 n) {
                  store(out, to<i64>(loop(range(n), i8(0), [](auto, auto) { return 300; })));
                },
                3),
            "loop: 300 is out of range for i8");
  auto then = [](Ptr<i64> out, i32 n) {
    store(out, to<i64>(if_(n > 50, [&] { return to<i8>(n); }, [&] { return 300; })));
  };
  EXPECT_EQ(errorOf(then, 3), "if_: 300 is out of range for i8");
  auto orelse = [](Ptr<i64> out, i32 n) {
    store(out, to<i64>(if_(n > 50, [&] { return -1; }, [&] { return to<u8>(n); })));
  };
  EXPECT_EQ(errorOf(orelse, 3), "if_: -1 is out of range for u8");
  auto combine = [](Ptr<i64> out) {
    store(out, to<i64>(reduce(full<i8>({4}, 3), 0, [](Value, Value) { return 300; })));
  };
  EXPECT_EQ(errorOf(combine), "reduce: 300 is out of range for i8");
}

TEST(CppNumbers, BranchesTakeTheTypeOfTheirValues) {
  auto valueFirst = [](Ptr<i64> out, i64 n) {
    store(out, if_(n > 50, [&] { return n; }, [&] { return 7; }));
  };
  auto constantFirst = [](Ptr<i64> out, i64 n) {
    store(out, if_(n > 50, [&] { return 7; }, [&] { return n; }));
  };
  EXPECT_EQ(integerOf(valueFirst, 51), 51);
  EXPECT_EQ(integerOf(valueFirst, 3), 7);
  EXPECT_EQ(integerOf(constantFirst, 51), 7);
  EXPECT_EQ(integerOf(constantFirst, 3), 3);
  auto mixed = [](Ptr<i64> out, i64 n) {
    auto [a, b] =
        if_(n > 50, [&] { return std::tuple{1, to<u8>(n)}; }, [&] { return std::tuple{n, 2}; });
    store(out, a * 1000 + to<i64>(b));
  };
  EXPECT_EQ(integerOf(mixed, 60), 1060);
  EXPECT_EQ(integerOf(mixed, 5), 5002);
}

template <class F, class Argument>
std::string constError(F function, Argument argument) {
  std::vector<int64_t> out(1);
  try {
    kernel("constant", {"out", "C"}, function).launch({1}, out, argument);
    return "no error";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(CppNumbers, ConstParametersDoNotNarrow) {
  auto taking = [](auto number) {
    return [](Ptr<i64> out, Const<decltype(number)>) { store(out, 1); };
  };
  const char *refused = "constant: argument 'C' got a number beyond its type";
  EXPECT_THAT(constError(taking(int()), size_t(4294967301)), HasSubstr(refused));
  EXPECT_THAT(constError(taking(int()), Const{1ll << 33}), HasSubstr(refused));
  EXPECT_THAT(constError(taking(int8_t()), 300), HasSubstr(refused));
  EXPECT_THAT(constError(taking(unsigned()), -1), HasSubstr(refused));
  EXPECT_THAT(constError(taking(int64_t()), std::numeric_limits<uint64_t>::max()),
              HasSubstr(refused));
  EXPECT_THAT(constError(taking(float()), 1e300), HasSubstr(refused));
  EXPECT_EQ(constError(taking(int8_t()), 100ull), "no error");
  EXPECT_EQ(constError(taking(uint64_t()), std::numeric_limits<uint64_t>::max()), "no error");
  EXPECT_EQ(constError(taking(float()), std::numeric_limits<double>::infinity()), "no error");
  EXPECT_EQ(constError(taking(float()), 0.1), "no error");
}

TEST(CppNumbers, GridsDoNotNarrow) {
  std::vector<int64_t> out(1);
  auto one = kernel("one", [](Ptr<i64> out) { store(out, 1); });
  EXPECT_THROW(one.launch({std::numeric_limits<uint64_t>::max()}, out), Error);
  static_assert(std::is_constructible_v<Grid, Const<int>>);
  one.launch({Const{1}}, out);
}

TEST(CppNumbers, NullPointersAreNone) {
  auto optional = kernel("optional", {"x", "bias"}, [](Ptr<f32> x, Ptr<const f32> bias) {
    auto y = load(x);
    if (!bias.isNone())
      y = y + load(bias);
    store(x, y);
  });
  std::vector<float> x{1}, bias{10};
  const float *none = nullptr, *some = bias.data();
  for (const float *each : {none, some, none})
    optional.launch({1}, x, each);
  EXPECT_EQ(x[0], 11);
  optional.launch({1}, x, nullptr);
  EXPECT_EQ(x[0], 11);
  EXPECT_EQ(optional.variants().size(), 2u);
  optional.launch({0}, x, std::vector<float>());
  EXPECT_EQ(optional.variants().size(), 2u) << "an empty array is an array";

  auto careless = kernel("careless", {"x"}, [](Ptr<f32> x) { store(x + arange(0, 4), 1); });
  float *null = nullptr;
  try {
    careless.with({.check_bounds = true}).launch({1}, null);
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("operator +: the pointer is null"));
    EXPECT_THAT(error.what(), HasSubstr("pointer.isNone()"));
  }
}

enum Unscoped { kSeven = 7 };

TEST(CppNumbers, EverythingThatIsANumberIsOne) {
  EXPECT_EQ(integerOf([](Ptr<i64> out, i32 n) { store(out, to<i64>(n + kSeven)); }, 3), 10);
  EXPECT_EQ(integerOf([](Ptr<i64> out, Const<int> C) { store(out, to<i64>(C)); }, kSeven), 7);
  EXPECT_EQ(integerOf(
                [](Ptr<i64> out, i32 n) {
                  Value x = 0;
                  x = n;
                  auto before = x++;
                  ++x;
                  --x;
                  store(out, to<i64>(before * 100 + +x));
                },
                3),
            304);
  EXPECT_EQ(numberOf([](Ptr<f64> out,
                        Const<int> BLOCK) noexcept { store(out, to<f64>(log2(to<f32>(BLOCK)))); },
                     1024),
            10);
  EXPECT_EQ(
      numberOf([](Ptr<f64> out, Const<double> C) { store(out, to<f64>(log2(C) + sqrt(C))); }, 16.0),
      8);
  EXPECT_EQ(integerOf([](Ptr<i64> out) { store(out, load(out, nullptr) + 1, nullptr); }), -76);
}

} // namespace
