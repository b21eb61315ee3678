//===-- ControlFlowTest.cpp - loops and branches of the C++ DSL ---------------------------===//
#include "tests/frontend/cpp/Record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sectile::test {
namespace {
using testing::HasSubstr;
using testing::Not;

TEST(CppControlFlow, LoopCarriesItsValues) {
  int traced = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        auto [sum, product] =
            loop(range(0, n), std::tuple{0.0f, 1.0f}, [&](i32 i, auto sum, auto product) {
              ++traced;
              sum += to<f32>(i);
              return std::tuple{sum, product * 2.0f};
            });
        store(out, sum);
        store(out + 1, product);
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(traced, 1);
  EXPECT_THAT(kernel.ir, HasSubstr("iter_args("));
  EXPECT_THAT(kernel.ir, HasSubstr("-> (f32, f32)"));
  EXPECT_THAT(kernel.ir, HasSubstr("scf.yield"));
}

TEST(CppControlFlow, LoopWithoutValues) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<f32> out, i32 n) { loop(range(n), [&](i32 i) { store(out + i, 1.0f); }); }, any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.for"));
  EXPECT_THAT(kernel.ir, Not(HasSubstr("iter_args")));
}

TEST(CppControlFlow, BreakEndsALoop) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) {
        auto s = loop(range(n), 0, [&](i32 i, auto s) {
          break_if(s > 10, s);
          return s + i;
        });
        store(out, s);
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.while"));
  EXPECT_THAT(kernel.ir, Not(HasSubstr("scf.for")));
}

TEST(CppControlFlow, ContinueAloneLeavesALoopAsItIs) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) {
        loop(range(n), [&](i32 i) {
          continue_if(i % 2 == 0);
          store(out + i, i);
        });
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.for"));
  EXPECT_THAT(kernel.ir, HasSubstr("scf.if"));
}

TEST(CppControlFlow, LoopCountsDown) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) { loop(range(n, 0, -2), [&](i32 i) { store(out + i, i); }); }, any,
      any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.for"));
  EXPECT_THAT(kernel.ir, HasSubstr("arith.subi"));
}

TEST(CppControlFlow, LoopsHaveTheHintsTheyAreGiven) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) {
        LoopHints hints = {.num_stages = 4, .loop_unroll_factor = 2, .flatten = true};
        loop(range(0, n, 1, hints), [&](i32 i) { store(out + i, i); });
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("{tile.flatten, tile.loop_unroll_factor = 2 : i64, "
                                   "tile.num_stages = 4 : i64}"));
  kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) {
        loop(range(0, n, 1, {.num_stages = -1}), [&](i32 i) { store(out + i, i); });
      },
      any, any);
  EXPECT_THAT(kernel.error, HasSubstr("range: 'num_stages' must be from 0 to 64, not -1"));
}

TEST(CppControlFlow, LoopOverUnsignedBoundsIsUnsigned) {
  Recorded kernel = record(
      {"out", "n"}, [](Ptr<u32> out, u32 n) { loop(range(n), [&](u32 i) { store(out + i, i); }); },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.for unsigned"));
}

TEST(CppControlFlow, LoopIndexIsAsWideAsItsBounds) {
  Recorded kernel = record(
      {"out", "n"}, [](Ptr<i64> out, i64 n) { loop(range(n), [&](i64 i) { store(out + i, i); }); },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr(": i64 {"));
}

TEST(CppControlFlow, IfYieldsValues) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<f32> out, i32 n) {
        auto [a, b] = if_(
            n > 3, [&] { return std::tuple{to<f32>(n), 1.0f}; },
            [&] { return std::tuple{-to<f32>(n), 0.0f}; });
        store(out, a + b);
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.if"));
  EXPECT_THAT(kernel.ir, HasSubstr("-> (f32, f32)"));
}

TEST(CppControlFlow, IfWithEffectsHasNoElse) {
  Recorded kernel = record(
      {"out", "n"}, [](Ptr<f32> out, i32 n) { if_(n > 3, [&] { store(out, 1.0f); }); }, any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.if"));
  EXPECT_THAT(kernel.ir, Not(HasSubstr("else")));
}

TEST(CppControlFlow, KnownConditionTracesOneBranch) {
  int thens = 0, elses = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        auto x = if_(n == 1, [&] { return ++thens, 1.0f; }, [&] { return ++elses, 0.0f; });
        store(out, x);
      },
      any, 1);
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(thens, 1);
  EXPECT_EQ(elses, 0);
  EXPECT_THAT(kernel.ir, Not(HasSubstr("scf.if")));
}

TEST(CppControlFlow, While) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<i32> out, i32 n) {
        auto [steps, left] = while_(
            std::tuple{0, n}, [](auto, auto left) { return left > 1; },
            [](auto steps, auto left) { return std::tuple{steps + 1, left / 2}; });
        store(out, steps + left);
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.while"));
  EXPECT_THAT(kernel.ir, HasSubstr("scf.condition"));
  EXPECT_THAT(kernel.ir, HasSubstr("arith.divsi"));
}

TEST(CppControlFlow, BodiesNest) {
  Recorded kernel = record(
      {"out", "n"},
      [](Ptr<f32> out, i32 n) {
        auto total = loop(range(n), 0.0f, [&](i32 i, auto total) {
          return loop(range(i), total, [&](i32 j, auto inner) {
            return if_(j > 2, [&] { return inner + 1.0f; }, [&] { return inner; });
          });
        });
        store(out, total);
      },
      any, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("scf.if"));
}

TEST(CppControlFlow, PlainLoopsUnroll) {
  Recorded kernel = record(
      {"out", "STEPS"},
      [](Ptr<f32> out, Const<int> STEPS) {
        Value total = load(out);
        for (int i = 0; i < STEPS; ++i)
          total = total * 2.0f; // the same body: assigning is fine
        store(out, total);
      },
      any, Const{3});
  EXPECT_EQ(kernel.error, "");
  size_t count = 0;
  for (size_t at = 0; (at = kernel.ir.find("arith.mulf", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 3u);
}

} // namespace
} // namespace sectile::test
