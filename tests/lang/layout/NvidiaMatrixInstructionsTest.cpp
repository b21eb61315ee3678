// mma.sync and wgmma against the tables of the PTX ISA, written as the formulas that stand there.
#include "MmaFragments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

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

//===-- wgmma ---------------------------------------------------------------------------------===//

// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Register Fragments": the figures of
// m64nNk8, m64nNk16 and m64nNk32, element by element.

/// The kinds of operands in the table, in PTX's words, with the k that goes with them: 32 bytes.
struct WgmmaKind {
  const char *types; // accumulator, A, B
  MatrixElements elements;
  unsigned bits;
  int64_t k;
};

const WgmmaKind kWgmmaKinds[] = {
    {"f32.f16.f16", {MatrixElement::F16, MatrixElement::F16, MatrixElement::F32}, 16, 16},
    {"f32.bf16.bf16", {MatrixElement::BF16, MatrixElement::BF16, MatrixElement::F32}, 16, 16},
    {"f32.tf32.tf32", {MatrixElement::Tf32, MatrixElement::Tf32, MatrixElement::F32}, 32, 8},
    {"s32.s8.s8", {MatrixElement::I8, MatrixElement::I8, MatrixElement::I32}, 8, 32},
    {"f32.e4m3.e4m3", {MatrixElement::E4M3, MatrixElement::E4M3, MatrixElement::F32}, 8, 32},
    {"f32.e4m3.e5m2", {MatrixElement::E4M3, MatrixElement::E5M2, MatrixElement::F32}, 8, 32},
    {"f32.e5m2.e4m3", {MatrixElement::E5M2, MatrixElement::E4M3, MatrixElement::F32}, 8, 32},
    {"f32.e5m2.e5m2", {MatrixElement::E5M2, MatrixElement::E5M2, MatrixElement::F32}, 8, 32},
};

/// A kind that is none of these has no bits, so that it equals nothing that is expected.
const WgmmaKind &kindOf(const MatrixInstruction &instruction) {
  static const WgmmaKind unknown{"?", instruction.elements, 0, 0};
  const auto *found = llvm::find_if(
      kWgmmaKinds, [&](const WgmmaKind &kind) { return kind.elements == instruction.elements; });
  return found == std::end(kWgmmaKinds) ? unknown : *found;
}

const MatrixInstruction &wgmmaNamed(const char *name) {
  const MatrixInstruction *found = instructionNamed(wgmmaInstructions(), name);
  EXPECT_TRUE(found) << name << " is missing";
  return found ? *found : wgmmaInstructions().front();
}

/// "Matrix Shape" of the PTX ISA: integers have fewer widths than numbers with a point.
bool isWidthOfPtx(int64_t n, bool isInteger) {
  if (n < 8 || n > 256 || n % 8)
    return false;
  return !isInteger || n <= 32 || (n >= 48 && n % 16 == 0);
}

/// Compares what register i of each of the 128 threads holds with `formula(warp, lane, i)`.
template <class Formula>
void expectWarpgroupFragment(const TileLayout &tile, int64_t registers, Formula formula) {
  ASSERT_EQ(tile.registersPerThread(), registers);
  ASSERT_EQ(tile.lanesPerWarp(), 32);
  ASSERT_EQ(tile.warpCount(), 4);
  int wrong = 0;
  for (int warp = 0; warp < 4; ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < registers; ++i) {
        auto [row, column] = formula(warp, lane, i);
        Coordinates found = tile.elementOf(i, lane, warp);
        if (found == Coordinates{row, column} || ++wrong > 3)
          continue;
        ADD_FAILURE() << "d" << i << " of lane " << lane << " of warp " << warp << " is at ("
                      << found[0] << ", " << found[1] << "), not at (" << row << ", " << column
                      << ")";
      }
  EXPECT_EQ(wrong, 0);
}

TEST(Wgmma, accumulators_m64nN) {
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    SCOPED_TRACE(instruction.name);
    EXPECT_EQ(instruction.accRegisters(), instruction.n / 2);
    const TileLayout one = accumulatorOf(instruction, {64, instruction.n}, {1, 1});
    EXPECT_EQ(groupsOf(instruction, one), (Extents{1, 1}));
    expectWarpgroupFragment(one, instruction.n / 2, [](int warp, int lane, int i) {
      return Pair(16 * warp + lane / 4 + (i % 4 < 2 ? 0 : 8), 8 * (i / 4) + 2 * (lane % 4) + i % 2);
    });
  }
}

TEST(Wgmma, operand_a_in_registers_m64k16) {
  int compared = 0;
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    if (kindOf(instruction).bits != 16)
      continue;
    SCOPED_TRACE(instruction.name);
    expectWarpgroupFragment(TileLayout(instruction.lhs, {64, 16}), 8,
                            [](int warp, int lane, int i) {
                              bool isUpper = i == 0 || i == 1 || i == 4 || i == 5;
                              return Pair(16 * warp + lane / 4 + (isUpper ? 0 : 8),
                                          2 * (lane % 4) + i % 2 + (i < 4 ? 0 : 8));
                            });
    ++compared;
  }
  EXPECT_EQ(compared, 2 * 16);
}

