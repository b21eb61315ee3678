// Loops of several products, two of which only add to what the loop carries (attention's gradient),
// on the simulated GPU: products begin early, are waited for late, and go on into the next round.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int64_t kRows = 128, kWide = 64, kMostRounds = 8;

enum class Copies { ByThreads, ByEngine };

/// For tiles y and z of each round, and numbers w for their rows:
///
///   s = x y' + w;  dv += f16(s) z;  t = v z';  dk += f16(s + t) y
///
/// The numbers are loaded where threads copy, else they are 2.
std::string gradientText(Copies copies) {
  const std::string half = tileType({kWide, kWide}, "f16"), tall = tileType({kRows, kWide}, "f16"),
                    full = tileType({kRows, kWide}, "f32"), row = tileType({kWide}, "f32"),
                    wide = std::to_string(kWide);
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}, ";
  };
  auto block = [&](const std::string &name, const std::string &array) {
    return "%" + name + " = tile.block_load %" + array +
           "[%row, %zero64] of [%end, %width] by [%width, %one64] checked = [true, true] : "
           "!tile.ptr<f16> -> " +
           half + "\n";
  };
  auto tileOf = [&](const std::string &name, const std::string &array, Shape shape,
                    const std::string &element) {
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    return "%" + name + "_size = arith.constant " + std::to_string(elements) + " : i32\n%" + name +
           "_at = arith.muli %k, %" + name + "_size : i32\n%" + name + "_start = tile.ptr_add %" +
           array + ", %" + name + "_at : !tile.ptr<" + element + ">, i32\n" +
           loadTile(name, name + "_start", shape, element);
  };
  std::string loads =
      copies == Copies::ByEngine
          ? "%from = arith.muli %k, %size : i32\n"
            "%row = arith.extsi %from : i32 to i64\n" +
                block("y", "b") + block("z", "c") + "%w = arith.constant dense<2.0> : " + row + "\n"
          : tileOf("y", "b", {kWide, kWide}, "f16") + tileOf("z", "c", {kWide, kWide}, "f16") +
                tileOf("w", "d", {kWide}, "f32");
  auto product = [&](const std::string &name, const std::string &lhs, const std::string &rhs,
                     const std::string &acc) {
    return "%" + name + " = tile.dot %" + lhs + ", %" + rhs + ", %" + acc + " : " + tall + " * " +
           half + " -> " + full + "\n";
  };
  return kernelText(
      aligned("a", "f16") + aligned("v", "f16") + aligned("b", "f16") + aligned("c", "f16") +
          aligned("d", "f32") + aligned("out", "f32") + aligned("out2", "f32") + "%n: i32",
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
      "%zero64 = arith.constant 0 : i64\n%one64 = arith.constant 1 : i64\n"
      "%size = arith.constant " +
          wide + " : i32\n%width = arith.constant " + wide + " : i64\n%end = arith.constant " +
          std::to_string(kWide * kMostRounds) +
          " : i64\n%none = arith.constant dense<0.0> : " + full + "\n" +
          loadTile("x", "a", {kRows, kWide}, "f16") + loadTile("u", "v", {kRows, kWide}, "f16") +
          "%p:2 = scf.for %k = %zero to %n step %one iter_args(%dv = %none, %dk = %none) -> (" +
          full + ", " + full + ") : i32 {\n" + loads + "%yt = tile.transpose %y [1, 0] : " + half +
          " -> " + half + "\n%zt = tile.transpose %z [1, 0] : " + half + " -> " + half + "\n" +
          product("xy", "x", "yt", "none") + "%w1 = tile.expand_dims %w {axis = 0 : i32} : " + row +
          " -> " + tileType({1, kWide}, "f32") +
          "\n%w2 = tile.broadcast %w1 : " + tileType({1, kWide}, "f32") + " -> " + full +
          "\n%s = arith.addf %xy, %w2 : " + full + "\n%sh = arith.truncf %s : " + full + " to " +
          tall + "\n" + product("dv2", "sh", "z", "dv") + product("t", "u", "zt", "none") +
          "%st = arith.addf %s, %t : " + full + "\n%sth = arith.truncf %st : " + full + " to " +
          tall + "\n" + product("dk2", "sth", "y", "dk") + "scf.yield %dv2, %dk2 : " + full + ", " +
          full + "\n}\n%first = arith.addf %p#0, %none : " + full +
          "\n%second = arith.addf %p#1, %none : " + full + "\n" +
          storeTile("first", "out", {kRows, kWide}, "f32") +
          storeTile("second", "out2", {kRows, kWide}, "f32"));
}

