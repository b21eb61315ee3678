//===-- LaunchTest.cpp - kernels written in C++, run on this machine ----------------------===//
// A program of its own, as a user's is: the public headers, libsectile.so, no Python.
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <sectile/sectile.h>
#include <thread>
#include <unistd.h>

using namespace sectile;
using testing::HasSubstr;

namespace {

std::vector<float> randomNumbers(size_t count) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

const auto add =
    kernel("add", {"x", "y", "out", "count", "BLOCK"},
           [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, i32 count, Const<int> BLOCK) {
             auto index = program_id(0) * BLOCK + arange(0, BLOCK);
             auto inside = index < count;
             store(out + index, load(x + index, inside) + load(y + index, inside), inside);
           });

TEST(CppLaunch, VectorAdd) {
  for (int count : {1, 7, 1000, 4096, 10'001}) {
    auto x = randomNumbers(count), y = randomNumbers(count);
    std::vector<float> out(count + 1, -1.0f);
    add.launch({cdiv(count, 256)}, x, y.data(), std::span(out), count, Const{256});
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(out[i], x[i] + y[i]) << "element " << i << " of " << count;
    EXPECT_EQ(out[count], -1.0f) << "written beyond the end";
  }
}

TEST(CppLaunch, LoopsEndEarly) {
  auto sums = kernel(
      "sums", {"x", "out", "n", "limit"}, [](Ptr<const i32> x, Ptr<i32> out, i32 n, i32 limit) {
        auto row = program_id(0);
        // Counts the positive numbers of a row until their sum exceeds the limit.
        auto [sum, count] = loop(range(n), std::tuple{0, 0}, [&](i32 i, auto sum, auto count) {
          auto next = load(x + row * n + i);
          continue_if(next < 0, sum, count);
          sum += next;
          break_if(sum > limit, sum, count);
          return std::tuple{sum, count + 1};
        });
        auto [halved, turns] = while_(
            std::tuple{sum, 0}, [](auto value, auto) { return value > 1; },
            [&](auto value, auto turns) {
              break_if(value % 2 == 1, value, turns);
              return std::tuple{value / 2, turns + 1};
            });
        auto result = out + row * 4;
        store(result, sum);
        store(result + 1, count);
        store(result + 2, halved);
        store(result + 3, turns);
      });
  const std::vector<int> x = {3, -1, 5, 40, 7, /**/ 1, 1, 1, 1, -9, /**/ -1, -2, -3, -4, -5};
  std::vector<int> out(12);
  sums.launch({3}, x, out, 5, 20);
  EXPECT_THAT(out, testing::ElementsAre(48, 2, 3, 4, /**/ 4, 4, 1, 2, /**/ 0, 0, 0, 0));
}

const auto blockMatmul = kernel(
    "block_matmul", {"a", "b", "c", "m", "n", "k", "BLOCK"},
    [](Ptr<const f32> a, Ptr<const f32> b, Ptr<f32> c, i32 m, i32 n, i32 k, Const<int> BLOCK) {
      auto i = program_id(0) * BLOCK, j = program_id(1) * BLOCK;
      auto left = make_tensor_descriptor(a, {m, k}, {k, 1}, {BLOCK, BLOCK});
      auto right = make_block_ptr(b, {k, n}, {n, 1}, {0, j}, {BLOCK, BLOCK}, {1, 0});
      Value sum = loop(range(0, k, BLOCK), zeros<f32>({BLOCK, BLOCK}), [&](i32 p, Value sum) {
        auto rows = load(right.at({p, j}), {.boundary_check = {0, 1}});
        return dot(left.load({i, p}), rows, sum);
      });
      auto target =
          advance(make_block_ptr(c, {m, n}, {n, 1}, {0, j}, {BLOCK, BLOCK}, {1, 0}), {i, 0});
      store(target, sum, {.boundary_check = {0, 1}});
    });

TEST(CppLaunch, BlocksOfArrays) {
  const int m = 37, n = 52, k = 45;
  auto a = randomNumbers(m * k), b = randomNumbers(k * n);
  std::vector<float> c(m * n + 1, -1.0f);
  blockMatmul.launch({cdiv(m, 16), cdiv(n, 16)}, a, b, c, m, n, k, Const{16});
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += double(a[i * k + p]) * b[p * n + j];
      ASSERT_NEAR(c[i * n + j], sum, 1e-4) << i << ", " << j;
    }
  EXPECT_EQ(c[m * n], -1.0f) << "written beyond the end";
}

TEST(CppLaunch, RowsAndAtomicsOfDescriptors) {
  auto rows = kernel("rows", {"x", "out", "sums", "m", "n"},
                     [](Ptr<const f32> x, Ptr<f32> out, Ptr<f32> sums, i32 m, i32 n) {
                       auto source = make_tensor_descriptor(x, {m, n}, {n, 1}, {1, 16});
                       auto target = make_tensor_descriptor(out, {m, n}, {n, 1}, {1, 16}, "nan");
                       auto total = make_tensor_descriptor(sums, {n}, {1}, {16});
                       auto numbers =
                           7 - arange(0, 8) * 2; // 7, 5, 3, 1, and rows that there are not
                       auto tile = source.gather(numbers, 4);
                       target.scatter(tile, numbers, 4);
                       total.atomic_add({4}, sum(tile, 0));
                     });
  const int m = 9, n = 18;
  auto x = randomNumbers(m * n);
  std::vector<float> out(m * n), sums(n);
  rows.launch({1}, x, out, sums, m, n);
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < m; ++i) {
      bool isTaken = i % 2 == 1 && i <= 7 && j >= 4;
      EXPECT_EQ(out[i * n + j], isTaken ? x[i * n + j] : 0) << i << ", " << j;
      sum += isTaken ? x[i * n + j] : 0;
    }
    EXPECT_NEAR(sums[j], sum, 1e-5) << j;
  }
}