TEST(Wgmma, operand_a_in_registers_m64k8) {
  int compared = 0;
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    if (kindOf(instruction).bits != 32)
      continue;
    SCOPED_TRACE(instruction.name);
    expectWarpgroupFragment(TileLayout(instruction.lhs, {64, 8}), 4, [](int warp, int lane, int i) {
      return Pair(16 * warp + lane / 4 + (i % 2 ? 8 : 0), lane % 4 + (i < 2 ? 0 : 4));
    });
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

TEST(Wgmma, operand_a_in_registers_m64k32) {
  int compared = 0;
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    if (kindOf(instruction).bits != 8)
      continue;
    SCOPED_TRACE(instruction.name);
    expectWarpgroupFragment(TileLayout(instruction.lhs, {64, 32}), 16,
                            [](int warp, int lane, int i) {
                              bool isUpper = i < 4 || (i >= 8 && i < 12);
                              return Pair(16 * warp + lane / 4 + (isUpper ? 0 : 8),
                                          4 * (lane % 4) + i % 4 + (i < 8 ? 0 : 16));
                            });
    ++compared;
  }
  EXPECT_EQ(compared, 5 * 16);
}

/// Corners of the figures, as they are printed there: the formulas above could be wrong, too.
TEST(Wgmma, corners_of_the_figures) {
  auto at = [](const LinearLayout &layout, int thread, int i) {
    return layout.apply({{Dim::Register, i}, {Dim::Lane, thread % 32}, {Dim::Warp, thread / 32}});
  };
  const MatrixInstruction &half = wgmmaNamed("wgmma.m64n256k16.f32.f16.f16");
  EXPECT_EQ(at(half.acc, 0, 2), (Coordinates{8, 0}));
  EXPECT_EQ(at(half.acc, 1, 1), (Coordinates{0, 3}));
  EXPECT_EQ(at(half.acc, 0, 4), (Coordinates{0, 8}));
  EXPECT_EQ(at(half.acc, 32, 0), (Coordinates{16, 0}));
  EXPECT_EQ(at(half.acc, 127, 127), (Coordinates{63, 255}));
  EXPECT_EQ(at(half.lhs, 0, 4), (Coordinates{0, 8}));
  EXPECT_EQ(at(half.lhs, 127, 7), (Coordinates{63, 15}));
  const MatrixInstruction &byte = wgmmaNamed("wgmma.m64n16k32.s32.s8.s8");
  EXPECT_EQ(at(byte.lhs, 3, 3), (Coordinates{0, 15}));
  EXPECT_EQ(at(byte.lhs, 0, 8), (Coordinates{0, 16}));
  const MatrixInstruction &tf32 = wgmmaNamed("wgmma.m64n16k8.f32.tf32.tf32");
  EXPECT_EQ(at(tf32.lhs, 0, 1), (Coordinates{8, 0}));
  EXPECT_EQ(at(tf32.lhs, 0, 2), (Coordinates{0, 4}));
}

/// Each name is the mnemonic, of which "mma_async.sync.aligned" is left out.
TEST(Wgmma, table_has_names_and_extents_of_ptx) {
  std::vector<std::string> expected, found;
  for (const WgmmaKind &kind : kWgmmaKinds)
    for (int width = 256; width >= 16; width -= 16)
      expected.push_back("wgmma.m64n" + std::to_string(width) + "k" + std::to_string(kind.k) + "." +
                         kind.types);
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    SCOPED_TRACE(instruction.name);
    found.push_back(instruction.name);
    const WgmmaKind &kind = kindOf(instruction);
    EXPECT_TRUE(isWidthOfPtx(instruction.n, instruction.elements.acc == MatrixElement::I32));
    EXPECT_EQ(instruction.m, 64);
    EXPECT_EQ(instruction.k, kind.k);
    EXPECT_EQ(instruction.k * kind.bits, 32 * 8) << "a row of k has 32 bytes";
    EXPECT_EQ(bitsOf(instruction.elements.lhs), kind.bits);
    EXPECT_EQ(bitsOf(instruction.elements.rhs), kind.bits);
    EXPECT_EQ(instruction.name, "wgmma.m64n" + std::to_string(instruction.n) + "k" +
                                    std::to_string(instruction.k) + "." + kind.types);
    EXPECT_FALSE(instruction.isExchanged);
  }
  // Those of one kind follow each other, the widest first.
  EXPECT_THAT(found, testing::ElementsAreArray(expected));
}

