//===-- VariantsTest.cpp - variants of C++ kernels: compiled ahead, enumerated, sealed ----===//
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <mutex>
#include <sectile/c.h>
#include <sectile/sectile.h>
#include <thread>

using namespace sectile;
using testing::HasSubstr;

namespace {

/// Whether something is compiled must not depend on what the user's cache holds.
[[maybe_unused]] const int kCacheIsOff = ::setenv("SECTILE_CACHE_DIR", "", 1);

/// A kernel with no variants yet; `number` keeps those of different tests apart.
auto newKernel(int number) {
  return kernel("scale" + std::to_string(number), {"out", "x", "n", "factor", "BLOCK"},
                [number](Ptr<f32> out, Ptr<const f32> x, i32 n, f32 factor, Const<int> BLOCK) {
                  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
                  store(out + i, load(x + i, i < n) * factor + float(number), i < n);
                });
}

/// Whether it computes what it should.
template <class K>
bool works(const K &scale, int number, int n, int block) {
  std::vector<float> storage(size_t(2 * n) + 16);
  // At 16 bytes, whatever the allocator gives.
  auto *x = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) / 4 % 4;
  float *out = x + (n + 3) / 4 * 4;
  for (int i = 0; i < n; ++i)
    x[i] = float(i % 31) * 0.5f;
  scale.launch({cdiv(n, block)}, out, x, n, 3.0f, Const{block});
  for (int i = 0; i < n; ++i)
    if (out[i] != x[i] * 3.0f + float(number))
      return false;
  return true;
}

std::string error(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(CppVariants, EachSaysWhatMadeIt) {
  auto scale = newKernel(1);
  EXPECT_TRUE(scale.variants().empty());
  EXPECT_TRUE(works(scale, 1, 50, 64));
  EXPECT_TRUE(works(scale, 1, 60, 64)); // as before
  EXPECT_TRUE(works(scale, 1, 48, 64));
  EXPECT_TRUE(works(scale, 1, 1, 64));
  EXPECT_TRUE(works(scale.with({.num_warps = 8}), 1, 50, 32));
  std::vector<Variant> variants = scale.variants();
  ASSERT_EQ(variants.size(), 4u);
  EXPECT_EQ(variants[0].signature, "out: *fp32:16, x: *kfp32:16, n: i32, factor: fp32, "
                                   "BLOCK = 64");
  EXPECT_EQ(variants[0].reason, "the first variant");
  EXPECT_EQ(variants[1].reason, "n: i32:16 instead of i32");
  EXPECT_THAT(variants[2].reason, HasSubstr("n: 1 instead of i32"));
  EXPECT_EQ(variants[3].reason, "BLOCK: 32 instead of 64, num_warps: 8 instead of 4");
  EXPECT_EQ(variants[3].options, "num_warps=8");
  EXPECT_EQ(variants[0].options, "");
  for (const Variant &variant : variants) {
    EXPECT_EQ(variant.target, "cpu");
    EXPECT_EQ(variant.compiled.name(), "scale1");
  }
}

TEST(CppVariants, PrecompiledOnesAreThoseThatLaunchesWant) {
  auto scale = newKernel(2);
  std::mutex mutex;
  std::vector<std::string> events;
  setCompileListener([&](const CompileEvent &event) {
    std::lock_guard lock(mutex);
    events.push_back(event.variant);
  });
  auto made = scale.precompile(divisibleBy16, divisibleBy16, oneOf(anyValue, divisibleBy16, 1),
                               anyValue, oneOf(Const{32}, Const{64}));
  EXPECT_EQ(made.size(), 6u);
  EXPECT_EQ(scale.variants().size(), 6u);
  size_t compiles = events.size();
  for (int n : {50, 48, 1})
    for (int block : {32, 64})
      EXPECT_TRUE(works(scale, 2, n, block));
  EXPECT_EQ(events.size(), compiles) << "launches compile nothing more";
  EXPECT_EQ(scale.variants().size(), 6u);
  // And what was not asked for is another.
  EXPECT_TRUE(works(scale, 2, 50, 16));
  EXPECT_EQ(scale.variants().size(), 7u);
  setCompileListener(nullptr);
}

TEST(CppVariants, ForATargetThatIsNotHere) {
  auto scale = newKernel(3);
  auto made = scale.on(Target("cuda:90"))
                  .precompile(divisibleBy16, divisibleBy16, anyValue, anyValue, Const{128});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].targetName(), "nvptx64:sm_90a");
  auto onCpu = scale.precompile(divisibleBy16, divisibleBy16, anyValue, 2.0f, Const{128});
  EXPECT_THAT(onCpu[0].targetName(), HasSubstr("x86_64"));
  EXPECT_EQ(scale.variants()[0].target, "cuda:sm_90a");
  EXPECT_EQ(scale.variants()[1].target, "cpu");
  EXPECT_EQ(error([&] { works(scale.on(Target("cuda:90")), 3, 5, 128); }),
            "scale3: on(Target) is for compiling ahead\n  help: launch it on(Device)");
  EXPECT_TRUE(works(scale.on(Target("cuda:90")).on(Device::cpu()), 3, 5, 128));
  EXPECT_EQ(error([] { Target("tpu"); }),
            "target: 'tpu' is not the name of a target\n  help: 'cpu', 'cuda:90', with the compute "
            "capability after the colon, or 'hip:gfx942'");
  EXPECT_EQ(Target("cuda:80").arch, "sm_80");
  EXPECT_EQ(Target("cuda:100").arch, "sm_100a");
}

