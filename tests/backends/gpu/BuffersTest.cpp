// Products whose operands are copied ahead, or loaded ahead and stored, on the simulated GPU: the
// buffers' bytes serve others when the loop is done.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int64_t kRows = 64, kColumns = 64, kDepth = 32;
constexpr int64_t kStageBytes = (kRows + kColumns) * kDepth * 2;

/// %name = the sum over `%n` steps of products of tiles, which follow each other in `lhs` and
/// `rhs`.
std::string product(const std::string &name, const std::string &lhs, const std::string &rhs) {
  std::string sums = tileType({kRows, kColumns}, "f32");
  auto step = [&](const std::string &array, int64_t elements) {
    std::string at = name + array;
    return "%" + at + "_size = arith.constant " + std::to_string(elements) + " : i32\n%" + at +
           "_offset = arith.muli %" + name + "_k, %" + at + "_size : i32\n%" + at +
           " = tile.ptr_add %" + array + ", %" + at + "_offset : !tile.ptr<f16>, i32\n";
  };
  return "%" + name + " = scf.for %" + name + "_k = %zero to %n step %one iter_args(%" + name +
         "_sum = %none) -> (" + sums + ") : i32 {\n" + step(lhs, kRows * kDepth) +
         step(rhs, kDepth * kColumns) + loadTile(name + "_x", name + lhs, {kRows, kDepth}, "f16") +
         loadTile(name + "_y", name + rhs, {kDepth, kColumns}, "f16") + "%" + name +
         "_next = tile.dot %" + name + "_x, %" + name + "_y, %" + name +
         "_sum : " + tileType({kRows, kDepth}, "f16") + " * " +
         tileType({kDepth, kColumns}, "f16") + " -> " + sums + "\nscf.yield %" + name +
         "_next : " + sums + "\n}\n";
}

std::string kernelOf(const std::string &body) {
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}, ";
  };
  return kernelText(aligned("a", "f16") + aligned("b", "f16") + aligned("out", "f32") +
                        "%n: i32, %tiles: i32",
                    "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                    "%none = arith.constant dense<0.0> : " +
                        tileType({kRows, kColumns}, "f32") + "\n" + body);
}

struct Operands {
  explicit Operands(int64_t steps) : a(steps * kRows * kDepth), b(steps * kDepth * kColumns) {
    std::mt19937 random(3);
    for (auto *array : {&a, &b})
      for (_Float16 &number : *array)
        number = _Float16(int(random() % 9) - 4);
  }
  /// Exact: small integers.
  float product(int64_t steps, int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t k = 0; k < kDepth; ++k)
        sum += float(a[(step * kRows + row) * kDepth + k]) *
               float(b[(step * kDepth + k) * kColumns + column]);
    return sum;
  }
  std::vector<_Float16> a, b;
};

SimulatedKernel compiled(const std::string &body, unsigned stages) {
  return SimulatedKernel(kernelOf(body),
                         {.warps = 4, .stages = stages, .abilities = SimulatedAbilities::all()});
}

TEST(GpuBuffers, what_follows_a_loop_uses_its_bytes) {
  for (unsigned stages : {2, 3, 4}) {
    SimulatedKernel kernel =
        compiled(product("p", "a", "b") + storeTile("p", "out", {kRows, kColumns}, "f32"), stages);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    size_t loop = kernel.tileText.find("scf.for");
    ASSERT_NE(kernel.tileText.find("tile.convert_layout", loop), std::string::npos)
        << "the result is not exchanged\n"
        << kernel.tileText;
    EXPECT_EQ(kernel.sharedBytes, std::max<int64_t>(stages * kStageBytes, kRows * kColumns * 4));
    for (int32_t steps : {0, 1, 2, 3, 7}) {
      Operands operands(8);
      std::vector<float> out(kRows * kColumns, 77);
      SimulatedReport report =
          kernel.run({1}, {argument(operands.a), argument(operands.b), argument(out),
                           argument(steps), argument(int32_t(0))});
      EXPECT_EQ(report.problem, "");
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t column = 0; column < kColumns; ++column)
          ASSERT_EQ(out[row * kColumns + column], operands.product(steps, row, column));
    }
  }
}

TEST(GpuBuffers, copies_nobody_waits_for_keep_their_bytes) {
  std::string body = product("p", "a", "b") + storeTile("p", "out", {kRows, kColumns}, "f32");
  std::string text = compiled(body, 3).tileText;
  const std::string wait = "tile.async_wait 0\n";
  size_t at = text.find(wait);
  ASSERT_NE(at, std::string::npos) << text;
  SimulatedKernel kernel(text.erase(at, wait.size()),
                         {.warps = 4, .abilities = SimulatedAbilities::all()});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.sharedBytes, 3 * kStageBytes + kRows * kColumns * 4);
}

TEST(GpuBuffers, loops_one_after_another_share_bytes) {
  std::string body = product("p", "a", "b") + product("q", "b", "a") +
                     "%s = arith.addf %p, %q : " + tileType({kRows, kColumns}, "f32") + "\n" +
                     storeTile("s", "out", {kRows, kColumns}, "f32");
  SimulatedKernel kernel = compiled(body, 3);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.sharedBytes, 3 * kStageBytes);
  Operands operands(3), turned(3);
  std::swap(turned.a, turned.b);
  std::vector<float> out(kRows * kColumns, 77);
  SimulatedReport report =
      kernel.run({1}, {argument(operands.a), argument(operands.b), argument(out),
                       argument(int32_t(3)), argument(int32_t(0))});
  EXPECT_EQ(report.problem, "");
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(out[row * kColumns + column],
                operands.product(3, row, column) + turned.product(3, row, column));
}

