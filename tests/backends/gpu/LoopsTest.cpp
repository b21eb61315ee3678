// Loops whose loads run ahead, on the simulated GPU: every row once, none beyond the last, wherever
// the bounds lie.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <limits>
#include <random>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();

struct Bounds {
  int32_t low, high, step;
  int64_t trips() const { return low < high ? (int64_t(high) - low + step - 1) / step : 0; }
};

const Bounds kBounds[] = {{0, 5, 1},
                          {0, 0, 1},
                          {3, 2, 1},
                          {-4, 5, 3},
                          {7, 8, 100},
                          {kMost - 5, kMost, 2},
                          {kLeast, kMost, 1 << 30},
                          {kLeast, kLeast + 3, kMost},
                          {0, kMost, kMost / 2 + 3}};

/// For each row: y = x - sum(x), rows behind carried pointers, `columns` of `extent` in each.
std::string rowsText(const std::string &type, int64_t extent, int64_t columns) {
  Shape shape{extent};
  std::string tile = tileType(shape, type), wide = tileType(shape, "i32");
  std::string pointers = tileType(shape, "!tile.ptr<" + type + ">");
  std::string count = std::to_string(extent), last = std::to_string(columns);
  std::string widened = type == "i32" ? "%w = arith.addi %x, %zeros : " + wide + "\n"
                                      : "%w = arith.extsi %x : " + tile + " to " + wide + "\n";
  return "func.func @k(%in: !tile.ptr<" + type +
         "> {tile.divisibility = 16 : i64}, %out: !tile.ptr<i32>, %low: i32, %high: i32, %step: "
         "i32) attributes {tile.kernel} {\n"
         "%i = tile.arange 0, " +
         count + " : " + wide + "\n%zeros = arith.constant dense<0> : " + wide +
         "\n%extent = arith.constant " + last + " : i32\n%end = tile.splat %extent : i32 -> " +
         wide + "\n%m = arith.cmpi slt, %i, %end : " + wide +
         "\n%r:2 = scf.for %k = %low to %high step %step iter_args(%p = %in, %q = %out) -> "
         "(!tile.ptr<" +
         type +
         ">, !tile.ptr<i32>) : i32 {\n"
         "%ps = tile.splat %p : !tile.ptr<" +
         type + "> -> " + pointers + "\n%pi = tile.ptr_add %ps, %i : " + pointers + ", " + wide +
         "\n%x = tile.load %pi, %m : " + pointers + "\n" + widened +
         "%wm = arith.select %m, %w, %zeros : " + tileType(shape, "i1") + ", " + wide +
         "\n%s = tile.reduce(%wm) axis 0 : (" + wide +
         ") -> i32 {\n^bb0(%a: i32, %b: i32):\n%c = arith.addi %a, %b : i32\n"
         "tile.yield %c : i32\n}\n%ss = tile.splat %s : i32 -> " +
         wide + "\n%y = arith.subi %wm, %ss : " + wide +
         "\n%qs = tile.splat %q : !tile.ptr<i32> -> " + tileType(shape, "!tile.ptr<i32>") +
         "\n%qi = tile.ptr_add %qs, %i : " + tileType(shape, "!tile.ptr<i32>") + ", " + wide +
         "\ntile.store %qi, %y, %m : " + tileType(shape, "!tile.ptr<i32>") +
         "\n%row = arith.constant " + last + " : i32\n%pn = tile.ptr_add %p, %row : !tile.ptr<" +
         type +
         ">, i32\n%qn = tile.ptr_add %q, %row : !tile.ptr<i32>, i32\n"
         "scf.yield %pn, %qn : !tile.ptr<" +
         type + ">, !tile.ptr<i32>\n}\nreturn\n}\n";
}

enum class Wait { InRegisters, InSharedMemory };

template <class T>
void checkRowsOn(unsigned lanes, const std::string &type, int64_t extent, int64_t columns,
                 Wait where) {
  SCOPED_TRACE(lanes);
  bool isShared = where == Wait::InSharedMemory;
  SimulatedOptions options{.lanes = lanes, .abilities = SimulatedAbilities::all()};
  if (isShared)
    options.warps = 256 / lanes;
  SimulatedKernel kernel(rowsText(type, extent, columns), options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  size_t first = kernel.tileText.find(isShared ? "tile.async_copy" : "tile.load");
  ASSERT_LT(first, kernel.tileText.find("scf.for")) << "nothing runs ahead\n" << kernel.tileText;
  std::mt19937 random(5);
  for (Bounds bounds : kBounds) {
    int64_t rows = bounds.trips();
    // No element more than is read: one beyond would be noticed.
    std::vector<T> in(std::max<int64_t>(rows * columns, 1));
    for (T &number : in)
      number = T(random());
    std::vector<int32_t> out(in.size(), 77), expected(in.size(), 77);
    for (int64_t row = 0; row < rows; ++row) {
      uint32_t sum = 0;
      for (int64_t column = 0; column < columns; ++column)
        sum += uint32_t(int32_t(in[row * columns + column]));
      for (int64_t column = 0; column < columns; ++column)
        expected[row * columns + column] =
            int32_t(uint32_t(int32_t(in[row * columns + column])) - sum);
    }
    SimulatedReport report = kernel.run({1}, {argument(in), argument(out), argument(bounds.low),
                                              argument(bounds.high), argument(bounds.step)});
    EXPECT_EQ(report.problem, "") << bounds.low << " " << bounds.high << " " << bounds.step;
    EXPECT_EQ(out, expected) << bounds.low << " " << bounds.high << " " << bounds.step;
  }
}

template <class T>
void checkRows(const std::string &type, int64_t extent, int64_t columns,
               Wait where = Wait::InRegisters) {
  for (unsigned lanes : {32u, 64u})
    checkRowsOn<T>(lanes, type, extent, columns, where);
}

TEST(GpuLoops, rows_ahead_in_words) {
  checkRows<int32_t>("i32", 256, 255);
}
TEST(GpuLoops, rows_ahead_two_to_a_word) {
  checkRows<int16_t>("i16", 256, 255);
}
TEST(GpuLoops, rows_ahead_four_to_a_word) {
  checkRows<int8_t>("i8", 1024, 1008);
}
TEST(GpuLoops, rows_ahead_fewer_than_threads) {
  checkRows<int16_t>("i16", 100, 99);
}
// 256 numbers in each thread.
TEST(GpuLoops, rows_ahead_in_shared_memory) {
  checkRows<int32_t>("i32", 65536, 65535, Wait::InSharedMemory);
}
// With 64 lanes the prices of LayoutCost, which are NVIDIA's, make single elements as good as
// vectors, and no copy takes two bytes.
TEST(GpuLoops, rows_ahead_in_shared_memory_by_vectors) {
  checkRowsOn<int16_t>(32, "i16", 65536, 65520, Wait::InSharedMemory);
}

} // namespace
