// Fragments against the tables of the PTX ISA, written as the formulas that stand there.
#include "lang/layout/MmaLayouts.h"

#include <gtest/gtest.h>

using namespace sectile::layout;

namespace {

/// groupID and threadID_in_group of the PTX ISA.
struct Thread {
  int group, inGroup;
  explicit Thread(int lane) : group(lane >> 2), inGroup(lane % 4) {}
};

template <class Formula>
void expectFragment(const TileLayout &tile, int registers, Formula formula) {
  ASSERT_EQ(tile.registersPerThread(), registers);
  ASSERT_EQ(tile.lanesPerWarp(), 32);
  ASSERT_FALSE(tile.isPadded());
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < registers; ++i) {
      auto [row, column] = formula(Thread(lane), i);
      EXPECT_EQ(tile.elementOf(i, lane, 0), (Coordinates{row, column})) << lane << " " << i;
    }
}

using Pair = std::pair<int, int>;

TEST(MmaLayouts, accumulator_m16n8) {
  for (unsigned bits : {8, 16, 32})
    expectFragment(mmaAccumulator({16, 8}, {1, 1}, bits), 4, [](Thread t, int i) {
      return Pair(i < 2 ? t.group : t.group + 8, t.inGroup * 2 + (i & 1));
    });
}

TEST(MmaLayouts, accumulator_m8n8_f64) {
  expectFragment(mmaAccumulator({8, 8}, {1, 1}, 64), 2,
                 [](Thread t, int i) { return Pair(t.group, t.inGroup * 2 + (i & 1)); });
}

TEST(MmaLayouts, operands_16_bit_m16n8k16) {
  EXPECT_EQ(mmaShape(16), (MmaShape{16, 8, 16}));
  expectFragment(mmaOperand(MmaOperand::A, {16, 16}, {1, 1}, 16), 8, [](Thread t, int i) {
    bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
    return Pair(upper ? t.group : t.group + 8, t.inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0));
  });
  expectFragment(mmaOperand(MmaOperand::B, {16, 8}, {1, 1}, 16), 4, [](Thread t, int i) {
    return Pair(t.inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), t.group);
  });
}

TEST(MmaLayouts, operands_8_bit_m16n8k32) {
  EXPECT_EQ(mmaShape(8), (MmaShape{16, 8, 32}));
  expectFragment(mmaOperand(MmaOperand::A, {16, 32}, {1, 1}, 8), 16, [](Thread t, int i) {
    bool upper = (i >= 0 && i < 4) || (i >= 8 && i < 12);
    return Pair(upper ? t.group : t.group + 8, t.inGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0));
  });
  expectFragment(mmaOperand(MmaOperand::B, {32, 8}, {1, 1}, 8), 8, [](Thread t, int i) {
    return Pair(t.inGroup * 4 + (i & 3) + (i >= 4 ? 16 : 0), t.group);
  });
}

TEST(MmaLayouts, operands_tf32_m16n8k8) {
  EXPECT_EQ(mmaShape(32), (MmaShape{16, 8, 8}));
  expectFragment(mmaOperand(MmaOperand::A, {16, 8}, {1, 1}, 32), 4, [](Thread t, int i) {
    return Pair(i == 0 || i == 2 ? t.group : t.group + 8, i < 2 ? t.inGroup : t.inGroup + 4);
  });
  expectFragment(mmaOperand(MmaOperand::B, {8, 8}, {1, 1}, 32), 2,
                 [](Thread t, int i) { return Pair(i == 0 ? t.inGroup : t.inGroup + 4, t.group); });
}

TEST(MmaLayouts, operands_f64_m8n8k4) {
  EXPECT_EQ(mmaShape(64), (MmaShape{8, 8, 4}));
  expectFragment(mmaOperand(MmaOperand::A, {8, 4}, {1, 1}, 64), 1,
                 [](Thread t, int) { return Pair(t.group, t.inGroup); });
  expectFragment(mmaOperand(MmaOperand::B, {4, 8}, {1, 1}, 64), 1,
                 [](Thread t, int) { return Pair(t.inGroup, t.group); });
}

TEST(MmaLayouts, operands_and_accumulator_meet_in_the_same_warp) {
  // Each warp has the rows of A and the columns of B that its part of the accumulator needs, odd
  // repetition included.
  for (unsigned bits : {8, 16, 32, 64})
    for (auto [m, n, k] : {MmaShape{96, 176, 96}, {128, 64, 32}, {64, 48, 160}}) {
      TileLayout c = mmaAccumulator({m, n}, {2, 2}, bits);
      TileLayout a = mmaOperand(MmaOperand::A, {m, k}, {2, 2}, bits);
      TileLayout b = mmaOperand(MmaOperand::B, {k, n}, {2, 2}, bits);
      MmaShape shape = mmaShape(bits);
      for (int64_t row = 0; row < m; row += 2 * shape.m)
        for (int64_t column = 0; column < n; column += 2 * shape.n)
          for (int64_t inner = 0; inner < k; inner += shape.k) {
            // The instruction's first registers, by their constants.
            auto ra = a.registerHolding({int32_t(row), int32_t(inner)});
            auto rb = b.registerHolding({int32_t(inner), int32_t(column)});
            auto rc = c.registerHolding({int32_t(row), int32_t(column)});
            ASSERT_TRUE(ra && rb && rc);
            for (int warp = 0; warp < 4; ++warp) {
              Coordinates ca = a.elementOf(*ra, 0, warp), cb = b.elementOf(*rb, 0, warp),
                          cc = c.elementOf(*rc, 0, warp);
              EXPECT_EQ(ca[0], cc[0]);
              EXPECT_EQ(cb[1], cc[1]);
              EXPECT_EQ(ca[1], cb[0]);
              EXPECT_EQ(cc[0], row + warp % 2 * shape.m);
              EXPECT_EQ(cc[1], column + warp / 2 * shape.n);
            }
          }
    }
}

TEST(MmaLayouts, wide_k_gives_neighbours_to_a_thread) {
  TileLayout a = mmaOperand(MmaOperand::A, {64, 128}, {4, 1}, 16, 8);
  EXPECT_EQ(a.contiguousRegisters(1), 8);
  TileLayout b = mmaOperand(MmaOperand::B, {128, 64}, {4, 1}, 16, 8);
  EXPECT_EQ(b.contiguousRegisters(0), 8);
  // Instruction j of a block takes the registers with (i mod 8) / 2 == j: both sides see the same
  // k.
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < 4; ++j)
      for (int half = 0; half < 2; ++half)
        for (int word = 0; word < 2; ++word)
          EXPECT_EQ(a.elementOf(word + 2 * j + 16 * half, lane, 0)[1],
                    b.elementOf(word + 2 * j + 8 * half, lane, 0)[0]);
}

TEST(MmaLayouts, batches_are_repeated_or_spread_over_warps) {
  TileLayout c = mmaAccumulator({3, 32, 16}, {1, 2, 1}, 16);
  EXPECT_EQ(c.repetitions()[0], 3);
  TileLayout spread = mmaAccumulator({4, 32, 16}, {4, 1, 1}, 16);
  EXPECT_EQ(spread.elementOf(0, 0, 3), (Coordinates{3, 0, 0}));
}

} // namespace