TEST(GpuBuffers, a_loop_over_tiles_takes_turns_with_itself) {
  std::string tile = tileType({kRows, kColumns}, "f32");
  std::string body = "%size = arith.constant " + std::to_string(kRows * kColumns) +
                     " : i32\nscf.for %t = %zero to %tiles step %one : i32 {\n"
                     "%at = arith.muli %t, %size : i32\n"
                     "%here = tile.ptr_add %out, %at : !tile.ptr<f32>, i32\n" +
                     product("p", "a", "b") + storeTile("p", "here", {kRows, kColumns}, "f32") +
                     "}\n";
  SimulatedKernel kernel = compiled(body, 3);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.sharedBytes, 3 * kStageBytes);
  constexpr int32_t kTiles = 3;
  Operands operands(4);
  std::vector<float> out(kTiles * kRows * kColumns, 77);
  SimulatedReport report = kernel.run({1}, {argument(operands.a), argument(operands.b),
                                            argument(out), argument(int32_t(4)), argument(kTiles)});
  EXPECT_EQ(report.problem, "");
  for (int64_t number = 0; number < kTiles * kRows * kColumns; ++number)
    ASSERT_EQ(out[number], operands.product(4, number / kColumns % kRows, number % kColumns));
}

//===-- without asynchronous copies -----------------------------------------------------------===//

struct Staging {
  const char *name;
  int64_t stages;
  int64_t maxSharedBytes, threadWords;
};

/// Two stages where four programs have room, one where they have not, and one without loads that
/// run ahead where registers are too few.
const Staging kStagings[] = {{"two stages", 2, 8 * kStageBytes, 255},
                             {"one stage", 1, 4 * kStageBytes, 255},
                             {"in place", 1, 8 * kStageBytes, 32}};

SimulatedKernel staged(const std::string &body, const Staging &staging, const char *chip) {
  bool isWide = *chip != 0;
  SimulatedAbilities abilities{.matrixProducts = true, .chip = chip};
  return SimulatedKernel(kernelOf(body), {.warps = 4,
                                          .lanes = isWide ? 64u : 32u,
                                          .abilities = abilities,
                                          .maxSharedBytes = staging.maxSharedBytes,
                                          .threadWords = staging.threadWords});
}

size_t countOf(const std::string &text, const std::string &what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(GpuBuffers, tiles_are_stored_a_round_ahead) {
  for (const Staging &staging : kStagings)
    for (const char *chip : {"", "gfx942"}) {
      SCOPED_TRACE(std::string(staging.name) + " " + chip);
      SimulatedKernel kernel = staged(
          product("p", "a", "b") + storeTile("p", "out", {kRows, kColumns}, "f32"), staging, chip);
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      const bool isAhead = staging.threadWords == 255;
      EXPECT_EQ(countOf(kernel.tileText, "tile.buffer_store"), isAhead ? 4u : 2u);
      EXPECT_EQ(countOf(kernel.tileText, "tile.buffer_load"), isAhead ? 4u : 2u);
      EXPECT_EQ(countOf(kernel.tileText, "tile.barrier shared"),
                isAhead ? 4u - staging.stages : 1u);
      // With mma.sync the result is exchanged before it is stored.
      EXPECT_EQ(kernel.sharedBytes,
                std::max(staging.stages * kStageBytes, *chip ? 0 : kRows * kColumns * 4));
      for (int32_t steps : {0, 1, 2, 3, 7}) {
        Operands operands(steps);
        std::vector<float> out(kRows * kColumns, 77);
        SimulatedReport report =
            kernel.run({1}, {argument(operands.a), argument(operands.b), argument(out),
                             argument(steps), argument(int32_t(0))});
        EXPECT_EQ(report.problem, "");
        for (int64_t row = 0; row < kRows; ++row)
          for (int64_t column = 0; column < kColumns; ++column)
            ASSERT_EQ(out[row * kColumns + column], operands.product(steps, row, column));
      }
    }
}

TEST(GpuBuffers, staged_loops_share_bytes_one_after_another_and_with_themselves) {
  for (const Staging &staging : kStagings) {
    SCOPED_TRACE(staging.name);
    std::string body = "%size = arith.constant " + std::to_string(kRows * kColumns) +
                       " : i32\nscf.for %t = %zero to %tiles step %one : i32 {\n"
                       "%at = arith.muli %t, %size : i32\n"
                       "%here = tile.ptr_add %out, %at : !tile.ptr<f32>, i32\n" +
                       product("p", "a", "b") + product("q", "b", "a") +
                       "%s = arith.addf %p, %q : " + tileType({kRows, kColumns}, "f32") + "\n" +
                       storeTile("s", "here", {kRows, kColumns}, "f32") + "}\n";
    SimulatedKernel kernel = staged(body, staging, "gfx942");
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.sharedBytes, staging.stages * kStageBytes);
    constexpr int32_t kTiles = 3, kSteps = 3;
    Operands operands(kSteps), turned(kSteps);
    std::swap(turned.a, turned.b);
    std::vector<float> out(kTiles * kRows * kColumns, 77);
    SimulatedReport report = kernel.run({1}, {argument(operands.a), argument(operands.b),
                                              argument(out), argument(kSteps), argument(kTiles)});
    EXPECT_EQ(report.problem, "");
    for (int64_t number = 0; number < kTiles * kRows * kColumns; ++number) {
      int64_t row = number / kColumns % kRows, column = number % kColumns;
      ASSERT_EQ(out[number],
                operands.product(kSteps, row, column) + turned.product(kSteps, row, column));
    }
  }
}

} // namespace