TEST(CppLaunch, ScaledProduct) {
  auto product = kernel("product", {"x", "scale", "y", "out"},
                        [](Ptr<const u8> x, Ptr<const u8> scale, Ptr<const bf16> y, Ptr<f32> out) {
                          auto row = arange(0, 16)[{all, none}],
                               column = arange(0, 16)[{none, all}];
                          auto packed = load(x + row * 16 + column); // 16 x 32 of e2m1
                          auto factors = load(scale + arange(0, 16)[{all, none}]); // 16 x 1
                          auto right = load(y + arange(0, 32)[{all, none}] * 16 + column);
                          auto sum = dot_scaled({packed, factors, "e2m1"}, {right, none, "bf16"});
                          store(out + row * 16 + column, sum);
                        });
  const float numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  std::mt19937 generator(3);
  std::vector<uint8_t> x(16 * 16), scale(16);
  std::vector<uint16_t> y(32 * 16);
  for (uint8_t &byte : x)
    byte = uint8_t(generator());
  for (uint8_t &exponent : scale)
    exponent = uint8_t(125 + generator() % 5);
  std::vector<float> wide(32 * 16), out(16 * 16);
  for (size_t i = 0; i < y.size(); ++i) {
    wide[i] = float(int(generator() % 17) - 8);
    y[i] = uint16_t(std::bit_cast<uint32_t>(wide[i]) >> 16);
  }
  product.launch({1}, x, scale, y, out);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      double sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += numbers[(x[i * 16 + k / 2] >> (k % 2 * 4)) & 15] * wide[k * 16 + j];
      EXPECT_EQ(out[i * 16 + j], std::ldexp(sum, scale[i] - 127)) << i << ", " << j;
    }
}

