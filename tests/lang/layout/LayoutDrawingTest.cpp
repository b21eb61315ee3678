// Descriptions and drawings: what people see.
#include "lang/layout/LayoutDrawing.h"

#include "lang/layout/LayoutText.h"

#include <gtest/gtest.h>

using namespace sectile::layout;

namespace {

std::string drawn(llvm::StringRef description) {
  std::string problem;
  auto described = parseDescription(description, problem);
  if (!described)
    return problem;
  if (auto *tile = std::get_if<TileLayout>(&described->layout))
    return draw(*tile);
  return draw(std::get<SharedLayout>(described->layout), described->elementBits);
}

TEST(LayoutDrawing, registers_of_lanes) {
  EXPECT_EQ(drawn("blocked 4x8 f32 size=1,2 threads=4,2 warps=2,1"),
            R"(tile 4x8: 2 warps of 8 lanes, 4 registers per lane
block 4x8, repeated 1x1; warps with bits 0x1 set hold copies
cells: warp.lane:registers of 2 neighbours
    |        0        2        4        6
  0 |  0.0:0-1  0.1:0-1  0.0:2-3  0.1:2-3
  1 |  0.2:0-1  0.3:0-1  0.2:2-3  0.3:2-3
  2 |  0.4:0-1  0.5:0-1  0.4:2-3  0.5:2-3
  3 |  0.6:0-1  0.7:0-1  0.6:2-3  0.7:2-3
)");
}

TEST(LayoutDrawing, accumulator_of_mma) {
  EXPECT_EQ(drawn("accumulator 16x8 f16"), R"(tile 16x8: 1 warp of 32 lanes, 4 registers per lane
block 16x8, repeated 1x1
cells: lane:registers of 2 neighbours
     |       0       2       4       6
   0 |   0:0-1   1:0-1   2:0-1   3:0-1
   1 |   4:0-1   5:0-1   6:0-1   7:0-1
   2 |   8:0-1   9:0-1  10:0-1  11:0-1
   3 |  12:0-1  13:0-1  14:0-1  15:0-1
   4 |  16:0-1  17:0-1  18:0-1  19:0-1
   5 |  20:0-1  21:0-1  22:0-1  23:0-1
   6 |  24:0-1  25:0-1  26:0-1  27:0-1
   7 |  28:0-1  29:0-1  30:0-1  31:0-1
   8 |   0:2-3   1:2-3   2:2-3   3:2-3
   9 |   4:2-3   5:2-3   6:2-3   7:2-3
  10 |   8:2-3   9:2-3  10:2-3  11:2-3
  11 |  12:2-3  13:2-3  14:2-3  15:2-3
  12 |  16:2-3  17:2-3  18:2-3  19:2-3
  13 |  20:2-3  21:2-3  22:2-3  23:2-3
  14 |  24:2-3  25:2-3  26:2-3  27:2-3
  15 |  28:2-3  29:2-3  30:2-3  31:2-3
)");
}

TEST(LayoutDrawing, swizzled_buffer) {
  EXPECT_EQ(drawn("shared 4x32 f16 vector=8 maxphase=4"),
            R"(buffer 4x32 of 16-bit elements: 256 bytes, block 4x32
cells: offset in elements @ bank of 4 bytes, of 8 neighbours
    |       0       8      16      24
  0 |     0@0     8@4    16@8   24@12
  1 |   40@20   32@16   56@28   48@24
  2 |    80@8   88@12    64@0    72@4
  3 |  120@28  112@24  104@20   96@16
a warp along rows:          8 elements per lane, no bank conflicts
a warp down a column:       1 element per lane, no bank conflicts
8 rows of 16 bytes at once: 8 elements per lane, no bank conflicts
)");
  EXPECT_NE(drawn("shared 64x64 f32")
                .find("a warp down a column:       1 element per lane, 32-way bank conflicts"),
            std::string::npos);
}

TEST(LayoutDrawing, large_tiles_are_elided) {
  std::string text = drawn("blocked 128x1024 f32");
  EXPECT_NE(text.find("  ..."), std::string::npos);
  EXPECT_NE(text.find("  ... 112 more rows\n"), std::string::npos);
  EXPECT_LT(text.size(), 4000u);
}

TEST(LayoutDrawing, attributes_can_be_drawn) {
  EXPECT_EQ(drawn("#tile.layout<4, register = [1], lane = [2]>"),
            R"(tile 4: 1 warp of 2 lanes, 2 registers per lane
block 4, repeated 1
cells: lane:registers of 2 neighbours
    |      0      2
  0 |  0:0-1  1:0-1
)");
}

TEST(LayoutDrawing, conversions_are_told) {
  auto tile = [](llvm::StringRef text) {
    std::string problem;
    auto described = parseDescription(text, problem);
    EXPECT_TRUE(described) << problem;
    return std::get<TileLayout>(described->layout);
  };
  EXPECT_EQ(drawConversion(tile("accumulator 64x96 f16 warps=4,1"),
                           tile("operand-a 64x96 f16 warps=4,1"), 16),
            "conversion: within each thread, registers are renamed\n");
  EXPECT_EQ(drawConversion(tile("blocked 64x64 f16"), tile("operand-b 64x64 f16 warps=2,2"), 16),
            R"(conversion: through 8192 bytes of shared memory in 1 round
  writes 8 of 4 elements per thread, bank conflicts: 0
  reads 16 of 4 elements per thread, bank conflicts: 0
)");
}

TEST(LayoutDrawing, matrix_instructions_of_amd) {
  auto text = [](llvm::StringRef description) { return drawn(description).substr(0, 60); };
  EXPECT_EQ(text("accumulator 32x32 gfx942:mfma.m32n32k8.f32.f16.f16"),
            "tile 32x32: 1 warp of 64 lanes, 16 registers per lane\nblock ");
  EXPECT_EQ(text("operand-a 16x16 f16 gfx1100"),
            "tile 16x16: 1 warp of 32 lanes, 16 registers per lane\nblock ");
  EXPECT_NE(drawn("accumulator 16x16 gfx90a:mfma.m16n16k16.f32.f16.f16"),
            drawn("accumulator 16x16 gfx90a:mfma.m16n16k16.f32.f16.f16.exchanged"));
  EXPECT_EQ(drawn("accumulator 16x16 f16 gfx906"),
            "layout: 'gfx906' is not gfx90a, gfx942, gfx950, gfx1100 or gfx1201");
  EXPECT_EQ(drawn("accumulator 16x16 f64 gfx1100"),
            "layout: no instruction has operands of 64 bits");
  EXPECT_EQ(drawn("accumulator 16x16 gfx942:mma"), "layout: gfx942 has no instruction 'mma'");
  EXPECT_EQ(drawn("blocked 16x16 f16 gfx942"), "layout: 'gfx942' is for matrix instructions");
}

TEST(LayoutDrawing, what_is_not_understood_is_refused) {
  EXPECT_EQ(drawn("blocked"), "layout: no shape given");
  EXPECT_EQ(drawn("block 4x4"),
            "layout: 'block' is not blocked, accumulator, operand-a, operand-b or shared");
  EXPECT_EQ(drawn("blocked 4y4"), "layout: '4y4' is not a shape such as 128x64");
  EXPECT_EQ(drawn("blocked 4x4 f17"), "layout: 'f17' is not an element type such as f16");
  EXPECT_EQ(drawn("blocked 4x4 warps=3"), "layout: warps should be powers of two up to 1024");
  EXPECT_EQ(drawn("blocked 4x4 kwidth=2"), "layout: option kwidth is not one of a blocked layout");
  EXPECT_EQ(drawn("blocked 4x4 order=0,0"), "layout: order should name every axis once");
  EXPECT_EQ(drawn("blocked 99999999x4"),
            "layout: shape 99999999x4 should have from 1 to 2^24 elements");
  EXPECT_EQ(drawn("accumulator 16 f16"), "layout: a matrix has two axes or more");
  EXPECT_EQ(drawn("shared 64x64 f16 swizzle=48"), "layout: swizzle should be 32, 64 or 128 bytes");
  EXPECT_EQ(drawn("#tile.layout<4, lane = [1 x]>"),
            "layout: expected the coordinates of a bit, one per axis of the shape");
}

} // namespace
