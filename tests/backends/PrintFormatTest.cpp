// The text of device_print: labels, types, tiles as NumPy lays them out.
#include "backends/plain/PrintFormat.h"

#include "backends/plain/TileFormat.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace sectile::backends;
using sectile::lang::DType;
using sectile::lang::ScalarKind;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

template <class T>
std::string tileText(ScalarKind kind, const std::vector<int64_t> &shape, std::vector<T> elements,
                     uint64_t mostElements = 0, bool isHexadecimal = false) {
  return formatTile(DType::scalar(kind), shape, elements.data(), isHexadecimal, mostElements).text;
}

std::vector<int32_t> numbers(int count) {
  std::vector<int32_t> result(count);
  for (int i = 0; i < count; ++i)
    result[i] = i;
  return result;
}

TEST(TileFormat, points_stand_below_points) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(tileText<float>(ScalarKind::Float32, {2, 3}, {1.5, -2, 0.25, 100, infinity, -infinity}),
            "[[  1.5   -2.0    0.25]\n"
            " [100.0     inf   -inf]]");
  EXPECT_EQ(tileText<float>(ScalarKind::Float32, {3}, {1, 2.5e20f, -1e-7f}),
            "[    1.0 2.5e+20  -1e-07]");
  EXPECT_EQ(tileText<float>(ScalarKind::Float32, {2}, {infinity, 1}), "[inf 1.0]");
}

TEST(TileFormat, integers_truths_and_bits) {
  EXPECT_EQ(tileText<int8_t>(ScalarKind::Int8, {2, 2}, {1, -100, 20, 3}), "[[   1 -100]\n"
                                                                          " [  20    3]]");
  EXPECT_EQ(tileText<uint8_t>(ScalarKind::UInt8, {2}, {255, 3}), "[255   3]");
  EXPECT_EQ(tileText<uint8_t>(ScalarKind::Int1, {2}, {1, 0}), "[ True False]");
  EXPECT_EQ(tileText<uint16_t>(ScalarKind::Float16, {2}, {0x3c00, 1}, 0, true), "[0x3c00 0x0001]");
}

TEST(TileFormat, deep_tiles_have_empty_lines_between_blocks) {
  EXPECT_EQ(tileText(ScalarKind::Int32, {2, 2, 2}, numbers(8)), "[[[0 1]\n"
                                                                "  [2 3]]\n"
                                                                "\n"
                                                                " [[4 5]\n"
                                                                "  [6 7]]]");
  EXPECT_EQ(tileText(ScalarKind::Int32, {1, 1, 1}, numbers(1)), "[[[0]]]");
}

TEST(TileFormat, long_rows_go_on_in_the_next_line) {
  std::string text = tileText(ScalarKind::Int32, {2, 40}, numbers(80));
  EXPECT_THAT(text, StartsWith("[[ 0  1  2 "));
  EXPECT_THAT(text, HasSubstr(" 23 24\n  25 26 ")); // behind the 80 columns
  EXPECT_THAT(text, HasSubstr(" 39]\n [40 41 "));
  EXPECT_THAT(text, EndsWith(" 79]]"));
}

TEST(TileFormat, large_tiles_are_cut_short_along_their_long_axes) {
  std::vector<int32_t> elements = numbers(7 * 2 * 10);
  FormattedTile tile =
      formatTile(DType::scalar(ScalarKind::Int32), {14, 10}, elements.data(), false, 139);
  EXPECT_EQ(tile.text, "[[  0   1   2 ...   7   8   9]\n"
                       " [ 10  11  12 ...  17  18  19]\n"
                       " [ 20  21  22 ...  27  28  29]\n"
                       " ...\n"
                       " [110 111 112 ... 117 118 119]\n"
                       " [120 121 122 ... 127 128 129]\n"
                       " [130 131 132 ... 137 138 139]]");
  EXPECT_EQ(tile.leftOut, 140 - 36);
  tile = formatTile(DType::scalar(ScalarKind::Int32), {2, 70}, elements.data(), false, 100);
  EXPECT_EQ(tile.text, "[[  0   1   2 ...  67  68  69]\n"
                       " [ 70  71  72 ... 137 138 139]]");
  EXPECT_EQ(tile.leftOut, 128);
  for (uint64_t most : {0, 140})
    EXPECT_EQ(formatTile(DType::scalar(ScalarKind::Int32), {14, 10}, elements.data(), false, most)
                  .leftOut,
              0);
}