TEST(CppLaunch, BlocksThatAreRefused) {
  auto refused = [](auto body) -> std::string {
    try {
      std::vector<float> x(16);
      kernel("refused", {"x", "n"}, body).launch({1}, x, 16);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused([](Ptr<f32> x, i32 n) {
                auto d = make_tensor_descriptor(x, {n, n}, {1, n}, {4, 4});
                d.store({0, 0}, 1.0f);
              }),
              HasSubstr("the last stride should be 1, known at compile time, not i64"));
  EXPECT_THAT(refused([](Ptr<f32> x, i32 n) {
                auto p = make_block_ptr(x, {n}, {1}, {0}, {16}, {0});
                store(p, load(p, {.boundary_check = {1}}));
              }),
              HasSubstr("`boundary_check` names dimension 1, but the block pointer has 1"));
  static std::optional<BlockPointer> kept;
  EXPECT_EQ(
      refused([](Ptr<f32> x, i32 n) { kept.emplace(make_block_ptr(x, {n}, {1}, {0}, {16}, {0})); }),
      "");
  EXPECT_THAT(refused([](Ptr<f32> x, i32) { store(x, load(*kept)); }),
              HasSubstr("belongs to another kernel"));
  EXPECT_FALSE(std::is_copy_assignable_v<BlockPointer>) << "an update in a loop would be lost";
}

TEST(CppLaunch, BoundKernelsKeepTheirArguments) {
  const int count = 1000;
  auto x = randomNumbers(count), y = randomNumbers(count);
  std::vector<float> out(count), elsewhere(count);
  auto run = add.bind({cdiv(count, 256)}, x, y, out, count, Const{256});
  EXPECT_EQ(out[0], 0) << "binding runs nothing";
  run();
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(out[i], x[i] + y[i]) << i;
  auto copy = run;
  run.set<1>(x);
  run.set<2>(elsewhere);
  run();
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(elsewhere[i], x[i] + x[i]) << i;
  run.set<3>(16); // divisible by 16: another variant
  run.setGrid({1});
  std::fill(elsewhere.begin(), elsewhere.end(), -1.0f);
  run();
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(elsewhere[i], i < 16 ? x[i] + x[i] : -1.0f) << i;
  std::fill(out.begin(), out.end(), -1.0f);
  copy();
  EXPECT_EQ(out[count - 1], x[count - 1] + y[count - 1]) << "copies do not see changes";
}

TEST(CppLaunch, WhatCannotBeBoundChangesNothing) {
  auto x = randomNumbers(10);
  std::vector<float> out(10);
  auto run = add.bind({1}, x, x, out, 10, Const{16});
  EXPECT_THROW(run.set<4>(Const{-16}), Error);
  run();
  EXPECT_EQ(out[9], 2 * x[9]);
  run.setGrid({-1});
  EXPECT_THROW(run(), Error);
}

const auto shift = kernel("shift", [](Ptr<const f32> x, Ptr<f32> out, i32 count, Const<int> BLOCK) {
  auto index = arange(0, BLOCK);
  store(out + index, load(x + index, index < count) + 1.0f, index < count);
});
const auto reverse =
    kernel("reverse", [](Ptr<const f32> x, Ptr<f32> out, i32 count, Const<int> BLOCK) {
      auto index = arange(0, BLOCK);
      store(out + (count - 1 - index), load(x + index, index < count), index < count);
    });

TEST(CppLaunch, ArraysThatShareMemory) {
  const int count = 150;
  auto numbers = randomNumbers(count);
  for (int distance : {1, 16, 40}) {
    auto array = numbers, expected = numbers;
    for (int i = distance; i < count; ++i)
      expected[i] = numbers[i - distance] + 1.0f;
    std::span<float> all(array);
    shift.launch({1}, all.first(count - distance), all.subspan(distance), count - distance,
                 Const{256});
    EXPECT_EQ(array, expected) << distance;
  }
  auto array = numbers; // of pointers the length is unknown, but that they are equal is not
  reverse.launch({1}, array.data(), array.data(), count, Const{256});
  EXPECT_EQ(array, std::vector<float>(numbers.rbegin(), numbers.rend()));
}

TEST(CppLaunch, Softmax) {
  auto softmaxRows = kernel("softmax_rows", [](Ptr<f32> out, Ptr<const f32> in, i32 stride,
                                               i32 columns, Const<int> BLOCK) {
    auto row = program_id(0);
    auto column = arange(0, BLOCK);
    auto x = load(in + row * stride + column, column < columns, -inf);
    auto e = exp(x - max(x, 0));
    store(out + row * stride + column, e / sum(e, 0), column < columns);
  });
  const int rows = 33, columns = 781;
  auto in = randomNumbers(rows * columns);
  std::vector<float> out(in.size());
  softmaxRows.launch({rows}, out, in, columns, columns, Const{1024});
  for (int row = 0; row < rows; ++row) {
    double total = 0;
    for (int c = 0; c < columns; ++c)
      total += std::exp(double(in[row * columns + c]));
    for (int c = 0; c < columns; ++c)
      ASSERT_NEAR(out[row * columns + c], std::exp(double(in[row * columns + c])) / total, 1e-7);
  }
}

TEST(CppLaunch, LoopsAndBranches) {
  // The number of steps of Collatz' sequence, and the greatest number on the way.
  auto collatz = kernel("collatz", [](Ptr<i32> steps, Ptr<i32> peak) {
    auto start = program_id(0) + 1;
    auto [n, count, greatest] = while_(
        std::tuple{start, 0, start}, [](auto n, auto, auto) { return n > 1; },
        [](auto n, auto count, auto greatest) {
          auto next = if_(n % 2 == 0, [&] { return n / 2; }, [&] { return 3 * n + 1; });
          return std::tuple{next, count + 1, maximum(greatest, next)};
        });
    store(steps + program_id(0), count);
    store(peak + program_id(0), greatest);
  });
  std::vector<int32_t> steps(100), peak(100);
  collatz.launch({100}, steps, peak);
  for (int start = 1; start <= 100; ++start) {
    int n = start, count = 0, greatest = start;
    for (; n > 1; ++count) {
      n = n % 2 == 0 ? n / 2 : 3 * n + 1;
      greatest = std::max(greatest, n);
    }
    EXPECT_EQ(steps[start - 1], count);
    EXPECT_EQ(peak[start - 1], greatest);
  }
}

TEST(CppLaunch, IntegersTruncate) {
  auto divide = kernel("divide", [](Ptr<i32> out, i32 x, i32 y) {
    store(out, x / y);
    store(out + 1, x % y);
  });
  for (auto [x, y] : {std::pair{-7, 2}, std::pair{7, -2}, std::pair{-7, 1}, std::pair{1, -3}}) {
    int32_t out[2] = {};
    divide.launch({1}, out, x, y);
    EXPECT_EQ(out[0], x / y);
    EXPECT_EQ(out[1], x % y);
  }
}

TEST(CppLaunch, CapturesAreReadWhenRecorded) {
  for (int factor : {2, 3}) {
    auto scale = kernel("scale", [factor](Ptr<f32> x) { store(x, load(x) * factor); });
    float x[] = {5};
    scale.launch({1}, x);
    EXPECT_EQ(x[0], 5.0f * factor);
  }
}

TEST(CppLaunch, NullPointersAreNone) {
  auto copy = kernel("copy", [](Ptr<f32> out, Ptr<const f32> bias) {
    store(out, bias.isNone() ? Value(f32(1.0f)) : load(bias));
  });
  float out[] = {0}, bias[] = {4};
  copy.launch({1}, out, nullptr);
  EXPECT_EQ(out[0], 1.0f);
  copy.launch({1}, out, bias);
  EXPECT_EQ(out[0], 4.0f);
}

TEST(CppLaunch, RecordedOncePerVariant) {
  int recorded = 0;
  auto counted = kernel("counted", [&recorded](Ptr<f32> out, i32 n, NoSpecialize<i32> m) {
    ++recorded;
    store(out, to<f32>(n + m));
  });
  alignas(16) float out[4] = {};
  for (auto [n, m] : {std::pair{5, 5}, std::pair{7, 16}, std::pair{9, 1}})
    counted.launch({1}, out, n, m);
  EXPECT_EQ(recorded, 1);
  counted.launch({1}, out, 16, 1); // divisible by 16
  EXPECT_EQ(recorded, 2);
  counted.launch({1}, out, 1, 1); // a constant
  EXPECT_EQ(recorded, 3);
  EXPECT_EQ(out[0], 2.0f);
}

TEST(CppLaunch, CompileShowsTheIr) {
  std::vector<float> x(256);
  CompiledKernel compiled = add.compile(x, x, x, 256, Const{256});
  EXPECT_EQ(compiled.name(), "add");
  EXPECT_THAT(compiled.stage("tile"), HasSubstr("tile.program_id 0"));
  EXPECT_THAT(compiled.stage("tile"), HasSubstr("tile.name = \"count\""));
}

TEST(CppLaunch, KernelErrorsAreThrown) {
  int line = 0;
  auto wrong = kernel("wrong", [&line](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out + arange(0, 8), arange(0, 4));
  });
  float out[8];
  try {
    wrong.launch({1}, out);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Kernel);
    EXPECT_THAT(error.what(), HasSubstr("LaunchTest.cpp:" + std::to_string(line) + ":"));
    EXPECT_THAT(error.what(), HasSubstr("in wrong"));
  }
}

