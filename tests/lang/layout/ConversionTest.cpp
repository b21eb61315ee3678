// Conversions, run on arrays of (register, lane, warp) values: after the plan every thread has its
// new elements.
#include "lang/layout/Conversion.h"

#include "MmaFragments.h"
#include "RandomLayouts.h"
#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/LayoutText.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace sectile::layout;

namespace {

constexpr int64_t kUndefined = -1;

/// Values of all threads of a block: values[warp][lane][register].
using Threads = std::vector<std::vector<std::vector<int64_t>>>;

Threads threadsOf(const TileLayout &tile, size_t registers) {
  return Threads(tile.warpCount(),
                 std::vector(tile.lanesPerWarp(), std::vector<int64_t>(registers, kUndefined)));
}

int64_t numberOf(const TileLayout &tile, const Coordinates &element) {
  int64_t number = 0;
  for (int index = 0; index < tile.rank(); ++index)
    number = number * tile.shape()[index] + element[index];
  return number;
}

/// Every element's value is its number; padding is undefined.
Threads fill(const TileLayout &tile) {
  Threads threads = threadsOf(tile, tile.registersPerThread());
  for (int64_t warp = 0; warp < tile.warpCount(); ++warp)
    for (int64_t lane = 0; lane < tile.lanesPerWarp(); ++lane)
      for (int number = 0; number < tile.registersPerThread(); ++number)
        if (Coordinates element = tile.elementOf(number, lane, warp); tile.isInside(element))
          threads[warp][lane][number] = numberOf(tile, element);
  return threads;
}

Threads runRenaming(const ConversionPlan &plan, const TileLayout &destination,
                    const Threads &from) {
  Threads to = threadsOf(destination, destination.registersPerThread());
  for (size_t warp = 0; warp < to.size(); ++warp)
    for (size_t lane = 0; lane < to[warp].size(); ++lane)
      for (auto [number, source] : llvm::enumerate(plan.registerMap))
        if (source >= 0)
          to[warp][lane][number] = from[warp][lane][source];
  return to;
}

void runSwaps(llvm::ArrayRef<ConditionalSwap> swaps, int64_t lane, int64_t warp,
              std::vector<int64_t> &values) {
  for (const ConditionalSwap &swap : swaps) {
    int64_t index = swap.dim == Dim::Lane ? lane : warp;
    if (!(index >> swap.bit & 1))
      continue;
    std::vector<int64_t> old = values;
    for (size_t slot = 0; slot < values.size(); ++slot)
      values[slot] = old[slot ^ swap.slotXor];
  }
}

Threads runShuffles(const ShufflePlan &plan, const TileLayout &destination, const Threads &from) {
  Threads to = threadsOf(destination, plan.destinationSlots.size());
  int slots = 0;
  for (const ShuffleStep &step : plan.steps)
    for (int slot : step.to)
      slots = std::max(slots, slot + 1);
  for (size_t warp = 0; warp < to.size(); ++warp) {
    std::vector<std::vector<int64_t>> given;
    for (size_t lane = 0; lane < to[warp].size(); ++lane) {
      std::vector<int64_t> values;
      for (int number : plan.sourceRegisters)
        values.push_back(number < 0 ? kUndefined : from[warp][lane][number]);
      runSwaps(plan.before, lane, warp, values);
      given.push_back(values);
    }
    for (size_t lane = 0; lane < to[warp].size(); ++lane) {
      std::vector<int64_t> values(slots, kUndefined);
      for (const ShuffleStep &step : plan.steps)
        for (auto [source, target] : llvm::zip_equal(step.from, step.to))
          values[target] = given[plan.sourceLane(step, lane, warp)][source];
      runSwaps(plan.after, lane, warp, values);
      for (auto [number, slot] : llvm::enumerate(plan.destinationSlots))
        if (slot >= 0)
          to[warp][lane][number] = values[slot];
    }
  }
  return to;
}

/// Of the test that runs.
int64_t mostPerWord = 0;

/// The same with words of several elements, each by its number in a list of them.
Threads runPacked(const ShufflePlan &plan, unsigned elementBits, const TileLayout &destination,
                  const Threads &from) {
  const PackedShuffles packed = packShuffles(plan, elementBits);
  EXPECT_LE(packed.perWord * elementBits, 32);
  mostPerWord = std::max(mostPerWord, packed.perWord);
  std::vector<int64_t> elements;
  Threads words = threadsOf(destination, 0), to = threadsOf(destination, 0);
  for (size_t warp = 0; warp < words.size(); ++warp)
    for (size_t lane = 0; lane < words[warp].size(); ++lane)
      for (auto [place, source] : llvm::enumerate(packed.sources)) {
        if (place % size_t(packed.perWord) == 0)
          words[warp][lane].push_back(int64_t(elements.size()));
        elements.push_back(source < 0 ? kUndefined : from[warp][lane][source]);
      }
  const Threads moved = runShuffles(packed.plan, destination, words);
  for (size_t warp = 0; warp < words.size(); ++warp)
    for (size_t lane = 0; lane < words[warp].size(); ++lane)
      for (int place : packed.destinations)
        to[warp][lane].push_back(
            place < 0 ? kUndefined
                      : elements[size_t(moved[warp][lane][size_t(place / packed.perWord)] +
                                        place % packed.perWord)]);
  return to;
}

Threads runShared(const SharedPlan &plan, const TileLayout &source, const TileLayout &destination,
                  unsigned elementBits, const Threads &from) {
  Threads to = threadsOf(destination, destination.registersPerThread());
  int64_t elementBytes = elementBits / 8;
  std::vector<int64_t> memory(plan.bytes / elementBytes, kUndefined);
  auto visit = [&](const SharedAccess &access, llvm::ArrayRef<int> groups, auto move) {
    for (size_t warp = 0; warp < to.size(); ++warp)
      for (size_t lane = 0; lane < to[warp].size(); ++lane)
        for (int group : groups) {
          int64_t offset = access.offsetOf(group, lane, warp);
          EXPECT_EQ(offset % access.width, 0);
          for (auto [place, number] : llvm::enumerate(access.groups[group].registers)) {
            ASSERT_GE(offset, 0);
            ASSERT_LT(offset + int64_t(place), int64_t(memory.size()));
            move(warp, lane, number, memory[offset + place]);
          }
        }
  };
  for (const SharedRound &round : plan.rounds) {
    std::fill(memory.begin(), memory.end(), kUndefined);
    visit(plan.write, round.stores, [&](int64_t warp, int64_t lane, int number, int64_t &cell) {
      if (Word(lane) & source.copyMask(Dim::Lane) || Word(warp) & source.copyMask(Dim::Warp))
        return;
      // No two elements may share a place.
      int64_t value = from[warp][lane][number];
      EXPECT_TRUE(cell == kUndefined || value == kUndefined || cell == value);
      if (value != kUndefined)
        cell = value;
    });
    if (!plan.isReadTransposed) {
      visit(plan.read, round.loads, [&](int64_t warp, int64_t lane, int number, int64_t &cell) {
        to[warp][lane][number] = cell;
      });
      continue;
    }
    // Sixteen lanes supply rows, and get columns.
    const int64_t width = plan.read.width;
    for (size_t warp = 0; warp < to.size(); ++warp)
      for (int64_t lane = 0; lane < int64_t(to[warp].size()); ++lane)
        for (int group : round.loads)
          for (auto [row, number] : llvm::enumerate(plan.read.groups[group].registers)) {
            const int64_t column = lane % 16,
                          from = lane - column + 16 / width * int64_t(row) + column / width;
            to[warp][lane][number] = memory[plan.read.offsetOf(group, from, warp) + column % width];
          }
  }
  return to;
}

/// Runs the plan; every element of the tile must arrive.
void check(const TileLayout &source, const TileLayout &destination, unsigned elementBits,
           const ConversionPlan &plan) {
  Threads from = fill(source), expected = fill(destination), to;
  switch (plan.kind) {
  case ConversionKind::Same:
    to = runRenaming(plan, destination, from);
    break;
  case ConversionKind::WithinWarp:
    to = runShuffles(plan.shuffles, destination, from);
    for (unsigned bits : {8, 16, 32})
      EXPECT_EQ(runPacked(plan.shuffles, bits, destination, from), to) << bits;
    break;
  case ConversionKind::ThroughShared:
    to = runShared(plan.shared, source, destination, elementBits, from);
    break;
  case ConversionKind::BetweenBlocks:
    FAIL() << "no plan";
  }
  int64_t wrong = 0;
  for (size_t warp = 0; warp < to.size(); ++warp)
    for (size_t lane = 0; lane < to[warp].size(); ++lane)
      for (size_t number = 0; number < to[warp][lane].size(); ++number)
        if (int64_t value = expected[warp][lane][number]; value != kUndefined)
          wrong += to[warp][lane][number] != value;
  EXPECT_EQ(wrong, 0) << print(source) << "\nto " << print(destination);
}

const Extents kShapes[] = {{96},      {100},    {176},    {781},     {512},       {96, 160},
                           {100, 96}, {3, 176}, {16, 88}, {128, 64}, {5, 6, 100}, {4, 96}};

using Way = ConversionSettings::Way;

class Conversions : public testing::Test {
protected:
  void SetUp() override { mostPerWord = 0; }
  RandomLayouts random{99};
  int counts[4] = {};
  ConversionPlan plan(const TileLayout &source, const TileLayout &destination, unsigned bits,
                      Way way = Way::Cheapest, int64_t maxBytes = 32 * 1024) {
    ConversionPlan plan =
        planConversion(source, destination, bits, {.maxSharedBytes = maxBytes, .way = way});
    ++counts[int(plan.kind)];
    check(source, destination, bits, plan);
    return plan;
  }
};

TEST_F(Conversions, between_any_blocked_layouts) {
  for (const Extents &shape : kShapes)
    for (int64_t lanes : {32, 64})
      for (int trial = 0; trial < 8; ++trial) {
        int64_t warps = random.oneOf<int64_t>({1, 2, 4});
        TileLayout source = random.blockedTile(shape, lanes, warps);
        TileLayout destination = random.blockedTile(shape, lanes, warps);
        unsigned bits = random.oneOf<unsigned>({8, 16, 32, 64});
        ConversionPlan cheapest = plan(source, destination, bits);
        EXPECT_EQ(classifyConversion(source, destination, bits), cheapest.kind);
        plan(source, destination, bits, Way::Shared);
        plan(source, destination, bits, Way::Shared, 1024);
      }
  EXPECT_GT(counts[int(ConversionKind::WithinWarp)], 0);
  EXPECT_GT(counts[int(ConversionKind::ThroughShared)], 0);
  // Of neighbours, which random bijections do not leave together.
  EXPECT_EQ(mostPerWord, 4);
}

TEST_F(Conversions, shuffles_reach_whatever_a_warp_holds) {
  for (const Extents &shape : kShapes)
    for (int64_t lanes : {32, 64})
      for (int trial = 0; trial < 10; ++trial) {
        int64_t warps = random.oneOf<int64_t>({1, 2});
        TileLayout source = random.shuffledTile(shape, lanes, warps);
        // The same warps: lanes and registers exchanged again.
        TileLayout destination = source;
        LinearLayout block = source.block();
        DimList inside = {{Dim::Register, block.inBits(Dim::Register)},
                          {Dim::Lane, block.inBits(Dim::Lane)}};
        LinearLayout mix = random.bijection(inside, inside);
        if (int64_t count = block.inSize(Dim::Warp); count > 1)
          mix = mix * LinearLayout::identity1D(count, Dim::Warp, Dim::Warp);
        destination = TileLayout(mix.compose(block), shape);
        plan(source, destination, 32, Way::Shuffles);
      }
  EXPECT_GT(counts[int(ConversionKind::WithinWarp)], 200);
  EXPECT_EQ(counts[int(ConversionKind::ThroughShared)], 0);
}

/// A number for each row, of which each lane wants those of every other row: a word written is
/// cheap, and what is read is as wide as the reader's registers are.
TEST_F(Conversions, many_registers_are_read_wide) {
  TileLayout spread = blocked({64}, {1}, {32}, {1}, {0});
  TileLayout matrix = blocked({64, 64}, {1, 4}, {2, 16}, {1, 1}, {1, 0});
  TileLayout rows = sliceOf(matrix, 1);
  ASSERT_EQ(rows.registersPerThread(), 32);
  ConversionPlan through = plan(spread, rows, 32);
  ASSERT_EQ(through.kind, ConversionKind::ThroughShared);
  EXPECT_EQ(through.shared.write.groups.size(), 2u);
  EXPECT_EQ(through.shared.read.groups.size(), 8u);
  // Halves move two in a word.
  EXPECT_EQ(plan(spread, rows, 16).kind, ConversionKind::WithinWarp);
  // Few registers are not worth a barrier.
  TileLayout few = sliceOf(blocked({16, 64}, {1, 4}, {2, 16}, {1, 1}, {1, 0}), 1);
  EXPECT_EQ(plan(blocked({16}, {1}, {32}, {1}, {0}), few, 32).kind, ConversionKind::WithinWarp);
}

TEST_F(Conversions, copies_are_used_where_they_are) {
  // From a slice, which every lane of a row holds, to one element per lane: no lane reads another.
  TileLayout matrix = blocked({32, 32}, {1, 1}, {1, 32}, {1, 1}, {1, 0});
  TileLayout rows = sliceOf(matrix, 1); // all 32 in every lane
  TileLayout spread = blocked({32}, {1}, {32}, {1}, {0});
  ConversionPlan selects = plan(rows, spread, 32, Way::Shuffles);
  ASSERT_EQ(selects.kind, ConversionKind::WithinWarp);
  EXPECT_EQ(selects.shuffles.shuffleCount(32), 0);
  // And back: one shuffle for each register.
  ConversionPlan gather = plan(spread, rows, 32, Way::Shuffles);
  ASSERT_EQ(gather.kind, ConversionKind::WithinWarp);
  EXPECT_EQ(gather.shuffles.shuffleCount(32), 32);
  EXPECT_EQ(gather.shuffles.selectCount(), 0);
  // Random slices.
  for (int trial = 0; trial < 40; ++trial) {
    Extents shape = {96, random.oneOf<int64_t>({1, 8, 100})};
    int64_t lanes = random.oneOf<int64_t>({32, 64});
    TileLayout source = sliceOf(random.blockedTile(shape, lanes, 4), 1);
    TileLayout destination = sliceOf(random.blockedTile(shape, lanes, 4), 1);
    plan(source, destination, 32);
    plan(source, destination, 32, Way::Shared);
  }
}

TEST_F(Conversions, equal_and_renumbered_layouts_are_the_same) {
  TileLayout tile = blocked({96, 96}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  EXPECT_EQ(plan(tile, tile, 16).kind, ConversionKind::Same);
  // Both axes repeat three times: the transpose numbers the repetitions otherwise.
  TileLayout order = blocked({96, 96}, {2, 4}, {4, 8}, {4, 1}, {1, 0});
  TileLayout other = blocked({96, 96}, {2, 4}, {4, 8}, {4, 1}, {0, 1});
  EXPECT_NE(plan(order, other, 16).kind, ConversionKind::BetweenBlocks);
  // 6 x 16 is held as 3 x 32 by another block.
  TileLayout narrow = blocked({96}, {1}, {32}, {1}, {0}), wide = narrow;
  EXPECT_EQ(plan(narrow, wide, 32).kind, ConversionKind::Same);
}

TEST_F(Conversions, accumulator_becomes_operand_without_leaving_the_thread) {
  // The chain of attention: P = softmax(QK) is the accumulator of one dot and operand A of the
  // next.
  TileLayout accumulator = mmaAccumulator({64, 96}, {4, 1}, 16);
  TileLayout operand = mmaOperand(MatrixSide::Lhs, {64, 96}, {4, 1}, 16);
  EXPECT_EQ(plan(accumulator, operand, 16).kind, ConversionKind::Same);
  // For 8-bit elements lanes exchange halves.
  TileLayout narrow = mmaOperand(MatrixSide::Lhs, {64, 96}, {4, 1}, 8);
  EXPECT_EQ(plan(mmaAccumulator({64, 96}, {4, 1}, 8), narrow, 8, Way::Shuffles).kind,
            ConversionKind::WithinWarp);
}

TEST_F(Conversions, accumulators_of_amd_become_operands_where_their_bases_agree) {
  auto chain = [&](llvm::StringRef name) {
    const MatrixInstruction &one = *instructionNamed(amdProductInstructions("gfx942"), name);
    return plan(accumulatorOf(one, {64, 96}, {4, 1}),
                operandOf(one, MatrixSide::Lhs, {64, 96}, {4, 1}), 16)
        .kind;
  };
  EXPECT_EQ(chain("mfma.m16n16k16.f32.f16.f16.exchanged"), ConversionKind::Same);
  // Lanes hold neighbours of a column.
  EXPECT_NE(chain("mfma.m16n16k16.f32.f16.f16"), ConversionKind::Same);
}

TEST_F(Conversions, between_fragments_of_amd_and_any_blocked_layouts) {
  for (std::string chip : {"gfx942", "gfx950", "gfx1100", "gfx1201"})
    for (const MatrixInstruction &one : amdProductInstructions(chip)) {
      SCOPED_TRACE(chip + " " + one.name);
      Extents shape = {random.oneOf<int64_t>({64, 96, 100}), random.oneOf<int64_t>({64, 80})};
      TileLayout fragments[] = {accumulatorOf(one, shape, {2, 2}),
                                operandOf(one, MatrixSide::Lhs, shape, {2, 2}),
                                operandOf(one, MatrixSide::Rhs, shape, {4, 1})};
      unsigned bits = random.oneOf<unsigned>({8, 16, 32, 64});
      for (const TileLayout &fragment : fragments) {
        TileLayout other = random.blockedTile(shape, one.laneCount(), 4);
        plan(other, fragment, bits);
        plan(fragment, other, bits);
        plan(fragments[0], fragment, bits);
      }
    }
  EXPECT_GT(counts[int(ConversionKind::ThroughShared)], 0);
}

TEST_F(Conversions, scratch_of_fragments_of_amd_has_no_bank_conflicts) {
  for (std::string chip : {"gfx942", "gfx1100", "gfx1201"})
    for (const MatrixInstruction &one : amdProductInstructions(chip)) {
      SCOPED_TRACE(chip + " " + one.name);
      unsigned bits = bitsOf(one.elements.lhs);
      TileLayout rows =
          blocked({64, 128}, {1, 128 / bits}, {one.laneCount() / 4, 4}, {4, 1}, {1, 0});
      TileLayout operand = operandOf(one, MatrixSide::Lhs, {64, 128}, {2, 2});
      for (auto [from, to] : {std::pair(&rows, &operand), std::pair(&operand, &rows)}) {
        ConversionPlan made = plan(*from, *to, bits, Way::Shared);
        EXPECT_EQ(bankConflicts(made.shared.write, one.laneCount(), bits), 0);
        EXPECT_EQ(bankConflicts(made.shared.read, one.laneCount(), bits), 0);
      }
    }
}

TEST_F(Conversions, scratch_has_no_bank_conflicts) {
  const Extents shapes[] = {{128, 64}, {64, 128}, {96, 160}, {64, 176}, {256, 32}};
  int64_t checked = 0;
  for (const Extents &shape : shapes)
    for (unsigned bits : {8, 16, 32, 64}) {
      TileLayout layouts[] = {
          blocked(shape, {1, 16 * 8 / bits}, {8, 4}, {4, 1}, {1, 0}),
          blocked(shape, {16 * 8 / bits, 1}, {4, 8}, {1, 4}, {0, 1}),
          mmaAccumulator(shape, {4, 1}, bits),
          mmaOperand(MatrixSide::Lhs, shape, {2, 2}, bits),
          mmaOperand(MatrixSide::Rhs, shape, {2, 2}, bits),
      };
      for (const TileLayout &source : layouts)
        for (const TileLayout &destination : layouts) {
          ConversionPlan made = plan(source, destination, bits, Way::Shared);
          EXPECT_EQ(bankConflicts(made.shared.write, 32, bits), 0)
              << print(source) << "\nto " << print(destination);
          EXPECT_EQ(bankConflicts(made.shared.read, 32, bits), 0)
              << print(source) << "\nto " << print(destination);
          ++checked;
        }
    }
  EXPECT_EQ(checked, 5 * 4 * 25);
}

TEST_F(Conversions, scratch_of_random_layouts_has_no_bank_conflicts) {
  for (int64_t lanes : {32, 64})
    for (int trial = 0; trial < 200; ++trial) {
      TileLayout source = random.shuffledTile({64, 32}, lanes, 2);
      TileLayout destination = random.shuffledTile({64, 32}, lanes, 2);
      unsigned bits = random.oneOf<unsigned>({8, 16, 32, 64});
      ConversionPlan made = plan(source, destination, bits, Way::Shared);
      EXPECT_EQ(bankConflicts(made.shared.write, lanes, bits), 0);
      EXPECT_EQ(bankConflicts(made.shared.read, lanes, bits), 0);
    }
}

/// Lanes that act at once in reads of 16 bytes (triton-lang/triton pull request 11365).
const SharedBanks kGfx942Banks{32, {1, 2, 4 ^ 16}}, kGfx950Banks{64, {1, 2, 4 ^ 8, 4 ^ 16}};

TEST_F(Conversions, scratch_suits_the_banks_of_each_gpu) {
  int64_t conflictsOfOrder = 0, wideReads = 0;
  for (const SharedBanks &banks : {kGfx942Banks, kGfx950Banks})
    for (int trial = 0; trial < 100; ++trial) {
      unsigned bits = random.oneOf<unsigned>({8, 16, 32, 64});
      // Vectors of 16 bytes on both sides, their places exchanged at random.
      int64_t width = 128 / bits;
      auto tile = [&] {
        return blocked({64, 64}, {1, width}, random.factors(64, 2), random.factors(4, 2),
                       random.order(2));
      };
      TileLayout source = trial % 2 ? tile() : random.shuffledTile({64, 64}, 64, 4);
      TileLayout destination = trial % 2 ? tile() : random.shuffledTile({64, 64}, 64, 4);
      ConversionSettings settings{.way = Way::Shared};
      SharedPlan inOrder = planConversion(source, destination, bits, settings).shared;
      settings.banks = banks;
      ConversionPlan made = planConversion(source, destination, bits, settings);
      check(source, destination, bits, made);
      auto conflicts = [&](const SharedAccess &access, SharedDirection direction) {
        return bankConflicts(access, 64, bits, banks, direction);
      };
      EXPECT_EQ(conflicts(made.shared.write, SharedDirection::Write), 0);
      EXPECT_EQ(conflicts(made.shared.read, SharedDirection::Read), 0);
      conflictsOfOrder += conflicts(inOrder.read, SharedDirection::Read);
      wideReads += made.shared.read.width * int64_t(bits) == 128;
    }
  // What is free of conflicts on one GPU is not on another.
  EXPECT_GT(conflictsOfOrder, 0);
  EXPECT_GT(wideReads, 20);
}

TEST_F(Conversions, scratch_of_operands_across_the_depth_is_read_transposed) {
  ConversionSettings settings{.way = Way::Shared};
  settings.banks = kGfx950Banks;
  settings.banks.transposes = true;
  for (const MatrixInstruction &one : amdProductInstructions("gfx950")) {
    const unsigned bits = bitsOf(one.elements.rhs);
    SCOPED_TRACE(one.name);
    const int64_t width = 128 / bits, along = 64 / width;
    const TileLayout rows = blocked({128, 64}, {1, width}, {64 / along, along}, {4, 1}, {1, 0});
    const TileLayout operand = operandOf(one, MatrixSide::Rhs, {128, 64}, {2, 2});
    ConversionPlan made = planConversion(rows, operand, bits, settings);
    check(rows, operand, bits, made);
    EXPECT_EQ(made.shared.isReadTransposed, bits <= 16);
    if (bits > 16)
      continue;
    EXPECT_EQ(made.shared.write.width, width);
    EXPECT_EQ(made.shared.read.width, 64 / bits);
    EXPECT_EQ(made.shared.bytes, 128 * 64 * bits / 8);
    // Back there is nothing to transpose, and a scratch buffer that is too small goes in rounds.
    check(operand, rows, bits, planConversion(operand, rows, bits, settings));
    settings.maxSharedBytes = 4096;
    made = planConversion(rows, operand, bits, settings);
    settings.maxSharedBytes = 32 * 1024;
    check(rows, operand, bits, made);
    EXPECT_FALSE(made.shared.isReadTransposed);
    EXPECT_GT(made.shared.rounds.size(), 1u);
  }
}

TEST_F(Conversions, vectors_are_as_wide_as_both_sides_allow) {
  TileLayout rows = blocked({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  TileLayout others = blocked({64, 64}, {2, 8}, {16, 2}, {1, 4}, {1, 0});
  ConversionPlan made = plan(rows, others, 16, Way::Shared);
  EXPECT_EQ(made.shared.write.width, 8);
  EXPECT_EQ(made.shared.read.width, 8);
  EXPECT_EQ(made.shared.bytes, 64 * 64 * 2);
}

TEST_F(Conversions, large_tiles_go_in_rounds) {
  TileLayout source = mmaAccumulator({128, 256}, {4, 2}, 16);
  TileLayout destination = blocked({128, 256}, {1, 4}, {1, 32}, {8, 1}, {1, 0});
  ConversionPlan made = plan(source, destination, 32, Way::Shared, 32 * 1024);
  EXPECT_LE(made.shared.bytes, 32 * 1024);
  EXPECT_EQ(made.shared.rounds.size(), 4u);
  EXPECT_EQ(bankConflicts(made.shared.write, 32, 32), 0);
}

TEST_F(Conversions, warp_counts_must_agree) {
  TileLayout four = blocked({128}, {1}, {32}, {4}, {0}), two = blocked({128}, {1}, {32}, {2}, {0});
  EXPECT_EQ(planConversion(four, two, 32).kind, ConversionKind::BetweenBlocks);
}

} // namespace