TEST(Wgmma, operands_come_from_where_ptx_lets_them_come_from) {
  for (const MatrixInstruction &instruction : wgmmaInstructions()) {
    SCOPED_TRACE(instruction.name);
    // Only .f16 and .bf16 have imm-trans-a and imm-trans-b.
    const bool hasTransposes = kindOf(instruction).bits == 16;
    const OperandPlaces &a = instruction.places(MatrixSide::Lhs),
                        &b = instruction.places(MatrixSide::Rhs);
    EXPECT_TRUE(a.registers);
    EXPECT_TRUE(a.sharedMemory);
    EXPECT_EQ(a.acrossDepth, hasTransposes);
    EXPECT_FALSE(b.registers);
    EXPECT_TRUE(b.sharedMemory);
    EXPECT_EQ(b.acrossDepth, hasTransposes);
    EXPECT_EQ(instruction.rhs, LinearLayout()) << "B has no fragment";
    EXPECT_TRUE(instruction.isOfBuffers());
    EXPECT_EQ(instruction.warpCount(), 4);
    EXPECT_EQ(instruction.laneCount(), 32);
  }
}

/// No element of D or A is missing or held twice.
TEST(Wgmma, fragments_hold_each_element_once) {
  for (const MatrixInstruction &instruction : wgmmaInstructions())
    for (auto [layout, rows, columns] :
         {std::tuple(&instruction.acc, instruction.m, instruction.n / instruction.accRepeats),
          std::tuple(&instruction.lhs, instruction.m, instruction.k)}) {
      SCOPED_TRACE(instruction.name);
      std::set<std::pair<int, int>> seen;
      for (Word in = 0; in < Word(1) << layout->totalInBits(); ++in) {
        Coordinates element = layout->unpackAxes(layout->apply(in));
        EXPECT_TRUE(element[0] < rows && element[1] < columns);
        seen.insert({element[0], element[1]});
      }
      EXPECT_EQ(int64_t(seen.size()), rows * columns);
      EXPECT_EQ(int64_t(1) << layout->totalInBits(), rows * columns);
    }
}

/// Groups of warps along the columns lie a power of two apart, and an instruction of 192 columns
/// has them together: it is done by one group along them.
TEST(Wgmma, columns_that_are_no_power_of_two_have_one_group) {
  const MatrixInstruction &wide = wgmmaNamed("wgmma.m64n192k16.f32.f16.f16"),
                          &narrow = wgmmaNamed("wgmma.m64n64k16.f32.f16.f16");
  EXPECT_EQ(wide.accRepeats, 3);
  for (const Extents &shape : {Extents{64, 192}, {128, 192}, {128, 384}}) {
    EXPECT_TRUE(canBeSpread(wide, shape, {1, 1}));
    EXPECT_FALSE(canBeSpread(wide, shape, {1, 2}));
    const TileLayout one = accumulatorOf(wide, shape, {1, 1});
    EXPECT_EQ(groupsOf(wide, one), (Extents{1, 1}));
    EXPECT_EQ(one, accumulatorOf(narrow, shape, {1, 1})) << "registers are the same";
  }
  EXPECT_TRUE(canBeSpread(wide, {128, 192}, {2, 1}));
  EXPECT_EQ(groupsOf(wide, accumulatorOf(wide, {128, 192}, {2, 1})), (Extents{2, 1}));
  EXPECT_EQ(groupsOf(wide, accumulatorOf(narrow, {64, 192}, {1, 2})), std::nullopt);
  EXPECT_FALSE(canBeSpread(wide, {64, 64}, {1, 1}));
  EXPECT_EQ(groupsOf(wide, accumulatorOf(narrow, {64, 64}, {1, 1})), std::nullopt);
}

/// A kernel of two groups of warps has 64 rows, or N columns, in each; a warp's rows of the
/// accumulator are those of A that it holds.
TEST(Wgmma, groups_of_warps_lie_side_by_side) {
  const MatrixInstruction &one = wgmmaNamed("wgmma.m64n32k16.f32.bf16.bf16");
  auto element = [](const TileLayout &tile, int warp) { return tile.elementOf(0, 0, warp); };
  TileLayout rows = accumulatorOf(one, {128, 64}, {2, 1}),
             columns = accumulatorOf(one, {128, 64}, {1, 2}),
             lhs = operandOf(one, MatrixSide::Lhs, {128, 32}, {2, 1}),
             copies = operandOf(one, MatrixSide::Lhs, {128, 32}, {1, 2});
  for (int warp = 0; warp < 8; ++warp) {
    EXPECT_EQ(element(rows, warp), (Coordinates{16 * warp, 0}));
    EXPECT_EQ(element(columns, warp), (Coordinates{16 * (warp % 4), warp < 4 ? 0 : 32}));
    EXPECT_EQ(element(lhs, warp), (Coordinates{16 * warp, 0}));
    EXPECT_EQ(element(copies, warp), (Coordinates{16 * (warp % 4), 0}));
  }
  EXPECT_EQ(groupsOf(one, rows), (Extents{2, 1}));
  EXPECT_EQ(groupsOf(one, columns), (Extents{1, 2}));
}

} // namespace
