// Reductions and scans of laid-out tiles, run thread by thread: any layout, axis, dtype, combiner;
// padding and copies counted as they should be; no race.
#include "LaidOutText.h"
#include "RandomLayout.h"
#include "SimulatedGpu.h"

#include <bit>
#include <cmath>
#include <numeric>

using namespace sectile::testing;
using namespace sectile::layout;

namespace {

/// Over one or more operands, all of one element type.
struct Region {
  std::string element, text;
  unsigned operands;
  /// left <- left . right
  std::function<void(std::vector<double> &, const std::vector<double> &)> combine;
};

std::string single(const std::string &op, const std::string &element) {
  return "{\n^bb0(%a: " + element + ", %b: " + element + "):\n%c = " + op + " %a, %b : " + element +
         "\ntile.yield %c : " + element + "\n}";
}

Region simple(const std::string &op, const std::string &element, double (*f)(double, double)) {
  return {element, single(op, element), 1,
          [f](auto &left, const auto &right) { left[0] = f(left[0], right[0]); }};
}

double add(double a, double b) {
  return a + b;
}
double largest(double a, double b) {
  return std::max(a, b);
}

/// Composition of x -> m x + c modulo 2^32: associative, not commutative, nothing known of it.
Region affine() {
  return {"i32",
          "{\n^bb0(%m: i32, %c: i32, %n: i32, %d: i32):\n%p = arith.muli %m, %n : i32\n"
          "%q = arith.muli %c, %n : i32\n%r = arith.addi %q, %d : i32\n"
          "tile.yield %p, %r : i32, i32\n}",
          2, [](auto &left, const auto &right) {
            auto word = [](double x) { return uint32_t(int64_t(x)); };
            uint32_t m = word(left[0]), c = word(left[1]), n = word(right[0]), d = word(right[1]);
            left = {double(int32_t(m * n)), double(int32_t(c * n + d))};
          }};
}

/// The larger value and its index, ties to the smaller index.
Region argmax() {
  return {"i32",
          "{\n^bb0(%v: i32, %i: i32, %w: i32, %j: i32):\n%g = arith.cmpi sgt, %v, %w : i32\n"
          "%e = arith.cmpi eq, %v, %w : i32\n%l = arith.cmpi slt, %i, %j : i32\n"
          "%t = arith.andi %e, %l : i1\n%k = arith.ori %g, %t : i1\n"
          "%x = arith.select %k, %v, %w : i32\n%y = arith.select %k, %i, %j : i32\n"
          "tile.yield %x, %y : i32, i32\n}",
          2, [](auto &left, const auto &right) {
            bool keep = left[0] > right[0] || (left[0] == right[0] && left[1] < right[1]);
            if (!keep)
              left = right;
          }};
}

enum class Way { Reduce, Scan, ReverseScan };

std::string textOf(const Region &region, const TileLayout &source, const TileLayout *result,
                   int axis, Way way) {
  const std::string &e = region.element;
  std::string arguments, body, operands, types, results, kernelArguments;
  for (unsigned index = 0; index < region.operands; ++index) {
    std::string n = std::to_string(index);
    kernelArguments += (index ? ", " : "") + pointer("in" + n, e) + ", " + pointer("out" + n, e);
    body += loadLaidOut("x" + n, "in" + n, source, e);
    operands += (index ? ", %x" : "%x") + n;
    types += (index ? ", " : "") + laidOut(source, e);
    results += (index ? ", " : "") + (result ? laidOut(*result, e) : e);
  }
  std::string many = region.operands > 1 ? ":" + std::to_string(region.operands) : "";
  body += "%r" + many + " = tile." + (way == Way::Reduce ? "reduce(" : "scan(") + operands +
          ") axis " + std::to_string(axis) +
          (way == Way::Reduce ? ""
           : way == Way::Scan ? " reverse false"
                              : " reverse true") +
          " : (" + types + ") -> " + (region.operands > 1 ? "(" + results + ")" : results) + " " +
          region.text + "\n";
  for (unsigned index = 0; index < region.operands; ++index) {
    std::string n = std::to_string(index), value = many.empty() ? "%r" : "%r#" + n;
    if (!result) {
      body += "tile.store %out" + n + ", " + value + " : !tile.ptr<" + e + ">\n";
      continue;
    }
    body += pointersLaidOut("o" + n, "out" + n, *result, e) + "tile.store %o" + n + ", " + value +
            " : " + laidOut(*result, "!tile.ptr<" + e + ">") + "\n";
  }
  return kernelText(kernelArguments, body);
}

template <typename T>
SimulatedReport check(const Region &region, const TileLayout &source, const TileLayout *result,
                      int axis, Way way, SimulatedOptions options, unsigned seed = 1) {
  SimulatedKernel kernel(textOf(region, source, result, axis, way), options);
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  if (!kernel.compiled())
    return {};
  std::mt19937 random(seed);
  int64_t count = 1, stride = 1, extent = source.shape()[axis];
  for (int64_t size : source.shape())
    count *= size;
  for (int index = axis + 1; index < source.rank(); ++index)
    stride *= source.shape()[index];
  std::vector<std::vector<T>> in(region.operands), out(region.operands);
  std::vector<HostArgument> arguments;
  for (unsigned index = 0; index < region.operands; ++index) {
    for (int64_t at = 0; at < count; ++at)
      in[index].push_back(T(int(random() % 17) - 8));
    out[index].assign(way == Way::Reduce ? count / extent : count, T(77));
    arguments.push_back(argument(in[index]));
    arguments.push_back(argument(out[index]));
  }
  SimulatedReport report = kernel.run({1}, arguments);
  EXPECT_EQ(report.problem, "");
  int64_t wrong = 0;
  auto compare = [&](int64_t place, const std::vector<double> &expected) {
    for (unsigned index = 0; index < region.operands; ++index)
      wrong += out[index][place] != T(expected[index]);
  };
  for (int64_t outer = 0; outer < count / (extent * stride); ++outer)
    for (int64_t inner = 0; inner < stride; ++inner) {
      std::vector<double> sum;
      for (int64_t step = 0; step < extent; ++step) {
        int64_t at = way == Way::ReverseScan ? extent - 1 - step : step;
        int64_t place = (outer * extent + at) * stride + inner;
        std::vector<double> next;
        for (auto &operand : in)
          next.push_back(double(operand[place]));
        if (sum.empty())
          sum = next;
        else
          region.combine(sum, next);
        if (way != Way::Reduce)
          compare(place, sum);
      }
      if (way == Way::Reduce)
        compare(outer * stride + inner, sum);
    }
  EXPECT_EQ(wrong, 0) << print(source) << " axis " << axis
                      << (result ? " to " + print(*result) : std::string());
  return report;
}

SimulatedOptions warps(unsigned count) {
  SimulatedOptions options;
  options.warps = count;
  return options;
}

TEST(GpuReduce, within_a_thread_there_is_nothing_to_exchange) {
  TileLayout layout = blocked({32, 8}, {1, 8}, {32, 1}, {1, 1}, {1, 0});
  TileLayout slice = sliceOf(layout, 1);
  auto report =
      check<float>(simple("arith.addf", "f32", add), layout, &slice, 1, Way::Reduce, warps(1));
  EXPECT_EQ(report.shuffles, 0);
  EXPECT_EQ(report.barriers, 0);
}

TEST(GpuReduce, one_barrier_between_warps) {
  TileLayout layout = blocked({1024}, {4}, {32}, {4}, {0});
  auto report =
      check<float>(simple("arith.addf", "f32", add), layout, nullptr, 0, Way::Reduce, warps(4));
  EXPECT_EQ(report.shuffles, 5);
  EXPECT_EQ(report.barriers, 1);
  EXPECT_EQ(report.bankConflicts, 0);
  // One store and one load of four numbers for each warp.
  EXPECT_EQ(report.sharedStores, 4);
  EXPECT_EQ(report.sharedLoads, 4);
}

TEST(GpuReduce, copies_are_counted_once) {
  TileLayout layout = blocked({8}, {1}, {32}, {4}, {0});
  auto report =
      check<float>(simple("arith.addf", "f32", add), layout, nullptr, 0, Way::Reduce, warps(4));
  EXPECT_EQ(report.shuffles, 3);
  EXPECT_EQ(report.barriers, 0);
}

TEST(GpuReduce, padding_takes_no_part) {
  TileLayout layout = blocked({100}, {4}, {32}, {1}, {0});
  check<float>(simple("arith.addf", "f32", add), layout, nullptr, 0, Way::Reduce, warps(1));
  for (Way way : {Way::Reduce, Way::Scan, Way::ReverseScan})
    check<int32_t>(argmax(), layout, way == Way::Reduce ? nullptr : &layout, 0, way, warps(1));
}

TEST(GpuReduce, the_result_may_have_any_layout) {
  TileLayout layout = blocked({32, 64}, {1, 4}, {2, 16}, {2, 2}, {1, 0});
  TileLayout result = blocked({32}, {1}, {32}, {4}, {0});
  check<float>(simple("arith.addf", "f32", add), layout, &result, 1, Way::Reduce, warps(4));
  TileLayout rows = blocked({32, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  check<float>(simple("arith.addf", "f32", add), rows, &result, 1, Way::Reduce, warps(4));
}

TEST(GpuScan, a_block_scans_with_one_barrier) {
  TileLayout layout = blocked({2048}, {4}, {32}, {4}, {0});
  auto report = check<int32_t>(affine(), layout, &layout, 0, Way::Scan, warps(4));
  EXPECT_EQ(report.barriers, 1);
  check<int32_t>(affine(), layout, &layout, 0, Way::ReverseScan, warps(4));
}

TEST(GpuScan, a_layout_in_the_wrong_order_is_converted) {
  // Lanes hold neighbours' neighbours.
  TileLayout layout(LinearLayout::fromBases({128}, {{Dim::Register, {{4}, {8}}},
                                                    {Dim::Lane, {{64}, {1}, {2}, {16}, {32}}}}),
                    {128});
  for (Way way : {Way::Scan, Way::ReverseScan})
    check<int32_t>(affine(), layout, &layout, 0, way, warps(1));
}

TEST(GpuReduceScan, random_layouts) {
  std::mt19937 random(11);
  const std::vector<std::vector<int64_t>> shapes = {{64},    {96},       {100},      {1},
                                                    {7},     {1000},     {32, 32},   {16, 48},
                                                    {5, 17}, {4, 8, 16}, {3, 1, 20}, {2, 96, 2}};
  for (int trial = 0; trial < 100; ++trial) {
    const auto &shape = shapes[random() % shapes.size()];
    SimulatedOptions options;
    options.lanes = random() % 3 ? 32 : 64;
    options.warps = 1u << random() % 5;
    TileLayout layout = randomLayout(random, shape, options.lanes, options.warps);
    int axis = random() % shape.size();
    Way way = Way(random() % 3);
    std::optional<TileLayout> result;
    if (way != Way::Reduce)
      result = layout;
    else if (shape.size() > 1) {
      result = sliceOf(layout, axis);
      if (random() % 3 == 0)
        result = randomLayout(random, {result->shape().begin(), result->shape().end()},
                              options.lanes, options.warps);
    }
    const TileLayout *wanted = result ? &*result : nullptr;
    SCOPED_TRACE(trial);
    switch (random() % 7) {
    case 0:
      check<int32_t>(argmax(), layout, wanted, axis, way, options, trial);
      break;
    case 1:
      // Reductions may take any order.
      if (way == Way::Reduce)
        check<int64_t>(simple("arith.addi", "i64", add), layout, wanted, axis, way, options, trial);
      else
        check<int32_t>(affine(), layout, wanted, axis, way, options, trial);
      break;
    case 2:
      check<float>(simple("arith.addf", "f32", add), layout, wanted, axis, way, options, trial);
      break;
    case 3:
      check<double>(simple("arith.maximumf", "f64", largest), layout, wanted, axis, way, options,
                    trial);
      break;
    case 4:
      check<_Float16>(simple("arith.maxnumf", "f16", largest), layout, wanted, axis, way, options,
                      trial);
      break;
    case 5:
      check<int8_t>(simple("arith.minsi", "i8", [](double a, double b) { return std::min(a, b); }),
                    layout, wanted, axis, way, options, trial);
      break;
    case 6:
      check<int16_t>(
          simple("arith.xori", "i16", [](double a, double b) { return double(int(a) ^ int(b)); }),
          layout, wanted, axis, way, options, trial);
      break;
    }
    if (HasFailure())
      break;
  }
}

/// A sum whose function counts the pairs it combines: no lane without an element counts, and no
/// copy.
std::string countingText(const std::string &op, int64_t extent, const std::string &result) {
  std::string n = std::to_string(extent), tile = "tensor<" + n + "xi32>";
  std::string pointers = "tensor<" + n + "x!tile.ptr<i32>>";
  std::string type = result.empty() ? tile : result;
  std::string counts = result.empty() ? pointers : "!tile.ptr<i32>";
  std::string text = "func.func @k(%in: !tile.ptr<i32>, %out: !tile.ptr<i32>, %n: !tile.ptr<i32>) "
                     "attributes {tile.kernel} {\n%i = tile.arange 0, " +
                     n + " : " + tile + "\n";
  for (std::string name : {"in", "out", "n"})
    text += "%" + name + "s = tile.splat %" + name + " : !tile.ptr<i32> -> " + pointers + "\n";
  for (std::string name : {"in", "out"})
    text += "%" + name + "p = tile.ptr_add %" + name + "s, %i : " + pointers + ", " + tile + "\n";
  text += "%x = tile.load %inp : " + pointers + "\n%r:2 = tile." + op + " : (" + tile + ", " +
          pointers + ") -> (" + type + ", " + counts + R"() {
^bb0(%a: i32, %p: !tile.ptr<i32>, %b: i32, %q: !tile.ptr<i32>):
  %one = arith.constant 1 : i32
  %old = tile.atomic_rmw add, relaxed, gpu, %p, %one : !tile.ptr<i32>
  %c = arith.addi %a, %b : i32
  tile.yield %c, %q : i32, !tile.ptr<i32>
}
)";
  text += result.empty() ? "tile.store %outp, %r#0 : " + pointers + "\n"
                         : "tile.store %out, %r#0 : !tile.ptr<i32>\n";
  return text + "return\n}\n";
}

TEST(GpuReduce, a_function_with_effects_meets_each_pair_once) {
  for (unsigned warps : {1, 4})
    for (int64_t extent : {1, 2, 7, 32, 200}) {
      SimulatedKernel kernel(countingText("reduce(%x, %ns) axis 0", extent, "i32"),
                             {.warps = warps});
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      std::vector<int32_t> in(extent), out(1, -1), count(1, 0);
      std::iota(in.begin(), in.end(), -3);
      auto report = kernel.run({1}, {argument(in), argument(out), argument(count)});
      EXPECT_EQ(report.problem, "");
      EXPECT_EQ(out[0], std::accumulate(in.begin(), in.end(), 0));
      EXPECT_EQ(count[0], extent - 1) << warps << " warps";
    }
}

TEST(GpuScan, a_function_with_effects_meets_each_element_once_per_run) {
  for (unsigned warps : {1, 4})
    for (int64_t extent : {1, 2, 7, 32, 200}) {
      SimulatedKernel kernel(countingText("scan(%x, %ns) axis 0 reverse false", extent, ""),
                             {.warps = warps});
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      std::vector<int32_t> in(extent), out(extent, -1), count(1, 0), expected(extent);
      std::iota(in.begin(), in.end(), -3);
      std::partial_sum(in.begin(), in.end(), expected.begin());
      auto report = kernel.run({1}, {argument(in), argument(out), argument(count)});
      EXPECT_EQ(report.problem, "");
      EXPECT_EQ(out, expected);
      int32_t pairs = 0;
      for (int64_t index = 0; index < extent; ++index)
        pairs += std::popcount(uint64_t(index));
      EXPECT_EQ(count[0], pairs) << warps << " warps";
    }
}

} // namespace
