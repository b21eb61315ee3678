// mma.sync against the tables of the PTX ISA, written as the formulas that stand there.
#include "MmaFragments.h"

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

void expectShape(unsigned operandBits, int64_t m, int64_t n, int64_t k) {
  const MatrixInstruction &instruction = mmaSync(operandBits);
  EXPECT_EQ(std::tuple(instruction.m, instruction.n, instruction.k), std::tuple(m, n, k));
}

TEST(MmaSync, accumulator_m16n8) {
  for (unsigned bits : {8, 16, 32})
    expectFragment(mmaAccumulator({16, 8}, {1, 1}, bits), 4, [](Thread t, int i) {
      return Pair(i < 2 ? t.group : t.group + 8, t.inGroup * 2 + (i & 1));
    });
}

TEST(MmaSync, accumulator_m8n8_f64) {
  expectFragment(mmaAccumulator({8, 8}, {1, 1}, 64), 2,
                 [](Thread t, int i) { return Pair(t.group, t.inGroup * 2 + (i & 1)); });
}

TEST(MmaSync, operands_16_bit_m16n8k16) {
  expectShape(16, 16, 8, 16);
  expectFragment(mmaOperand(MatrixSide::Lhs, {16, 16}, {1, 1}, 16), 8, [](Thread t, int i) {
    bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
    return Pair(upper ? t.group : t.group + 8, t.inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0));
  });
  expectFragment(mmaOperand(MatrixSide::Rhs, {16, 8}, {1, 1}, 16), 4, [](Thread t, int i) {
    return Pair(t.inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0), t.group);
  });
}

TEST(MmaSync, operands_8_bit_m16n8k32) {
  expectShape(8, 16, 8, 32);
  expectFragment(mmaOperand(MatrixSide::Lhs, {16, 32}, {1, 1}, 8), 16, [](Thread t, int i) {
    bool upper = (i >= 0 && i < 4) || (i >= 8 && i < 12);
    return Pair(upper ? t.group : t.group + 8, t.inGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0));
  });
  expectFragment(mmaOperand(MatrixSide::Rhs, {32, 8}, {1, 1}, 8), 8, [](Thread t, int i) {
    return Pair(t.inGroup * 4 + (i & 3) + (i >= 4 ? 16 : 0), t.group);
  });
}

TEST(MmaSync, operands_tf32_m16n8k8) {
  expectShape(32, 16, 8, 8);
  expectFragment(mmaOperand(MatrixSide::Lhs, {16, 8}, {1, 1}, 32), 4, [](Thread t, int i) {
    return Pair(i == 0 || i == 2 ? t.group : t.group + 8, i < 2 ? t.inGroup : t.inGroup + 4);
  });
  expectFragment(mmaOperand(MatrixSide::Rhs, {8, 8}, {1, 1}, 32), 2,
                 [](Thread t, int i) { return Pair(i == 0 ? t.inGroup : t.inGroup + 4, t.group); });
}

TEST(MmaSync, operands_f64_m8n8k4) {
  expectShape(64, 8, 8, 4);
  expectFragment(mmaOperand(MatrixSide::Lhs, {8, 4}, {1, 1}, 64), 1,
                 [](Thread t, int) { return Pair(t.group, t.inGroup); });
  expectFragment(mmaOperand(MatrixSide::Rhs, {4, 8}, {1, 1}, 64), 1,
                 [](Thread t, int) { return Pair(t.inGroup, t.group); });
}

TEST(MmaSync, fragments_depend_on_the_width_of_operands_alone) {
  for (const MatrixInstruction &instruction : mmaSyncInstructions()) {
    const MatrixInstruction &same = mmaSync(bitsOf(instruction.elements.lhs));
    EXPECT_EQ(bitsOf(instruction.elements.lhs), bitsOf(instruction.elements.rhs));
    EXPECT_EQ(instruction.acc, same.acc) << instruction.name;
    EXPECT_EQ(instruction.lhs, same.lhs) << instruction.name;
    EXPECT_EQ(instruction.rhs, same.rhs) << instruction.name;
  }
}

TEST(MmaSync, wide_k_gives_neighbours_to_a_thread) {
  TileLayout a = mmaOperand(MatrixSide::Lhs, {64, 128}, {4, 1}, 16, 8);
  EXPECT_EQ(a.contiguousRegisters(1), 8);
  TileLayout b = mmaOperand(MatrixSide::Rhs, {128, 64}, {4, 1}, 16, 8);
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

TEST(MmaSync, batches_are_repeated_or_spread_over_warps) {
  TileLayout c = mmaAccumulator({3, 32, 16}, {1, 2, 1}, 16);
  EXPECT_EQ(c.repetitions()[0], 3);
  TileLayout spread = mmaAccumulator({4, 32, 16}, {4, 1, 1}, 16);
  EXPECT_EQ(spread.elementOf(0, 0, 3), (Coordinates{3, 0, 0}));
}

} // namespace