TEST(CppVariants, TheFirstErrorIsThrownWhenAllAreDone) {
  auto scale = newKernel(4);
  EXPECT_THAT(error([&] {
                scale.precompile(divisibleBy16, divisibleBy16, anyValue, anyValue,
                                 oneOf(Const{0}, Const{64}));
              }),
              HasSubstr("arange"));
  EXPECT_EQ(scale.variants().size(), 1u);
  EXPECT_THAT(error([&] { scale.precompile(anyValue, anyValue, anyValue, anyValue, anyValue); }),
              HasSubstr("precompile: a Const<T> parameter takes its value"));
}

/// The bodies throw on threads that are not the caller's.
TEST(CppVariants, WhatTheKernelThrowsComesBack) {
  auto thrower = kernel("thrower", [](Ptr<f32> out, Const<int> N) {
    if (N.value == 3)
      throw std::runtime_error("not three");
    store(out, float(N.value));
  });
  try {
    thrower.precompile(divisibleBy16, oneOf(Const{1}, Const{2}, Const{3}, Const{4}));
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "not three");
  }
  EXPECT_EQ(thrower.variants().size(), 3u);
}

TEST(CppVariants, ListenersSayWhyAndMayThrow) {
  auto scale = newKernel(5);
  std::vector<std::string> reasons;
  setCompileListener([&](const CompileEvent &event) {
    reasons.push_back(event.kernelName + " for " + event.target + ": " + event.reason);
    throw std::runtime_error("of the listener");
  });
  testing::internal::CaptureStderr();
  EXPECT_TRUE(works(scale, 5, 50, 64));
  EXPECT_TRUE(works(scale, 5, 50, 128));
  setCompileListener(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sectile: warning: compile listener: of the listener\n"
            "sectile: warning: compile listener: of the listener\n");
  EXPECT_TRUE(works(scale, 5, 50, 256));
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[1], "scale5 for cpu: BLOCK: 128 instead of 64");
}

TEST(CppVariants, ThreadsLaunchAndCompileAtOnce) {
  auto scale = newKernel(6);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 40; ++round) {
        if (round % 10 == thread)
          scale.precompile(divisibleBy16, divisibleBy16, oneOf(anyValue, divisibleBy16), anyValue,
                           Const{16 << round / 10});
        wrong += !works(scale, 6, 30 + round, 16 << round % 4);
        (void)scale.variants();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(scale.variants().size(), 8u);
}

