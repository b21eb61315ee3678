// Buffers in shared memory: places, banks, and access by the threads of a tile.
#include "lang/layout/SharedLayout.h"

#include "MmaFragments.h"
#include "RandomLayouts.h"
#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/LayoutText.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <set>

using namespace sectile::layout;

namespace {

const Extents kShapes[] = {{96, 160}, {100, 96}, {64, 176},  {7, 5},
                           {64, 781}, {128, 64}, {3, 32, 48}};

class Buffers : public testing::Test {
protected:
  /// Blocks follow one another in any order.
  SharedLayout randomBuffer(Counts shape) {
    SharedLayout built = builtBuffer(shape);
    return SharedLayout(built.offsets(), shape, built.padding(), random.order(shape.size()));
  }
  SharedLayout builtBuffer(Counts shape) {
    auto order = random.order(shape.size());
    switch (random.below(4)) {
    case 0:
      return contiguousShared(shape, order);
    case 1:
      return swizzledShared(shape, order, random.oneOf<int64_t>({1, 2, 4, 8}),
                            random.oneOf<int64_t>({1, 2, 4}), random.oneOf<int64_t>({1, 4, 8}));
    case 2:
      return panelSwizzledShared(shape, order, 16, random.oneOf<int64_t>({32, 64, 128}));
    default:
      return paddedShared(shape, order, random.oneOf<int64_t>({0, 1, 4, 8}));
    }
  }
  RandomLayouts random{31};
};

template <class Visit>
void forEachElement(Counts shape, Visit visit) {
  Coordinates element(shape.size(), 0);
  for (size_t index = 0; index < shape.size();) {
    visit(element);
    for (index = 0; index < shape.size() && ++element[index] == shape[index]; ++index)
      element[index] = 0;
  }
}

TEST_F(Buffers, every_element_has_a_place_of_its_own) {
  for (const Extents &shape : kShapes)
    for (int trial = 0; trial < 8; ++trial) {
      SharedLayout buffer = randomBuffer(shape);
      std::set<int64_t> places;
      forEachElement(shape, [&](const Coordinates &element) {
        int64_t offset = buffer.offsetOf(element);
        EXPECT_TRUE(offset >= 0 && offset < buffer.elements());
        EXPECT_TRUE(places.insert(offset).second);
      });
    }
}

TEST_F(Buffers, swizzle_is_the_formula) {
  SharedLayout buffer = swizzledShared({64, 128}, {1, 0}, 8, 2, 4);
  forEachElement({64, 128}, [&](const Coordinates &element) {
    int64_t row = element[0], column = element[1];
    int64_t piece = (column / 8) ^ (row / 2 % 4);
    EXPECT_EQ(buffer.offsetOf(element), row * 128 + piece * 8 + column % 8);
  });
  // Columns contiguous: the roles are exchanged.
  SharedLayout other = swizzledShared({128, 64}, {0, 1}, 8, 2, 4);
  forEachElement({128, 64}, [&](const Coordinates &element) {
    EXPECT_EQ(other.offsetOf(element), buffer.offsetOf({element[1], element[0]}));
  });
}

TEST_F(Buffers, panels_are_swizzled_as_tma_does_it) {
  for (int64_t bytes : {32, 64, 128}) {
    SharedLayout buffer = panelSwizzledShared({64, 256}, {1, 0}, 16, bytes);
    int64_t panel = bytes / 2;
    forEachElement({64, 256}, [&](const Coordinates &element) {
      // In bytes, bits 4.. are exchanged with bits 7.. : 128-byte groups of rows.
      int64_t linear = (element[0] * panel + element[1] % panel) * 2;
      linear ^= (linear >> 7 & (bytes / 16 - 1)) << 4;
      EXPECT_EQ(buffer.offsetOf(element), element[1] / panel * 64 * panel + linear / 2);
    });
  }
}

TEST_F(Buffers, padding_follows_every_row) {
  SharedLayout buffer = paddedShared({64, 32}, {1, 0}, 4);
  forEachElement({64, 32}, [&](const Coordinates &element) {
    EXPECT_EQ(buffer.offsetOf(element), element[0] * 36 + element[1]);
  });
  EXPECT_EQ(buffer.elements(), 63 * 36 + 32);
}

TEST_F(Buffers, threads_reach_their_elements) {
  for (const Extents &shape : kShapes)
    for (int64_t lanes : {32, 64})
      for (int trial = 0; trial < 12; ++trial) {
        SharedLayout buffer = randomBuffer(shape);
        TileLayout tile = random.blockedTile(shape, lanes, random.oneOf<int64_t>({1, 2, 4}));
        unsigned bits = random.oneOf<unsigned>({8, 16, 32, 64});
        SharedAccess access = accessShared(tile, buffer, bits);
        EXPECT_LE(access.width * bits / 8, 16);
        std::set<int> registers;
        for (int64_t warp = 0; warp < tile.warpCount(); ++warp)
          for (int64_t lane = 0; lane < lanes; ++lane)
            for (auto [number, group] : llvm::enumerate(access.groups)) {
              int64_t offset = access.offsetOf(number, lane, warp);
              EXPECT_EQ(offset % access.width, 0);
              for (auto [place, member] : llvm::enumerate(group.registers)) {
                registers.insert(member);
                Coordinates element = tile.elementOf(member, lane, warp);
                if (tile.isInside(element))
                  EXPECT_EQ(offset + int64_t(place), buffer.offsetOf(element));
                else
                  EXPECT_LT(offset + int64_t(place), buffer.elements());
              }
            }
        EXPECT_EQ(int64_t(registers.size()), tile.registersPerThread());
      }
}

TEST_F(Buffers, accesses_are_wide_where_both_are_contiguous) {
  TileLayout tile = blocked({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  EXPECT_EQ(accessShared(tile, panelSwizzledShared({64, 64}, {1, 0}, 16, 128), 16).width, 8);
  EXPECT_EQ(accessShared(tile, swizzledShared({64, 64}, {1, 0}, 4, 1, 8), 16).width, 4);
  EXPECT_EQ(accessShared(tile, contiguousShared({64, 64}, {0, 1}), 16).width, 1);
  EXPECT_EQ(accessShared(tile, paddedShared({64, 64}, {1, 0}, 2), 16).width, 2);
  // The immediate takes what the thread does not touch.
  SharedAccess access = accessShared(tile, contiguousShared({64, 64}, {1, 0}), 16);
  for (const SharedAccessGroup &group : access.groups)
    EXPECT_EQ(group.xorPart, 0);
}

/// What ldmatrix does: lane l gives the address of a row; the value of lane l, word j, comes from
/// matrix j, row l / 4, words l % 4 of it; transposed, from column l / 4, rows 2 (l % 4) and the
/// next.
void checkMatrices(const TileLayout &tile, const SharedLayout &buffer, unsigned bits,
                   bool transposed) {
  auto access = accessSharedMatrices(tile, buffer, bits, transposed);
  ASSERT_TRUE(access);
  std::map<int64_t, Coordinates> contents;
  forEachElement(tile.shape(),
                 [&](const Coordinates &element) { contents[buffer.offsetOf(element)] = element; });
  int perWord = 32 / bits;
  std::set<int> registers;
  for (int64_t warp = 0; warp < tile.warpCount(); ++warp)
    for (auto [number, group] : llvm::enumerate(access->rows.groups)) {
      ASSERT_EQ(int(group.registers.size()), access->words * perWord);
      for (int lane = 0; lane < 32; ++lane)
        for (int matrix = 0; matrix < access->words; ++matrix)
          for (int place = 0; place < perWord; ++place) {
            int row = transposed ? lane % 4 * 2 + place : lane / 4;
            int column = transposed ? lane / 4 : lane % 4 * perWord + place;
            int64_t start = access->rows.offsetOf(number, matrix * 8 + row, warp);
            EXPECT_EQ(start * bits / 8 % 16, 0);
            int member = group.registers[matrix * perWord + place];
            registers.insert(member);
            Coordinates element = tile.elementOf(member, lane, warp);
            if (tile.isInside(element))
              EXPECT_EQ(contents[start + column], element);
            else
              EXPECT_LT(start + column, buffer.elements());
          }
    }
  EXPECT_EQ(int64_t(registers.size()), tile.registersPerThread());
  EXPECT_EQ(bankConflicts(access->rows, 32, bits), 0);
}

TEST_F(Buffers, ldmatrix_loads_operands_that_end_within_a_fragment) {
  for (int64_t m : {24, 17, 8}) { // buffers of blocks of 8 rows
    TileLayout a = mmaOperand(MatrixSide::Lhs, {m, 64}, {1, 1}, 16);
    TileLayout b = mmaOperand(MatrixSide::Rhs, {64, m}, {1, 1}, 16);
    checkMatrices(a, panelSwizzledShared({m, 64}, {1, 0}, 16, 128), 16, false);
    checkMatrices(b, panelSwizzledShared({64, m}, {0, 1}, 16, 128), 16, false);
  }
}

TEST_F(Buffers, ldmatrix_loads_operands) {
  for (int64_t bytes : {32, 64, 128})
    for (auto [m, k] : {std::pair<int64_t, int64_t>{64, 64}, {96, 64}, {128, 128}, {32, 192}}) {
      TileLayout a = mmaOperand(MatrixSide::Lhs, {m, k}, {2, 2}, 16);
      TileLayout b = mmaOperand(MatrixSide::Rhs, {k, m}, {2, 2}, 16);
      // Contiguous along k: as it lies; along the other axis: transposed.
      checkMatrices(a, panelSwizzledShared({m, k}, {1, 0}, 16, bytes), 16, false);
      checkMatrices(b, panelSwizzledShared({k, m}, {0, 1}, 16, bytes), 16, false);
      if (m % 64 == 0) {
        checkMatrices(a, panelSwizzledShared({m, k}, {0, 1}, 16, bytes), 16, true);
        checkMatrices(b, panelSwizzledShared({k, m}, {1, 0}, 16, bytes), 16, true);
      }
    }
  for (unsigned bits : {8, 32}) {
    TileLayout a = mmaOperand(MatrixSide::Lhs, {64, 128}, {2, 2}, bits);
    checkMatrices(a, panelSwizzledShared({64, 128}, {1, 0}, bits, 128), bits, false);
    checkMatrices(a, paddedShared({64, 128}, {1, 0}, 128 / bits), bits, false);
    EXPECT_FALSE(
        accessSharedMatrices(a, panelSwizzledShared({64, 128}, {1, 0}, bits, 128), bits, true));
  }
}

TEST_F(Buffers, ldmatrix_is_refused_where_rows_are_torn) {
  TileLayout a = mmaOperand(MatrixSide::Lhs, {64, 64}, {4, 1}, 16);
  EXPECT_FALSE(accessSharedMatrices(a, swizzledShared({64, 64}, {1, 0}, 4, 1, 8), 16, false));
  EXPECT_FALSE(accessSharedMatrices(a, paddedShared({64, 64}, {1, 0}, 4), 16, false));
  EXPECT_FALSE(accessSharedMatrices(a, contiguousShared({64, 64}, {0, 1}), 16, false));
  EXPECT_FALSE(accessSharedMatrices(a, contiguousShared({64, 64}, {1, 0}), 16, true));
  TileLayout wide = mmaOperand(MatrixSide::Lhs, {64, 64}, {4, 1}, 16, 8);
  EXPECT_FALSE(accessSharedMatrices(wide, contiguousShared({64, 64}, {1, 0}), 16, false));
  EXPECT_FALSE(accessSharedMatrices(mmaOperand(MatrixSide::Lhs, {64, 64}, {4, 1}, 64),
                                    contiguousShared({64, 64}, {1, 0}), 64, false));
}

/// What reads that transpose do: lane i of sixteen gets column i of the rows that they supply.
void checkTransposed(const TileLayout &tile, const SharedLayout &buffer, unsigned bits) {
  auto access = accessSharedTransposed(tile, buffer, bits);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->words, 2);
  EXPECT_TRUE(access->isTransposed);
  std::map<int64_t, Coordinates> contents;
  forEachElement(tile.shape(),
                 [&](const Coordinates &element) { contents[buffer.offsetOf(element)] = element; });
  const int width = 64 / int(bits), inRow = 16 / width;
  std::set<int> registers;
  for (int64_t warp = 0; warp < tile.warpCount(); ++warp)
    for (auto [number, group] : llvm::enumerate(access->rows.groups)) {
      ASSERT_EQ(int(group.registers.size()), width);
      for (int lane = 0; lane < 64; ++lane)
        for (int row = 0; row < width; ++row) {
          const int column = lane % 16, from = lane - column + inRow * row + column / width;
          const int64_t start = access->rows.offsetOf(number, from, warp);
          EXPECT_EQ(start % width, 0);
          registers.insert(group.registers[row]);
          Coordinates element = tile.elementOf(group.registers[row], lane, warp);
          if (tile.isInside(element))
            EXPECT_EQ(contents[start + column % width], element);
          else
            EXPECT_LT(start + column % width, buffer.elements());
        }
    }
  EXPECT_EQ(int64_t(registers.size()), tile.registersPerThread());
}

TEST_F(Buffers, operands_across_the_depth_are_read_transposed) {
  for (const MatrixInstruction &one : amdProductInstructions("gfx950")) {
    const unsigned bits = bitsOf(one.elements.lhs);
    if (bits > 16 || one.lhs.inSize(Dim::Register) < 64 / bits)
      continue;
    SCOPED_TRACE(one.name);
    const TileLayout a = operandOf(one, MatrixSide::Lhs, {64, 128}, {2, 2}),
                     b = operandOf(one, MatrixSide::Rhs, {128, 64}, {2, 2});
    for (int64_t phases : {1, 4, 8}) {
      checkTransposed(b, swizzledShared({128, 64}, {1, 0}, 64 / bits, 1, phases), bits);
      checkTransposed(a, swizzledShared({64, 128}, {0, 1}, 64 / bits, 2, phases), bits);
    }
    checkTransposed(b, paddedShared({128, 64}, {1, 0}, 64 / bits), bits);
    checkTransposed(operandOf(one, MatrixSide::Rhs, {192, 96}, {1, 1}),
                    contiguousShared({192, 96}, {1, 0}), bits);
    checkTransposed(operandOf(one, MatrixSide::Rhs, {64, 8}, {1, 1}),
                    contiguousShared({64, 8}, {1, 0}), bits);
  }
}

TEST_F(Buffers, reads_that_transpose_are_refused_where_rows_are_torn) {
  const MatrixInstruction *one =
      instructionNamed(amdProductInstructions("gfx950"), "mfma.m32n32k16.f32.f16.f16");
  ASSERT_TRUE(one);
  const TileLayout b = operandOf(*one, MatrixSide::Rhs, {64, 64}, {2, 2});
  EXPECT_TRUE(accessSharedTransposed(b, contiguousShared({64, 64}, {1, 0}), 16));
  EXPECT_FALSE(accessSharedTransposed(b, contiguousShared({64, 64}, {0, 1}), 16));
  EXPECT_FALSE(accessSharedTransposed(b, swizzledShared({64, 64}, {1, 0}, 2, 1, 8), 16));
  EXPECT_FALSE(accessSharedTransposed(b, paddedShared({64, 64}, {1, 0}, 2), 16));
  EXPECT_FALSE(accessSharedTransposed(b, contiguousShared({64, 64}, {1, 0}), 32));
  // Plain reads take over.
  const SharedBanks transposing{64, {1, 2, 4 ^ 8, 4 ^ 16}, true};
  EXPECT_EQ(readShared(b, contiguousShared({64, 64}, {1, 0}), 16, transposing).width, 4);
  EXPECT_EQ(readShared(b, contiguousShared({64, 64}, {1, 0}), 16, {}).width, 1);
  EXPECT_EQ(readShared(b, contiguousShared({64, 64}, {0, 1}), 16, transposing).width, 8);
}

TEST_F(Buffers, conflicts_are_counted) {
  // 32 lanes down a column of 32 words.
  TileLayout column = blocked({32, 32}, {1, 1}, {32, 1}, {1, 1}, {0, 1});
  SharedLayout plain = contiguousShared({32, 32}, {1, 0});
  EXPECT_EQ(bankConflicts(accessShared(column, plain, 32, 4), 32, 32), 31);
  EXPECT_EQ(bankConflicts(accessShared(column, paddedShared({32, 32}, {1, 0}, 1), 32, 4), 32, 32),
            0);
  SharedLayout swizzled = swizzledShared({32, 32}, {1, 0}, 1, 1, 32);
  EXPECT_EQ(bankConflicts(accessShared(column, swizzled, 32, 4), 32, 32), 0);
  // Two halves of a word are one access.
  EXPECT_EQ(bankConflicts(accessShared(column, contiguousShared({32, 32}, {0, 1}), 16, 2), 32, 16),
            0);
}

TEST_F(Buffers, text_parses_to_an_equal_buffer) {
  for (const Extents &shape : kShapes)
    for (int trial = 0; trial < 8; ++trial) {
      SharedLayout buffer = randomBuffer(shape);
      std::string problem;
      auto parsed = parseSharedLayout(print(buffer), problem);
      ASSERT_TRUE(parsed) << problem << print(buffer);
      EXPECT_EQ(*parsed, buffer);
      EXPECT_EQ(hash_value(*parsed), hash_value(buffer));
    }
  std::string problem;
  EXPECT_FALSE(parseSharedLayout("4, offset = [1 2 1]", problem));
  EXPECT_EQ(problem, "layout: two offsets have the same element");
  problem.clear();
  auto parsed = parseSharedLayout("24x6, offset = [(0, 1) (1, 0)], repeated = [0 1]", problem);
  ASSERT_TRUE(parsed) << problem;
  EXPECT_EQ(parsed->offsetOf({2, 0}), 4) << "the next block is the next along axis 0";
  EXPECT_EQ(parsed->offsetOf({0, 2}), 4 * 12);
  EXPECT_NE(*parsed, SharedLayout(parsed->offsets(), {24, 6}));
  for (const char *axes : {"[]", "[0]", "[0 0]", "[0 1 2]", "[2 1]"}) {
    problem.clear();
    EXPECT_FALSE(parseSharedLayout(
        std::string("24x6, offset = [(0, 1) (1, 0)], repeated = ") + axes, problem));
    EXPECT_EQ(problem, "layout: expected each axis once along which the block is repeated") << axes;
  }
}

//===-- Other orders of the axes --------------------------------------------------------------===//

class TransposedBuffers : public Buffers {
protected:
  /// A buffer of one block or several.
  SharedLayout randomBlocks(int rank) {
    Extents shape;
    for (int index = 0; index < rank; ++index)
      shape.push_back(random.oneOf<int64_t>({1, 2, 5, 7, 8, 16, 24, 32, 40}));
    return randomBuffer(shape);
  }

  /// Any bijection of the elements, which no builder makes.
  SharedLayout shuffledBlock(int rank) {
    DimList axes = random.axes(rank, 4);
    unsigned bits = RandomLayouts::bitsOf(axes);
    Extents shape;
    for (const DimBits &dim : axes)
      shape.push_back(int64_t(1) << dim.bits);
    RowPadding padding;
    if (bits > 2 && random.below(2))
      padding = {int64_t(1) << random.below(bits), random.oneOf<int64_t>({1, 3, 8})};
    // In-dimensions are in canonical order: the last axis first.
    return SharedLayout(random.bijection(DimList(llvm::reverse(axes)), {{Dim::Offset, bits}}),
                        shape, padding);
  }

  void checkTransposed(const SharedLayout &buffer, llvm::ArrayRef<int> order) {
    SharedLayout turned = transpose(buffer, order);
    ASSERT_EQ(turned.rank(), buffer.rank());
    llvm::SmallVector<int, 4> back(order.size());
    for (auto [index, from] : llvm::enumerate(order)) {
      EXPECT_EQ(turned.shape()[index], buffer.shape()[from]);
      EXPECT_EQ(turned.blockExtent(index), buffer.blockExtent(from));
      EXPECT_EQ(turned.repetitions()[index], buffer.repetitions()[from]);
      back[from] = int(index);
    }
    EXPECT_EQ(turned.padding(), buffer.padding());
    EXPECT_EQ(turned.blockElements(), buffer.blockElements());
    EXPECT_EQ(turned.elements(), buffer.elements());
    forEachElement(buffer.shape(), [&](const Coordinates &element) {
      Coordinates there;
      for (int from : order)
        there.push_back(element[from]);
      ASSERT_EQ(turned.offsetOf(there), buffer.offsetOf(element));
    });
    // Views are verified by comparing whole layouts.
    EXPECT_EQ(transpose(turned, back), buffer);
    EXPECT_EQ(hash_value(transpose(turned, back)), hash_value(buffer));
  }
};

TEST_F(TransposedBuffers, keep_every_element_where_it_is) {
  for (int rank : {2, 3})
    for (int trial = 0; trial < 40; ++trial) {
      SharedLayout built = randomBlocks(rank), shuffled = shuffledBlock(rank);
      for (const SharedLayout &buffer : {built, shuffled}) {
        auto order = random.order(rank);
        SCOPED_TRACE(print(buffer));
        checkTransposed(buffer, order);
      }
    }
}

TEST_F(TransposedBuffers, are_those_of_the_other_contiguous_axis) {
  for (int64_t bytes : {32, 64, 128})
    for (unsigned bits : {8, 16, 32})
      EXPECT_EQ(transpose(panelSwizzledShared({64, 128}, {1, 0}, bits, bytes), {1, 0}),
                panelSwizzledShared({128, 64}, {0, 1}, bits, bytes));
  EXPECT_EQ(transpose(contiguousShared({8, 16, 32}, {2, 0, 1}), {1, 2, 0}),
            contiguousShared({16, 32, 8}, {1, 2, 0}));
  EXPECT_EQ(transpose(paddedShared({8, 16}, {1, 0}, 4), {1, 0}), paddedShared({16, 8}, {0, 1}, 4));
}

/// An order of three axes that is not its own inverse, drawn: element (i, j, k) lies at
/// 1 i + 2 j + 8 k, and the result's axes are k, i, j.
TEST_F(TransposedBuffers, take_axis_order_i_for_axis_i) {
  SharedLayout buffer = contiguousShared({2, 4, 8}, {0, 1, 2});
  ASSERT_EQ(buffer.offsetOf({1, 2, 3}), 1 + 2 * 2 + 3 * 8);
  SharedLayout turned = transpose(buffer, {2, 0, 1});
  EXPECT_EQ(Extents(turned.shape()), (Extents{8, 2, 4}));
  EXPECT_EQ(turned.offsetOf({3, 1, 2}), 1 + 2 * 2 + 3 * 8);
  EXPECT_EQ(turned.offsetOf({4, 0, 0}), 32);
}

} // namespace
