// Ops that rearrange elements, of one to three dimensions, through loads, buffers and each other.
#include "HostKernelHarness.h"
#include "TileText.h"

using namespace sectile::testing;

namespace {

std::vector<float> numbered(int64_t count) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = float(i) + 0.5f;
  return numbers;
}

/// Runs `op` (text that makes %r of %x) and compares with `expected(flat result index)`: the flat
/// index of the source element that belongs there.
void checkRearrangement(const Shape &from, const Shape &to, const std::string &op,
                        const std::function<int64_t(std::vector<int64_t>)> &expected) {
  // Once on the load itself, once on a value that is kept in a buffer (it is also reduced).
  for (bool isKept : {false, true}) {
    std::string text = loadTile("x0", "in", from, "f32");
    std::string type = tileType(from, "f32");
    if (isKept)
      text += "%one = arith.constant dense<1.0> : " + type + "\n%e0 = math.exp2 %x0 : " + type +
              "\n%x = math.log2 %e0 : " + type + "\n";
    else
      text += "%zero = arith.constant dense<-0.0> : " + type +
              "\n%x = arith.addf %x0, %zero : " + type + "\n";
    text += op + storeTile("r", "out", to, "f32");
    HostKernelUnderTest kernel(
        kernelText(pointer("in", "f32") + ", " + pointer("out", "f32"), text));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
    auto in = numbered(elementCount(from));
    if (isKept)
      for (float &number : in)
        number /= 256;
    std::vector<float> out(elementCount(to), -1);
    ASSERT_EQ(kernel.run({1}, {argument(in), argument(out)}), 0);
    std::vector<int64_t> at(to.size());
    for (int64_t flat = 0; flat < elementCount(to); ++flat) {
      int64_t rest = flat;
      for (size_t dim = to.size(); dim-- > 0;) {
        at[dim] = rest % to[dim];
        rest /= to[dim];
      }
      ASSERT_NEAR(out[flat], in[expected(at)], isKept ? 1e-4 : 0) << "element " << flat << "\n"
                                                                  << text;
    }
  }
}

TEST(CpuShape, copies_in_one_to_three_dimensions) {
  for (const Shape &shape : {Shape{1}, Shape{3}, Shape{100}, Shape{5, 17}, Shape{17, 1},
                             Shape{1, 40}, Shape{3, 5, 7}, Shape{2, 1, 33}}) {
    auto type = tileType(shape, "f32");
    auto flat = [&](std::vector<int64_t> at) {
      int64_t number = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        number = number * shape[dim] + at[dim];
      return number;
    };
    checkRearrangement(shape, shape,
                       "%z = arith.constant dense<-0.0> : " + type +
                           "\n%r = arith.addf %x, %z : " + type + "\n",
                       flat);
  }
}

TEST(CpuShape, transposes) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 17}, {16, 32}, {33, 3}, {64, 64}})
    checkRearrangement({m, n}, {n, m},
                       "%r = tile.transpose %x [1, 0] : " + tileType({m, n}, "f32") + " -> " +
                           tileType({n, m}, "f32") + "\n",
                       [n = n](std::vector<int64_t> at) { return at[1] * n + at[0]; });
  checkRearrangement(
      {3, 5, 18}, {18, 3, 5},
      "%r = tile.transpose %x [2, 0, 1] : tensor<3x5x18xf32> -> tensor<18x3x5xf32>\n",
      [](std::vector<int64_t> at) { return (at[1] * 5 + at[2]) * 18 + at[0]; });
}

TEST(CpuShape, reshapes) {
  auto check = [](Shape from, Shape to) {
    checkRearrangement(from, to,
                       "%r = tile.reshape %x : " + tileType(from, "f32") + " -> " +
                           tileType(to, "f32") + "\n",
                       [to](std::vector<int64_t> at) {
                         int64_t number = 0;
                         for (size_t dim = 0; dim < to.size(); ++dim)
                           number = number * to[dim] + at[dim];
                         return number;
                       });
  };
  check({8, 16}, {128});
  check({128}, {8, 16});
  check({6, 10}, {15, 4});
  check({100}, {5, 20});
  check({5, 20}, {100});
  check({4, 6, 10}, {24, 10});
  check({4, 60}, {4, 6, 10});
  check({1, 64}, {64});
  check({64}, {64, 1});
}

TEST(CpuShape, flips) {
  checkRearrangement({17}, {17}, "%r = tile.flip %x {axis = 0 : i32} : tensor<17xf32>\n",
                     [](std::vector<int64_t> at) { return 16 - at[0]; });
  checkRearrangement({4, 33}, {4, 33}, "%r = tile.flip %x {axis = 1 : i32} : tensor<4x33xf32>\n",
                     [](std::vector<int64_t> at) { return at[0] * 33 + 32 - at[1]; });
  checkRearrangement({4, 33}, {4, 33}, "%r = tile.flip %x {axis = 0 : i32} : tensor<4x33xf32>\n",
                     [](std::vector<int64_t> at) { return (3 - at[0]) * 33 + at[1]; });
}

TEST(CpuShape, joins_and_splits) {
  checkRearrangement({19}, {19, 2},
                     "%f = tile.flip %x {axis = 0 : i32} : tensor<19xf32>\n"
                     "%r = tile.join %x, %f : tensor<19xf32> -> tensor<19x2xf32>\n",
                     [](std::vector<int64_t> at) { return at[1] ? 18 - at[0] : at[0]; });
  checkRearrangement(
      {19}, {38},
      "%f = tile.flip %x {axis = 0 : i32} : tensor<19xf32>\n"
      "%j = tile.join %x, %f : tensor<19xf32> -> tensor<19x2xf32>\n"
      "%r = tile.reshape %j : tensor<19x2xf32> -> tensor<38xf32>\n",
      [](std::vector<int64_t> at) { return at[0] % 2 ? 18 - at[0] / 2 : at[0] / 2; });
  checkRearrangement({21, 2}, {21}, "%l, %r = tile.split %x : tensor<21x2xf32> -> tensor<21xf32>\n",
                     [](std::vector<int64_t> at) { return at[0] * 2 + 1; });
}

TEST(CpuShape, concatenates_and_gathers) {
  checkRearrangement(
      {19}, {38},
      "%f = tile.flip %x {axis = 0 : i32} : tensor<19xf32>\n"
      "%r = tile.cat %x, %f {axis = 0 : i32} : tensor<19xf32>, tensor<19xf32> -> tensor<38xf32>\n",
      [](std::vector<int64_t> at) { return at[0] < 19 ? at[0] : 37 - at[0]; });
  checkRearrangement({3, 5}, {6, 5},
                     "%r = tile.cat %x, %x {axis = 0 : i32} : tensor<3x5xf32>, tensor<3x5xf32> -> "
                     "tensor<6x5xf32>\n",
                     [](std::vector<int64_t> at) { return at[0] % 3 * 5 + at[1]; });
  checkRearrangement({40}, {17},
                     "%a = tile.arange 0, 17 : tensor<17xi32>\n"
                     "%c = arith.constant dense<2> : tensor<17xi32>\n"
                     "%i = arith.muli %a, %c : tensor<17xi32>\n"
                     "%r = tile.gather %x[%i] {axis = 0 : i32} : tensor<40xf32>, tensor<17xi32> -> "
                     "tensor<17xf32>\n",
                     [](std::vector<int64_t> at) { return at[0] * 2; });
}

} // namespace