SimulatedOptions optionsOf(Copies copies, unsigned stages, uint64_t seed = 1) {
  SimulatedOptions options{.warps = 8, .stages = stages, .abilities = SimulatedAbilities::all()};
  options.abilities.bufferProducts = true;
  options.abilities.tensorCopies = copies == Copies::ByEngine;
  options.maxSharedBytes = 1 << 20; // room for several programs
  options.seed = seed;
  return options;
}

/// What a run comes to: a problem, "wrong", or nothing.
std::string outcome(SimulatedKernel &kernel, Copies copies, int32_t rounds) {
  std::mt19937 random(5);
  auto halves = [&](int64_t count) {
    std::vector<_Float16> made(size_t(count), _Float16(0));
    for (_Float16 &number : made)
      number = _Float16(int(random() % 3) - 1);
    return made;
  };
  auto x = halves(kRows * kWide), u = halves(kRows * kWide),
       y = halves(kMostRounds * kWide * kWide), z = halves(kMostRounds * kWide * kWide);
  std::vector<float> w(kMostRounds * kWide, 2.0f);
  if (copies == Copies::ByThreads)
    for (float &number : w)
      number = float(int(random() % 7) - 3);
  std::vector<float> out(kRows * kWide, 77), out2(kRows * kWide, 77), dv(kRows * kWide, 0.0f),
      dk(kRows * kWide, 0.0f);
  for (int64_t round = 0; round < rounds; ++round)
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t query = 0; query < kWide; ++query) {
        float s = w[round * kWide + query], t = 0;
        const _Float16 *here = &y[(round * kWide + query) * kWide],
                       *there = &z[(round * kWide + query) * kWide];
        for (int64_t k = 0; k < kWide; ++k) {
          s += float(x[row * kWide + k]) * float(here[k]);
          t += float(u[row * kWide + k]) * float(there[k]);
        }
        for (int64_t k = 0; k < kWide; ++k) {
          dv[row * kWide + k] += s * float(there[k]);
          dk[row * kWide + k] += (s + t) * float(here[k]);
        }
      }
  SimulatedReport report =
      kernel.run({1}, {argument(x), argument(u), argument(y), argument(z), argument(w),
                       argument(out), argument(out2), argument(rounds)});
  if (!report.problem.empty())
    return report.problem;
  return out == dv && out2 == dk ? "" : "wrong";
}

/// The text of the loop with products, and of what follows it.
std::pair<std::string, std::string> loopOf(const SimulatedKernel &kernel) {
  const std::string &text = kernel.tileText;
  size_t product = text.find("tile.dot_async"), begin = text.rfind("scf.for", product),
         end = text.find("scf.yield", product);
  if (product == std::string::npos || begin == std::string::npos)
    return {};
  return {text.substr(begin, end - begin), text.substr(end)};
}

size_t countOf(const std::string &text, const std::string &piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++count;
  return count;
}

TEST(GpuOrderProducts, a_gradient_waits_for_what_threads_take_alone) {
  for (Copies copies : {Copies::ByThreads, Copies::ByEngine})
    for (unsigned stages : {2, 3, 5})
      for (uint64_t seed : {1, 2}) {
        SimulatedKernel kernel(gradientText(copies), optionsOf(copies, stages, seed));
        ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
        auto [loop, rest] = loopOf(kernel);
        EXPECT_EQ(countOf(loop, "tile.dot_async"), 4u) << loop;
        EXPECT_EQ(countOf(loop, "tile.dot_wait"), 2u) << loop;
        // The second product is under way while threads compute with the first one's sums.
        EXPECT_EQ(countOf(loop, "tile.dot_wait 1"), 2u) << loop;
        EXPECT_EQ(countOf(rest, "tile.dot_wait 0"), 1u) << rest;
        for (int32_t rounds : {0, 1, 2, 3, 4, 7})
          EXPECT_EQ(outcome(kernel, copies, rounds), "")
              << stages << " stages, " << rounds << " rounds, " << int(copies);
      }
}

