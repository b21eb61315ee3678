// Reductions and scans along every axis, with every kind of combiner.
#include "HostKernelHarness.h"
#include "TileText.h"

#include <cmath>
#include <random>

using namespace sectile::testing;

namespace {

struct Combiner {
  std::string op, element;
  double (*combine)(double, double);
};

const Combiner kCombiners[] = {
    {"arith.addf", "f32", [](double a, double b) { return a + b; }},
    {"arith.maxnumf", "f32", [](double a, double b) { return std::fmax(a, b); }},
    {"arith.minimumf", "f32", [](double a, double b) { return std::min(a, b); }},
    {"arith.mulf", "f32", [](double a, double b) { return a * b; }},
    {"arith.addi", "i32", [](double a, double b) { return a + b; }},
    {"arith.maxsi", "i32", [](double a, double b) { return std::max(a, b); }},
    {"arith.minsi", "i32", [](double a, double b) { return std::min(a, b); }},
    {"arith.xori", "i32", [](double a, double b) { return double(int(a) ^ int(b)); }},
};

std::string region(const std::string &op, const std::string &element) {
  return "{\n^bb0(%a: " + element + ", %b: " + element + "):\n%c = " + op + " %a, %b : " + element +
         "\ntile.yield %c : " + element + "\n}\n";
}

template <typename T>
std::vector<T> inputs(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> numbers(count);
  for (T &number : numbers)
    if constexpr (std::is_floating_point_v<T>)
      number = T(std::uniform_real_distribution<double>(-1.5, 1.5)(generator));
    else
      number = T(std::uniform_int_distribution<int>(-1000, 1000)(generator));
  return numbers;
}

/// Calls visit(line start, stride, extent, index of the result) for every line along `axis`.
template <typename Visit>
void forLines(const Shape &shape, int axis, Visit visit) {
  int64_t stride = 1, line = 0;
  for (size_t dim = axis + 1; dim < shape.size(); ++dim)
    stride *= shape[dim];
  int64_t outer = elementCount(shape) / stride / shape[axis];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t s = 0; s < stride; ++s)
      visit(o * shape[axis] * stride + s, stride, shape[axis], line++);
}

template <typename T>
void checkReduce(const Combiner &combiner, const Shape &shape, int axis, bool isScan,
                 bool isReverse) {
  Shape result = shape;
  if (!isScan)
    result.erase(result.begin() + axis);
  std::string from = tileType(shape, combiner.element);
  std::string to = result.empty() ? combiner.element : tileType(result, combiner.element);
  std::string text = loadTile("x", "in", shape, combiner.element);
  text += std::string("%r = tile.") + (isScan ? "scan" : "reduce") + "(%x) axis " +
          std::to_string(axis) +
          (isScan ? std::string(" reverse ") + (isReverse ? "true" : "false") : "") + " : (" +
          from + ") -> " + to + " " + region(combiner.op, combiner.element);
  if (result.empty())
    text += "tile.store %out, %r : !tile.ptr<" + combiner.element + ">\n";
  else
    text += storeTile("r", "out", result, combiner.element);
  HostKernelUnderTest kernel(
      kernelText(pointer("in", combiner.element) + ", " + pointer("out", combiner.element), text));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
  auto in = inputs<T>(elementCount(shape), 7);
  std::vector<T> out(isScan ? in.size() : in.size() / shape[axis]);
  ASSERT_EQ(kernel.run({1}, {argument(in), argument(out)}), 0);
  forLines(shape, axis, [&](int64_t start, int64_t stride, int64_t extent, int64_t line) {
    double value = 0;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t at = start + stride * (isScan && isReverse ? extent - 1 - i : i);
      value = i ? combiner.combine(value, in[at]) : in[at];
      if (isScan)
        ASSERT_NEAR(out[at], value, 1e-4 * (1 + std::fabs(value)))
            << combiner.op << " line " << line << " at " << i;
    }
    if (!isScan)
      ASSERT_NEAR(out[line], value, 1e-4 * (1 + std::fabs(value)))
          << combiner.op << " " << from << " axis " << axis << " line " << line;
  });
}

void checkAll(const Shape &shape, int axis, bool isScan, bool isReverse) {
  for (const Combiner &combiner : kCombiners) {
    if (combiner.element == "f32")
      checkReduce<float>(combiner, shape, axis, isScan, isReverse);
    else
      checkReduce<int32_t>(combiner, shape, axis, isScan, isReverse);
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

TEST(CpuReduce, along_the_only_axis) {
  for (int64_t extent : {1, 2, 3, 17, 64, 100, 1000})
    checkAll({extent}, 0, false, false);
}

TEST(CpuReduce, along_each_axis) {
  for (const Shape &shape :
       {Shape{5, 17}, Shape{17, 5}, Shape{1, 33}, Shape{33, 1}, Shape{3, 5, 20}})
    for (size_t axis = 0; axis < shape.size(); ++axis)
      checkAll(shape, axis, false, false);
}

TEST(CpuReduce, scans) {
  for (bool isReverse : {false, true}) {
    for (int64_t extent : {1, 2, 3, 16, 17, 100})
      checkAll({extent}, 0, true, isReverse);
    for (int axis : {0, 1})
      checkAll({5, 37}, axis, true, isReverse);
  }
}

TEST(CpuReduce, argmax_takes_the_first) {
  for (int64_t n : {1, 3, 16, 17, 100, 257}) {
    std::string type = tileType({n}, "f32"), index = tileType({n}, "i32");
    std::string text = loadTile("x", "in", {n}, "f32");
    text += "%i = tile.arange 0, " + std::to_string(n) + " : " + index + "\n";
    text += "%v, %w = tile.reduce(%x, %i) axis 0 : (" + type + ", " + index +
            ") -> (f32, i32) {\n" + R"(
^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
  %gt = arith.cmpf ogt, %a, %b : f32
  %eq = arith.cmpf oeq, %a, %b : f32
  %lt = arith.cmpi slt, %ai, %bi : i32
  %tie = arith.andi %eq, %lt : i1
  %left = arith.ori %gt, %tie : i1
  %m = arith.select %left, %a, %b : f32
  %mi = arith.select %left, %ai, %bi : i32
  tile.yield %m, %mi : f32, i32
}
tile.store %out, %v : !tile.ptr<f32>
tile.store %where, %w : !tile.ptr<i32>
)";
    HostKernelUnderTest kernel(kernelText(pointer("in", "f32") + ", " + pointer("out", "f32") +
                                              ", " + pointer("where", "i32"),
                                          text));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    auto in = inputs<float>(n, n);
    for (float &number : in)
      number = std::round(number * 3); // many ties
    std::vector<float> out(1);
    std::vector<int32_t> where(1);
    ASSERT_EQ(kernel.run({1}, {argument(in), argument(out), argument(where)}), 0);
    auto best = std::max_element(in.begin(), in.end());
    EXPECT_EQ(out[0], *best);
    EXPECT_EQ(where[0], best - in.begin()) << n;
  }
}

} // namespace
