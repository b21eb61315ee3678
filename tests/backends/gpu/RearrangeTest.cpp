// Transposes, reshapes, joins, splits, flips, cats and gathers of laid-out tiles, run thread by
// thread: with layouts that allow a renaming of registers, and with any others.
#include "LaidOutText.h"
#include "RandomLayout.h"
#include "SimulatedGpu.h"

#include <numeric>

using namespace sectile::testing;
using namespace sectile::layout;

namespace {

int64_t countOf(const TileLayout &layout) {
  int64_t count = 1;
  for (int64_t extent : layout.shape())
    count *= extent;
  return count;
}

using Array = std::vector<int32_t>;

/// Runs `body`, which makes %r... of %x0, %x1 ..., on arrays of distinct numbers.
SimulatedReport run(const std::vector<TileLayout> &sources, const std::string &body,
                    const std::vector<std::string> &results,
                    const std::vector<TileLayout> &resultLayouts, std::vector<Array> in,
                    const std::vector<Array> &expected, SimulatedOptions options) {
  std::string arguments, text;
  for (size_t index = 0; index < sources.size(); ++index) {
    std::string n = std::to_string(index);
    arguments += pointer("in" + n, "i32") + ", ";
    text += loadLaidOut("x" + n, "in" + n, sources[index], "i32");
  }
  text += body;
  std::vector<Array> out;
  std::vector<HostArgument> given;
  for (Array &array : in)
    given.push_back(argument(array));
  for (size_t index = 0; index < results.size(); ++index) {
    std::string n = std::to_string(index);
    arguments += (index ? ", " : "") + pointer("out" + n, "i32");
    text += pointersLaidOut("o" + n, "out" + n, resultLayouts[index], "i32") + "tile.store %o" + n +
            ", " + results[index] + " : " + laidOut(resultLayouts[index], "!tile.ptr<i32>") + "\n";
    out.emplace_back(countOf(resultLayouts[index]), -1);
  }
  for (Array &array : out)
    given.push_back(argument(array));
  SimulatedKernel kernel(kernelText(arguments, text), options);
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  if (!kernel.compiled())
    return {};
  SimulatedReport report = kernel.run({1}, given);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(out, expected) << body;
  return report;
}

Array numbers(int64_t count, int32_t first = 1) {
  Array array(count);
  std::iota(array.begin(), array.end(), first);
  return array;
}

struct Place {
  int64_t outer = 1, extent = 1, inner = 1;
  Place(llvm::ArrayRef<int64_t> shape, int axis) {
    for (size_t index = 0; index < shape.size(); ++index)
      (int(index) < axis ? outer : int(index) == axis ? extent : inner) *= shape[index];
  }
};

std::string axisText(int axis) {
  return " {axis = " + std::to_string(axis) + " : i32}";
}

SimulatedReport flip(const TileLayout &layout, int axis, SimulatedOptions options) {
  Array in = numbers(countOf(layout)), out = in;
  Place place(layout.shape(), axis);
  for (int64_t o = 0; o < place.outer; ++o)
    for (int64_t e = 0; e < place.extent; ++e)
      for (int64_t i = 0; i < place.inner; ++i)
        out[(o * place.extent + e) * place.inner + i] =
            in[(o * place.extent + place.extent - 1 - e) * place.inner + i];
  return run({layout},
             "%r = tile.flip %x0" + axisText(axis) + " : " + laidOut(layout, "i32") + "\n", {"%r"},
             {layout}, {in}, {out}, options);
}

SimulatedReport cat(const TileLayout &lhs, const TileLayout &rhs, const TileLayout &result,
                    int axis, SimulatedOptions options) {
  Array a = numbers(countOf(lhs)), b = numbers(countOf(rhs), 10000), out;
  Place first(lhs.shape(), axis), second(rhs.shape(), axis);
  for (int64_t o = 0; o < first.outer; ++o) {
    int64_t left = first.extent * first.inner, right = second.extent * second.inner;
    out.insert(out.end(), a.begin() + o * left, a.begin() + (o + 1) * left);
    out.insert(out.end(), b.begin() + o * right, b.begin() + (o + 1) * right);
  }
  return run({lhs, rhs},
             "%r = tile.cat %x0, %x1" + axisText(axis) + " : " + laidOut(lhs, "i32") + ", " +
                 laidOut(rhs, "i32") + " -> " + laidOut(result, "i32") + "\n",
             {"%r"}, {result}, {a, b}, {out}, options);
}

SimulatedReport gather(const TileLayout &source, const TileLayout &index, int axis,
                       SimulatedOptions options, std::mt19937 &random) {
  Array in = numbers(countOf(source)), at(countOf(index)), out;
  for (int32_t &place : at)
    place = random() % source.shape()[axis];
  Place from(source.shape(), axis), to(index.shape(), axis);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t e = 0; e < to.extent; ++e)
      for (int64_t i = 0; i < to.inner; ++i)
        out.push_back(
            in[(o * from.extent + at[(o * to.extent + e) * to.inner + i]) * from.inner + i]);
  return run({source, index},
             "%r = tile.gather %x0[%x1]" + axisText(axis) + " : " + laidOut(source, "i32") + ", " +
                 laidOut(index, "i32") + " -> " + laidOut(index, "i32") + "\n",
             {"%r"}, {index}, {in, at}, {out}, options);
}

SimulatedReport reshape(const TileLayout &source, const TileLayout &result,
                        SimulatedOptions options) {
  Array in = numbers(countOf(source));
  return run({source},
             "%r = tile.reshape %x0 : " + laidOut(source, "i32") + " -> " + laidOut(result, "i32") +
                 "\n",
             {"%r"}, {result}, {in}, {in}, options);
}