TEST(CppArchives, KernelsOfAProgramAreLaunchedByItsArchive) {
  auto scale = newKernel(20);
  auto typed = kernel("typed", {"out", "wide", "flag", "value"},
                      [](Ptr<f64> out, i64 wide, i1 flag, f64 value) {
                        store(out, where(flag, value, cast<f64>(wide)));
                      });
  auto add = [&](ArchiveWriter &archive) {
    for (const char *target : {"cpu:x86-64-v3", "cpu:x86-64", "cuda:80"}) {
      scale.on(Target(target))
          .exportTo(archive, divisibleBy16, divisibleBy16, oneOf(anyValue, divisibleBy16, 1),
                    anyValue, oneOf(Const{32}, Const{64}));
      typed.on(Target(target)).exportTo(archive, divisibleBy16, anyValue, true, anyValue);
    }
  };
  ArchiveWriter first, second;
  add(first);
  add(second);
  const std::string path = testing::TempDir() + "/cpp.sectile", bytes = first.bytes();
  second.write(path);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == bytes);

  sectile_archive *archive = nullptr;
  ASSERT_EQ(sectile_open(path.c_str(), &archive), SECTILE_OK) << sectile_error_text();
  alignas(16) float out[128] = {}, x[128];
  for (int i = 0; i < 128; ++i)
    x[i] = float(i);
  for (int n : {100, 112, 1})
    for (int block : {32, 64}) {
      sectile_arg args[] = {sectile_pointer(SECTILE_F32, out), sectile_pointer(SECTILE_F32, x),
                            sectile_integer(n), sectile_float(0, 3), sectile_integer(block)};
      args[1].flags = SECTILE_ARG_READ_ONLY;
      sectile_grid grid = sectile_grid_of(cdiv(n, block), 1, 1);
      out[n - 1] = 0;
      ASSERT_EQ(
          sectile_launch(sectile_find(archive, "scale20"), sectile_cpu(), nullptr, &grid, args, 5),
          SECTILE_OK)
          << sectile_error_text();
      EXPECT_EQ(out[n - 1], x[n - 1] * 3 + 20);
    }
  alignas(16) double result[2] = {};
  sectile_grid one = sectile_grid_of(1, 1, 1);
  for (int flag : {0, 1}) {
    // An i64 that fits into 32 bits, and a float that is none to Python.
    sectile_arg args[] = {sectile_pointer(SECTILE_F64, result), sectile_integer(7),
                          sectile_truth(flag), sectile_float(0, 0.1)};
    ASSERT_EQ(sectile_launch(sectile_find(archive, "typed"), sectile_cpu(), nullptr, &one, args, 4),
              SECTILE_OK)
        << sectile_error_text();
    EXPECT_EQ(result[0], flag ? 0.1 : 7);
  }
  sectile_close(archive);
  EXPECT_THAT(error([&] { first.write("/no/such/folder/file"); }),
              HasSubstr("/no/such/folder/file cannot be written"));
  std::remove(path.c_str());
}

void sealAndExit() {
  // No captures: known by its source.
  auto fill = kernel("fill", {"out", "n", "BLOCK"}, [](Ptr<i32> out, i32 n, Const<int> BLOCK) {
    store(out + arange(0, BLOCK), n);
  });
  fill.precompile(divisibleBy16, oneOf(anyValue, 1), oneOf(Const{16}, Const{32}));
  seal();
  alignas(16) int32_t out[64] = {};
  bool isGood = true;
  for (int n : {1, 3, 5})
    for (int block : {16, 32}) {
      fill.launch({1}, out, n, Const{block});
      isGood &= out[block - 1] == n;
    }
  std::string text = error([&] { fill.launch({1}, out, 48, Const{16}); });
  isGood &= text == "fill: sealed, and no variant fits: n: i32:16 instead of i32\n"
                    "  help: precompile it before seal(): out: *i32:16, n: i32:16, "
                    "BLOCK = 16";
  std::string other = error([&] { fill.launch({1}, out, 3, Const{64}); });
  isGood &= other.find("fill: sealed, and no variant fits: BLOCK: 64 instead of ") == 0;
  std::fprintf(stderr, "%s\n%s\n", text.c_str(), other.c_str());
  std::_Exit(isGood ? 0 : 1);
}

TEST(CppVariantsDeathTest, ASealedProcessNamesTheArgument) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // in a process of its own
  EXPECT_EXIT(sealAndExit(), testing::ExitedWithCode(0), "sealed");
}

} // namespace
