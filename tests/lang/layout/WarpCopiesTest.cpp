// Layouts of tiles that whole warps copy into shared memory (WarpCopies.h).
#include "lang/layout/WarpCopies.h"

#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/Builders.h"
#include "lang/layout/MatrixInstruction.h"

#include <gtest/gtest.h>
#include <set>

namespace sectile::layout {
namespace {

/// gfx950: 64 banks, and which lanes read 16 bytes at once.
const SharedBanks kBanks{64, {1, 2, 4 ^ 8, 4 ^ 16}};
constexpr int64_t kPieceBytes = 16;

/// Rows of `columns` elements, 16 bytes of a lane, a warp's lanes along a row first.
TileLayout rowsOf(int64_t rows, int64_t columns, unsigned bits) {
  const int64_t width = kPieceBytes * 8 / bits, along = std::min<int64_t>(64, columns / width);
  return blocked({rows, columns}, {1, width}, {64 / along, along}, {4, 1}, {1, 0});
}

TEST(WarpCopies, put_lanes_behind_each_other) {
  const TileLayout plain = rowsOf(128, 64, 16), exchanged = exchangePieces(plain, 1, 8, 16, kBanks);
  for (const TileLayout &tile : {plain, exchanged}) {
    auto filled = filledByWarps(tile, 1, 8);
    ASSERT_TRUE(filled);
    std::set<int64_t> places;
    for (int64_t warp = 0; warp < 4; ++warp)
      for (const RegisterGroup &group : tile.accessGroups(1, 8)) {
        const int64_t first = filled->offsetOf(tile.elementOf(group.front(), 0, warp));
        for (int64_t lane = 0; lane < 64; ++lane)
          for (auto [number, reg] : llvm::enumerate(group)) {
            const int64_t place = filled->offsetOf(tile.elementOf(reg, lane, warp));
            EXPECT_EQ(place, first + lane * 8 + int64_t(number));
            places.insert(place);
          }
      }
    EXPECT_EQ(int64_t(places.size()), filled->elements());
  }
}

TEST(WarpCopies, leave_lanes_in_the_rows_they_read) {
  const TileLayout plain = rowsOf(64, 128, 16), exchanged = exchangePieces(plain, 1, 8, 16, kBanks);
  EXPECT_NE(plain, exchanged);
  for (int reg = 0; reg < plain.registersPerThread(); ++reg)
    for (int64_t lane = 0; lane < 64; ++lane)
      EXPECT_EQ(plain.elementOf(reg, lane, 3)[0], exchanged.elementOf(reg, lane, 3)[0]);
}

/// The operands of products on gfx950, and whether one of the two exchanges frees them of
/// conflicts, as counted lane by lane.
TEST(WarpCopies, are_read_without_conflicts_where_a_layout_is_given) {
  unsigned found = 0;
  for (const MatrixInstruction &one : amdProductInstructions("gfx950"))
    for (auto [side, rows] : {std::pair(MatrixSide::Lhs, 128), {MatrixSide::Rhs, 128}})
      for (int64_t depth : {32, 64, 128, 256}) {
        const bool isLhs = side == MatrixSide::Lhs;
        const unsigned bits = bitsOf(one.elementOf(side));
        if (depth % one.k || depth * bits / 8 < 2 * kPieceBytes)
          continue;
        const TileLayout reader =
            operandOf(one, side, isLhs ? Extents{rows, depth} : Extents{depth, rows}, {2, 2});
        TileLayout source = rowsOf(rows, depth, bits);
        if (!isLhs)
          source = transpose(source, {1, 0});
        const int axisNumber = isLhs ? 1 : 0;
        const int64_t width = kPieceBytes * 8 / bits;
        for (unsigned skipped : {0, 1}) {
          const TileLayout exchanged =
              exchangePieces(source, axisNumber, width, bits, kBanks, skipped,
                             skipped ? PieceOrder::HighestFirst : PieceOrder::LowestFirst);
          auto filled = filledByWarpsFor(exchanged, reader, bits, kPieceBytes, kBanks);
          const SharedLayout buffer = *filledByWarps(exchanged, axisNumber, width);
          const SharedAccess read = accessShared(reader, buffer, bits);
          const bool isFree = bankConflicts(read, 64, bits, kBanks, SharedDirection::Read) == 0 &&
                              read.width * bits >= 32;
          EXPECT_EQ(filled.has_value(), isFree) << one.name << " " << depth << " " << skipped;
          found += isFree;
        }
      }
  EXPECT_GT(found, 20u);
}

/// gfx950's operands whose rows lie across the depth: one exchange suits all instructions. Threads
/// that hold pieces of their own order store them where such copies would put them.
TEST(WarpCopies, are_read_transposed_without_conflicts) {
  SharedBanks banks = kBanks;
  banks.transposes = true;
  unsigned found = 0;
  for (const MatrixInstruction &one : amdProductInstructions("gfx950"))
    for (MatrixSide side : {MatrixSide::Lhs, MatrixSide::Rhs})
      for (int64_t columns : {32, 64, 128, 256}) {
        const bool isLhs = side == MatrixSide::Lhs;
        const unsigned bits = bitsOf(one.elementOf(side));
        const int64_t width = kPieceBytes * 8 / bits, depth = 128;
        if (bits > 16)
          continue;
        SCOPED_TRACE(one.name + " " + std::to_string(columns));
        const TileLayout reader =
            operandOf(one, side, isLhs ? Extents{columns, depth} : Extents{depth, columns}, {1, 1});
        // Of one warp, so that rows of a few pieces are in it, too.
        const int64_t along = std::min<int64_t>(64, columns / width);
        TileLayout source =
            blocked({depth, columns}, {1, width}, {64 / along, along}, {1, 1}, {1, 0});
        if (isLhs)
          source = transpose(source, {1, 0});
        const int axisNumber = isLhs ? 0 : 1;
        const TileLayout exchanged = exchangePieces(source, axisNumber, width, bits, banks,
                                                    /*skipped=*/0, PieceOrder::Sixteens);
        const SharedLayout buffer = *filledByWarps(exchanged, axisNumber, width);
        auto access = accessSharedTransposed(reader, buffer, bits);
        ASSERT_TRUE(access);
        const bool isFree =
            bankConflicts(access->rows, 64, bits, banks, SharedDirection::Read) == 0;
        EXPECT_EQ(filledByWarpsFor(exchanged, reader, bits, kPieceBytes, banks).has_value(),
                  isFree);
        EXPECT_FALSE(filledByWarpsFor(exchanged, reader, bits, kPieceBytes, kBanks));
        EXPECT_TRUE(isFree || columns * bits / 8 < 64);
        found += isFree;
        auto between = transposedBetween(source, reader, bits, banks);
        ASSERT_EQ(between.has_value(), isFree);
        if (!between)
          continue;
        const SharedAccess write = accessShared(source, *between, bits);
        EXPECT_EQ(write.width, width);
        EXPECT_EQ(bankConflicts(write, 64, bits, banks, SharedDirection::Write), 0);
        EXPECT_FALSE(transposedBetween(source, reader, bits, kBanks));
      }
  EXPECT_GT(found, 60u);
}

/// Where pieces stay in order, 16 rows of a column lie in two pieces of a row of banks.
TEST(WarpCopies, conflict_where_pieces_are_not_exchanged) {
  const MatrixInstruction *one =
      instructionNamed(amdProductInstructions("gfx950"), "mfma.m32n32k16.f32.f16.f16");
  ASSERT_TRUE(one);
  const TileLayout reader = operandOf(*one, MatrixSide::Lhs, {128, 64}, {2, 2}),
                   source = rowsOf(128, 64, 16);
  EXPECT_FALSE(filledByWarpsFor(source, reader, 16, kPieceBytes, kBanks));
  EXPECT_TRUE(
      filledByWarpsFor(exchangePieces(source, 1, 8, 16, kBanks), reader, 16, kPieceBytes, kBanks));
}

TEST(WarpCopies, are_of_whole_tiles_without_copies) {
  // 64 lanes of 4 warps for 32 pieces; rows that are no power of two; neighbours of another axis.
  EXPECT_FALSE(filledByWarps(rowsOf(4, 64, 16), 1, 8));
  EXPECT_FALSE(filledByWarps(blocked({100, 64}, {1, 8}, {8, 8}, {4, 1}, {1, 0}), 1, 8));
  EXPECT_FALSE(filledByWarps(rowsOf(128, 64, 16), 0, 8));
  EXPECT_FALSE(filledByWarpsFor(rowsOf(128, 64, 16), rowsOf(128, 64, 16), 16, 32, kBanks));
}

} // namespace
} // namespace sectile::layout