SimulatedReport transpose(const TileLayout &source, const TileLayout &result,
                          SimulatedOptions options) {
  Array in = numbers(countOf(source)), out;
  int64_t rows = source.shape()[0], columns = source.shape()[1];
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row)
      out.push_back(in[row * columns + column]);
  return run({source},
             "%r = tile.transpose %x0 [1, 0] : " + laidOut(source, "i32") + " -> " +
                 laidOut(result, "i32") + "\n",
             {"%r"}, {result}, {in}, {out}, options);
}

SimulatedReport joinOrSplit(const TileLayout &half, const TileLayout &whole, bool isJoin,
                            SimulatedOptions options) {
  Array a = numbers(countOf(half)), b = numbers(countOf(half), 10000), both;
  for (size_t index = 0; index < a.size(); ++index) {
    both.push_back(a[index]);
    both.push_back(b[index]);
  }
  std::string halfType = laidOut(half, "i32"), wholeType = laidOut(whole, "i32");
  if (isJoin)
    return run({half, half}, "%r = tile.join %x0, %x1 : " + halfType + " -> " + wholeType + "\n",
               {"%r"}, {whole}, {a, b}, {both}, options);
  return run({whole}, "%r, %s = tile.split %x0 : " + wholeType + " -> " + halfType + "\n",
             {"%r", "%s"}, {half, half}, {both}, {a, b}, options);
}

TEST(GpuRearrange, what_a_warp_holds_is_flipped_by_shuffles) {
  TileLayout layout = blocked({256, 4}, {2, 4}, {32, 1}, {4, 1}, {1, 0});
  SimulatedOptions options;
  auto report = flip(layout, 1, options);
  EXPECT_EQ(report.shuffles + report.barriers, 0);
  TileLayout rows = blocked({4, 192}, {1, 2}, {1, 32}, {4, 1}, {1, 0});
  report = flip(rows, 1, options);
  EXPECT_GT(report.shuffles, 0);
  EXPECT_EQ(report.barriers, 0);
  EXPECT_EQ(flip(layout, 0, options).barriers, 1);
}

TEST(GpuRearrange, tiles_of_one_thread_layout_are_joined_end_to_end) {
  SimulatedOptions options;
  TileLayout half = blocked({32, 16}, {1, 4}, {8, 4}, {4, 1}, {1, 0});
  TileLayout whole = blocked({32, 32}, {1, 4}, {8, 4}, {4, 1}, {1, 0});
  EXPECT_EQ(cat(half, half, whole, 1, options).barriers, 0);
}

TEST(GpuRearrange, any_layouts) {
  SimulatedOptions options;
  std::mt19937 random(9);
  TileLayout rows = blocked({32, 16}, {1, 4}, {8, 4}, {4, 1}, {1, 0});
  TileLayout columns = blocked({16, 32}, {4, 1}, {4, 8}, {1, 4}, {0, 1});
  TileLayout pairs = blocked({32, 16, 2}, {1, 1, 2}, {4, 8, 1}, {4, 1, 1}, {2, 1, 0});
  TileLayout spread = blocked({32, 16, 2}, {1, 2, 1}, {4, 4, 2}, {4, 1, 1}, {2, 1, 0});
  transpose(rows, columns, options);
  reshape(rows, columns, options);
  reshape(rows, blocked({512}, {1}, {32}, {4}, {0}), options);
  gather(rows, rows, 0, options, random);
  gather(rows, blocked({32, 7}, {1, 1}, {4, 8}, {4, 1}, {1, 0}), 1, options, random);
  for (bool isJoin : {true, false}) {
    joinOrSplit(rows, pairs, isJoin, options);
    joinOrSplit(rows, spread, isJoin, options);
  }
}

TEST(GpuRearrange, random_layouts) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    SimulatedOptions options;
    options.lanes = random() % 3 ? 32 : 64;
    options.warps = 1u << random() % 4;
    auto any = [&](std::vector<int64_t> shape) {
      return randomLayout(random, shape, options.lanes, options.warps);
    };
    auto extent = [&]() -> int64_t {
      static const int64_t all[] = {1, 2, 3, 4, 5, 8, 12, 16, 20, 32};
      return all[random() % 10];
    };
    int64_t a = extent(), b = extent(), c = extent();
    while (a * b * c > 1024)
      c = std::max<int64_t>(1, c / 2);
    switch (random() % 7) {
    case 0:
      flip(any({a, b, c}), random() % 3, options);
      break;
    case 1: {
      int axis = random() % 2;
      int64_t more = extent();
      cat(any({a, b}), any(axis ? std::vector{a, more} : std::vector{more, b}),
          any(axis ? std::vector{a, b + more} : std::vector{a + more, b}), axis, options);
      break;
    }
    case 2: {
      int axis = random() % 2;
      gather(any({a, b}), any(axis ? std::vector{a, c} : std::vector{c, b}), axis, options, random);
      break;
    }
    case 3: {
      TileLayout source = any({a, b, c});
      std::vector<std::vector<int64_t>> shapes = {{a * b, c}, {a, b * c}, {a * b * c}, {c, b, a}};
      TileLayout result = any(shapes[random() % 4]);
      if (auto same = sectile::layout::reshape(source, result.shape()); same && random() % 2)
        result = *same;
      reshape(source, result, options);
      break;
    }
    case 4:
      transpose(any({a, b}), any({b, a}), options);
      break;
    case 5:
      joinOrSplit(any({a, b}), any({a, b, 2}), true, options);
      break;
    case 6:
      joinOrSplit(any({a, b}), any({a, b, 2}), false, options);
      break;
    }
    if (HasFailure())
      break;
  }
}

} // namespace