PrintSite site(std::string prefix, std::vector<PrintSite::Operand> operands) {
  PrintSite result;
  result.prefix = std::move(prefix);
  result.operands = std::move(operands);
  return result;
}

const DType kInt = DType::scalar(ScalarKind::Int32);

TEST(PrintFormat, scalars_take_a_line) {
  int64_t data[] = {42, 7};
  for (const char *prefix : {"x", "x:", " x: ", "x: "})
    EXPECT_EQ(formatPrint(site(prefix, {{kInt, {}, "load(p)"}}), 7, 2, 3, data),
              "pid (1, 0, 1) x: 42\n");
  EXPECT_EQ(formatPrint(site("x = ", {{kInt, {}, ""}}), 0, 1, 1, data), "pid (0, 0, 0) x = 42\n");
  EXPECT_EQ(formatPrint(site("", {{kInt, {}, "n"}}), 0, 1, 1, data), "pid (0, 0, 0) n = 42\n");
  EXPECT_EQ(formatPrint(site("", {{kInt, {}, ""}}), 0, 1, 1, data), "pid (0, 0, 0) 42\n");
  EXPECT_EQ(formatPrint(site("at", {{kInt, {}, "n"}, {kInt, {}, ""}}), 0, 1, 1, data),
            "pid (0, 0, 0) at: n = 42\npid (0, 0, 0) at: operand 2 = 7\n");
  EXPECT_EQ(formatPrint(site("here", {}), 0, 1, 1, data), "pid (0, 0, 0) here\n");
}

TEST(PrintFormat, tiles_have_their_type_and_start_a_line_where_they_are_long) {
  std::vector<int32_t> data = numbers(64);
  EXPECT_EQ(formatPrint(site("x", {{kInt, {3}, "a"}}), 0, 1, 1, data.data()),
            "pid (0, 0, 0) x: i32[3] [0 1 2]\n");
  EXPECT_EQ(
      formatPrint(site("x", {{kInt, {3}, "a"}, {kInt, {2, 1}, "b + 1"}}), 0, 1, 1, data.data()),
      "pid (0, 0, 0) x: a = i32[3] [0 1 2]\n"
      "pid (0, 0, 0) x: b + 1 = i32[2x1]\n[[4]\n [5]]\n"); // aligned to 8 bytes
  EXPECT_EQ(formatPrint(site("x", {{kInt, {22}, "a"}}), 0, 1, 1, data.data()),
            "pid (0, 0, 0) x: i32[22]\n"
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21]\n");
  EXPECT_EQ(formatPrint(site("x", {{kInt, {64}, "a"}}), 0, 1, 1, data.data(), {.mostElements = 63}),
            "pid (0, 0, 0) x: i32[64], 58 of 64 elements left out (SECTILE_PRINT_ELEMENTS=64 "
            "shows all)\n[ 0  1  2 ... 61 62 63]\n");
  EXPECT_EQ(printedBytes(site("x", {{kInt, {3}, "a"}, {kInt, {2, 1}, "b"}, {kInt, {}, ""}})), 32u);
}

TEST(PrintFormat, as_triton_a_line_for_each_element) {
  const PrintStyle triton{.mostElements = 1, .isTriton = true};
  std::vector<int32_t> data = numbers(12);
  EXPECT_EQ(
      formatPrint(site("x", {{kInt, {2, 1}, "a"}, {kInt, {}, "b"}}), 7, 2, 3, data.data(), triton),
      "pid (1, 0, 1) idx (0, 0) x: (operand 0) 0\n"
      "pid (1, 0, 1) idx (1, 0) x: (operand 0) 1\n"
      "pid (1, 0, 1) idx () x: (operand 1) 2\n");
  EXPECT_EQ(formatPrint(site("", {{kInt, {}, ""}}), 0, 1, 1, data.data(), triton),
            "pid (0, 0, 0) idx (): 0\n");
  EXPECT_EQ(formatPrint(site("here", {}), 0, 1, 1, data.data(), triton), "pid (0, 0, 0) here\n");
  double numbers[] = {-1.5, 1e300};
  std::string text = formatPrint(site("x: ", {{DType::scalar(ScalarKind::Float64), {2}, ""}}), 0, 1,
                                 1, numbers, triton);
  EXPECT_TRUE(text.starts_with("pid (0, 0, 0) idx (0) x: -1.500000\n")) << text;
  EXPECT_EQ(text.size(), 35u + 25u + 301u + 8u);
}

} // namespace