/// Without asynchronous copies of rows of 256 bytes each round would wait for memory.
TEST(GpuOrderProducts, small_tiles_are_copied_beside_what_products_take) {
  SimulatedKernel kernel(gradientText(Copies::ByThreads), optionsOf(Copies::ByThreads, 3));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  auto [loop, rest] = loopOf(kernel);
  EXPECT_EQ(countOf(loop, "tile.async_copy"), 3u) << loop;
  EXPECT_EQ(countOf(loop, "tile.buffer_load"), 1u) << loop;
  EXPECT_EQ(countOf(loop, "tile.load"), 0u) << loop;
}

/// Where registers are short a product begins where the kernel says.
TEST(GpuOrderProducts, a_product_begins_early_only_if_registers_suffice) {
  SimulatedOptions options = optionsOf(Copies::ByThreads, 3);
  options.warps = 4;
  SimulatedKernel kernel(gradientText(Copies::ByThreads), options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  auto [loop, rest] = loopOf(kernel);
  EXPECT_EQ(countOf(loop, "tile.dot_wait 1"), 0u) << loop;
  EXPECT_EQ(countOf(loop, "tile.dot_wait 0"), 2u) << loop;
  for (int32_t rounds : {0, 1, 3})
    EXPECT_EQ(outcome(kernel, Copies::ByThreads, rounds), "");
}

/// What is changed in the laid-out text is seen.
TEST(GpuOrderProducts, a_wait_that_leaves_too_much_under_way_is_seen) {
  for (Copies copies : {Copies::ByThreads, Copies::ByEngine}) {
    const SimulatedKernel whole(gradientText(copies), optionsOf(copies, 3));
    const std::string &text = whole.tileText;
    auto outcomeOf = [&](size_t at, const std::string &from, const std::string &to) {
      EXPECT_NE(at, std::string::npos) << text;
      if (at == std::string::npos)
        return std::string("not found");
      std::string result;
      for (uint64_t seed = 1; seed <= 8 && result.empty(); ++seed) {
        std::string changed = text;
        SimulatedKernel kernel(changed.replace(at, from.size(), to), optionsOf(copies, 3, seed));
        EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
        result = kernel.compiled() ? outcome(kernel, copies, 5) : "not compiled";
      }
      return result;
    };
    const std::string wait = "tile.dot_wait 1", last = "tile.dot_wait 0";
    const size_t first = text.find(wait), second = text.find(wait, first + 1);
    EXPECT_EQ(outcomeOf(first, wait, wait), "");
    EXPECT_EQ(outcomeOf(first, wait, "tile.dot_wait 2"), "wrong");
    EXPECT_EQ(outcomeOf(second, wait, "tile.dot_wait 2"), "wrong");
    EXPECT_EQ(outcomeOf(text.find(last, second), last, "tile.dot_wait 1"), "wrong");
  }
}

/// Two tiles of 128 x 128 f32 are 256 registers of a thread in 4 warps.
TEST(GpuOrderProducts, more_warps_run_a_program_whose_sums_would_be_spilled) {
  const std::string wide = tileType({128, 128}, "f32"), half = tileType({128, 128}, "f16");
  const std::string text = kernelText(
      pointer("a", "f16") + " {tile.divisibility = 16 : i64}, " + pointer("out", "f32") +
          " {tile.divisibility = 16 : i64}, %n: i32",
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
      "%none = arith.constant dense<0.0> : " +
          wide + "\n" +
          "%p:2 = scf.for %k = %zero to %n step %one iter_args(%s = %none, %t = %none) -> (" +
          wide + ", " + wide + ") : i32 {\n" + loadTile("x", "a", {128, 128}, "f16") +
          "%xt = tile.transpose %x [1, 0] : " + half + " -> " + half + "\n" +
          "%s2 = tile.dot %x, %xt, %s : " + half + " * " + half + " -> " + wide +
          "\n%t2 = tile.dot %xt, %x, %t : " + half + " * " + half + " -> " + wide +
          "\nscf.yield %s2, %t2 : " + wide + ", " + wide + "\n}\n%r = arith.subf %p#0, %p#1 : " +
          wide + "\n" + storeTile("r", "out", {128, 128}, "f32"));
  auto threadsOf = [&](unsigned warps, bool &isSaid) {
    SimulatedOptions options = optionsOf(Copies::ByThreads, 2);
    options.warps = warps;
    SimulatedKernel kernel(text, options);
    EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
    isSaid = llvm::any_of(kernel.image.remarks, [](const lang::Remark &remark) {
      return remark.text.find("cannot hold its tiles") != std::string::npos;
    });
    return kernel.image.gpu.threads;
  };
  bool isSaid = false;
  EXPECT_EQ(threadsOf(4, isSaid), 8 * 32);
  EXPECT_TRUE(isSaid);
  EXPECT_EQ(threadsOf(8, isSaid), 8 * 32);
  EXPECT_FALSE(isSaid);
  EXPECT_EQ(threadsOf(16, isSaid), 16 * 32);
}

/// Two rows of 16384 f32 at a time are 256 registers of a thread in 4 warps; one is 128, however
/// many operations follow each other.
TEST(GpuOrderProducts, more_warps_run_a_program_whose_tiles_would_be_spilled) {
  const std::string row = tileType({16384}, "f32");
  auto threadsOf = [&](const std::string &second) {
    SimulatedOptions options;
    options.warps = 4;
    SimulatedKernel kernel(
        kernelText(pointer("a", "f32") + ", " + pointer("b", "f32") + ", " + pointer("out", "f32"),
                   loadTile("x", "a", {16384}, "f32") + second + "%r = arith.addf %x, %y : " + row +
                       "\n" + storeTile("r", "out", {16384}, "f32")),
        options);
    EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
    return kernel.image.gpu.threads;
  };
  EXPECT_EQ(threadsOf(loadTile("y", "b", {16384}, "f32")), 8 * 32);
  EXPECT_EQ(threadsOf("%y = arith.mulf %x, %x : " + row + "\n"), 4 * 32);
}

/// What is computed of positions alone, but at length, is kept where a reduction stands between its
/// uses; a cheap one is made again.
TEST(GpuOrderProducts, more_warps_run_a_program_that_keeps_what_it_has_computed_at_length) {
  const std::string row = tileType({32768}, "f32");
  auto threadsOf = [&](unsigned steps) {
    std::string text = "%i = tile.arange 0, 32768 : " + tileType({32768}, "i32") +
                       "\n%v0 = arith.sitofp %i : " + tileType({32768}, "i32") + " to " + row +
                       "\n";
    for (unsigned step = 0; step < steps; ++step)
      text += "%v" + std::to_string(step + 1) + " = math.sin %v" + std::to_string(step) + " : " +
              row + "\n";
    const std::string last = "%v" + std::to_string(steps);
    text +=
        "%s = tile.reduce(" + last + ") axis 0 : (" + row +
        ") -> f32 {\n^bb0(%a: f32, %b: f32):\n" +
        "%m = arith.maxnumf %a, %b : f32\ntile.yield %m : f32\n}\n%ss = tile.splat %s : f32 -> " +
        row + "\n%r = arith.subf " + last + ", %ss : " + row + "\n" +
        storeTile("r", "out", {32768}, "f32");
    SimulatedOptions options;
    options.warps = 4;
    SimulatedKernel kernel(kernelText(pointer("out", "f32"), text), options);
    EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
    return kernel.image.gpu.threads;
  };
  EXPECT_EQ(threadsOf(5), 8 * 32);
  EXPECT_EQ(threadsOf(1), 4 * 32);
}

} // namespace