TEST(CppLaunch, ExceptionsOfTheKernelPassThrough) {
  auto throwing = kernel("throwing", [line = 1](Ptr<f32> out) {
    loop(range(load(bitcast<i32>(program_id(0)) * 0 + out) > 0),
         [&](Value) { throw std::out_of_range("of my own"); });
    (void)line;
  });
  auto plain = kernel("plain", [line = 1](Ptr<f32>) {
    (void)line;
    throw std::out_of_range("of my own");
  });
  float out[1];
  EXPECT_THROW(plain.launch({1}, out), std::out_of_range);
  EXPECT_ANY_THROW(throwing.launch({1}, out));
}

TEST(CppLaunch, ExceptionsReachEveryThreadThatAsked) {
  // Of a function without captures: the threads wait for the one that records it.
  static std::atomic<int> recorded;
  auto throwing = kernel("throwing_in_threads", [](Ptr<f32>) {
    ++recorded;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    throw std::out_of_range("of my own");
  });
  std::atomic<int> caught{0}, others{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      float out[1];
      try {
        throwing.launch({1}, out);
      } catch (const std::out_of_range &) {
        ++caught;
      } catch (...) {
        ++others;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(caught, 3);
  EXPECT_EQ(others, 0);
  EXPECT_EQ(recorded, 3);
}

TEST(CppLaunch, BoundsAreChecked) {
  std::vector<float> x(100), out(100, -1.0f);
  auto checked = add.with({.check_bounds = true});
  EXPECT_NO_THROW(checked.launch({1}, x, x, out, 100, Const{128}));
  EXPECT_EQ(out[99], 0.0f);
  try {
    checked.launch({1}, x, x, out, 101, Const{128}); // one element too many
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Trap);
    EXPECT_THAT(error.what(), HasSubstr("add"));
    EXPECT_THAT(error.what(), HasSubstr("LaunchTest.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr("load(x + index, inside)"));
  }
}

TEST(CppLaunch, AssertionsStopTheLaunch) {
  auto positive =
      kernel("positive", [](Ptr<const f32> x) { device_assert(load(x) > 0.0f, "x is positive"); });
  float x[] = {-1};
  EXPECT_NO_THROW(positive.launch({1}, x));
  try {
    positive.with({.debug = true}).launch({1}, x);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Trap);
    EXPECT_THAT(error.what(), HasSubstr("x is positive"));
    EXPECT_THAT(error.what(), HasSubstr("device_assert(load(x) > 0.0f"));
  }
}

TEST(CppLaunch, EveryOptionOfALaunchCanBeSet) {
  // The order of the first fields is older than the rest: programs name them so.
  Options old{.num_warps = 8,
              .num_stages = 2,
              .check_bounds = true,
              .debug = true,
              .enable_fp_fusion = false};
  Options all{.num_warps = 8,
              .num_stages = 2,
              .num_ctas = 1,
              .maxnreg = 64,
              .check_bounds = true,
              .debug = true,
              .sanitize_overflow = false,
              .enable_fp_fusion = false,
              .launch_cooperative_grid = false,
              .launch_pdl = false,
              .numerics = Numerics::Strict,
              .default_dot_input_precision = DotPrecision::Ieee};
  auto fill = kernel("fill_with_options", [](Ptr<f32> out) { store(out, 1.0f); });
  float out[1];
  fill.launch({1}, out);
  fill.with(old).launch({1}, out);
  fill.with(all).launch({1}, out);
  auto variants = fill.variants();
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].options, "");
  EXPECT_EQ(variants[1].options,
            "num_warps=8, num_stages=2, check=bounds, debug=1, enable_fp_fusion=0");
  // Products are exact on the CPU, whatever is asked for.
  EXPECT_EQ(variants[2].options, "num_warps=8, num_stages=2, maxnreg=64, check=bounds, debug=1, "
                                 "sanitize_overflow=0, enable_fp_fusion=0, numerics=strict");
  EXPECT_EQ(variants[2].compiled.properties().at("maxnreg"), 64);
  EXPECT_EQ(variants[2].compiled.properties().at("check_bounds"), 1);
  try {
    (void)fill.with({.num_warps = 3});
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Call);
    EXPECT_STREQ(error.what(),
                 "fill_with_options: num_warps is 3, not a power of two from 1 to 64");
  }
}

TEST(CppLaunch, DebugChecksOverflowAsInPython) {
  auto twice = kernel("twice", [](Ptr<i32> x) { store(x, load(x) + load(x)); });
  int32_t x[] = {0x7fffffff};
  EXPECT_NO_THROW(twice.launch({1}, x));
  x[0] = 0x7fffffff;
  EXPECT_NO_THROW(twice.with({.debug = true, .sanitize_overflow = false}).launch({1}, x));
  x[0] = 0x7fffffff;
  try {
    twice.with({.debug = true}).launch({1}, x);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("int32 overflow detected for operation add"));
  }
}

TEST(CppLaunch, AKernelThatHasRunIsDumped) {
  namespace files = std::filesystem;
  auto fill = kernel("fill_and_dump", [](Ptr<f32> out) { store(out, 1.0f); });
  float out[1];
  fill.launch({1}, out);
  files::path folder = files::temp_directory_path() / ("dumps-" + std::to_string(::getpid()));
  auto count = [&] {
    return files::exists(folder) ? std::distance(files::directory_iterator(folder), {}) : 0;
  };
  jit::Runtime &runtime = jit::Runtime::instance();
  ::setenv("SECTILE_DUMP", ("tile:" + folder.string()).c_str(), 1);
  EXPECT_TRUE(runtime.reconfigure().empty());
  EXPECT_EQ(count(), 0);
  fill.launch({1}, out);
  EXPECT_EQ(count(), 1);
  ::unsetenv("SECTILE_DUMP");
  EXPECT_TRUE(runtime.reconfigure().empty());
  files::remove_all(folder);
  fill.launch({1}, out);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(fill.variants().size(), 1u);
}

TEST(CppLaunch, IntegersThatDoNotFit) {
  auto take = kernel("take", [](Ptr<i32> out, i32 n) { store(out, n); });
  int32_t out[1];
  try {
    take.launch({1}, out, int64_t(1) << 40);
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Call);
  }
}

template <class T>
struct HandleOf;
template <>
struct HandleOf<int> {
  using type = i32;
};
template <>
struct HandleOf<unsigned> {
  using type = u32;
};
template <>
struct HandleOf<uint64_t> {
  using type = u64;
};

/// Turns of a loop whose bounds and step are arguments of these types.
template <class Start, class End, class Step>
int turnsOf(Start start, End end, Step step) {
  auto count =
      kernel("count", [](Ptr<i32> out, typename HandleOf<Start>::type start,
                         typename HandleOf<End>::type end, typename HandleOf<Step>::type step) {
        auto turns = loop(range(start, end, step), zeros<i32>({1}),
                          [&](auto, Value turns) { return turns + 1; });
        store(out + arange(0, 1), turns);
      });
  std::vector<int32_t> out(1, -1);
  count.launch({1}, out, start, end, step);
  return out[0];
}

TEST(CppLaunch, LoopsMakeTheTurnsOfTheirNumbers) {
  EXPECT_EQ(turnsOf(0x7ffffffeu, 0x80000003u, 1), 5);
  EXPECT_EQ(turnsOf(3u, 8u, 1), 5);
  EXPECT_EQ(turnsOf(5u, 3'000'000'000u, 500'000'000), 6);
  EXPECT_EQ(turnsOf(uint64_t(INT64_MAX) - 9, uint64_t(INT64_MAX) + 11, 1), 20);
  EXPECT_EQ(turnsOf(2147483640, 2147483647, 5), 2);
  EXPECT_EQ(turnsOf(INT32_MIN, INT32_MAX, 1 << 30), 4);
  EXPECT_EQ(turnsOf(10, 0, -3), 4);
  EXPECT_EQ(turnsOf(10u, 0u, -3), 4);
  EXPECT_EQ(turnsOf(-3, 4u, 2), 4);
  EXPECT_EQ(turnsOf(0, 10, 0), 0);
}

} // namespace
