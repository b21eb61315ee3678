// Tiles of any extents: every element is held, by whom the layout says; operations on shapes; text.
#include "RandomLayouts.h"
#include "lang/layout/LayoutText.h"

#include <gtest/gtest.h>
#include <set>

using namespace sectile::layout;

namespace {

const Extents kShapes[] = {{96},         {100},        {176},       {781},     {1},
                           {96, 160},    {100, 96},    {3, 176},    {64, 781}, {128, 64},
                           {1, 100},     {7, 5},       {2, 3, 4},   {4, 96},   {5, 1, 8},
                           {16, 16, 16}, {96, 3, 176}, {2, 2, 2, 2}};

int64_t countOf(Counts shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t numberOf(Counts shape, const Coordinates &element) {
  int64_t number = 0;
  for (size_t index = 0; index < shape.size(); ++index)
    number = number * shape[index] + element[index];
  return number;
}

template <class Visit>
void forEachThread(const TileLayout &tile, Visit visit) {
  for (int64_t warp = 0; warp < tile.warpCount(); ++warp)
    for (int64_t lane = 0; lane < tile.lanesPerWarp(); ++lane)
      visit(lane, warp);
}

class Tiles : public testing::Test {
protected:
  template <class Check>
  void onRandomTiles(Check check) {
    for (const Extents &shape : kShapes)
      for (int64_t lanes : {32, 64})
        for (int trial = 0; trial < 4; ++trial)
          check(random.blockedTile(shape, lanes, random.oneOf<int64_t>({1, 2, 4, 8})));
  }
  RandomLayouts random{7};
};

TEST_F(Tiles, every_element_is_held_once_by_threads_without_copies) {
  onRandomTiles([&](const TileLayout &tile) {
    std::vector<int> holders(countOf(tile.shape()));
    auto registers = tile.uniqueRegisters();
    forEachThread(tile, [&](int64_t lane, int64_t warp) {
      if (Word(lane) & tile.copyMask(Dim::Lane) || Word(warp) & tile.copyMask(Dim::Warp))
        return;
      for (int number : registers)
        if (Coordinates element = tile.elementOf(number, lane, warp); tile.isInside(element))
          ++holders[numberOf(tile.shape(), element)];
    });
    EXPECT_EQ(std::count(holders.begin(), holders.end(), 1), int64_t(holders.size()))
        << print(tile);
  });
}

TEST_F(Tiles, element_is_thread_part_xor_register_part_plus_offset) {
  onRandomTiles([&](const TileLayout &tile) {
    int64_t lane = random.below(tile.lanesPerWarp()), warp = random.below(tile.warpCount());
    Coordinates thread = tile.elementOf(0, lane, warp);
    for (int number = 0; number < tile.registersPerThread(); ++number) {
      RegisterPart part = tile.coordinateOf(number);
      Coordinates element = tile.elementOf(number, lane, warp);
      for (int index = 0; index < tile.rank(); ++index)
        EXPECT_EQ(element[index], (thread[index] ^ part.inBlock[index]) + part.offset[index]);
      EXPECT_EQ(tile.registerHolding(tile.constantOf(number)), number);
    }
  });
}

TEST_F(Tiles, repetitions_are_odd_and_padding_is_below_a_block) {
  onRandomTiles([&](const TileLayout &tile) {
    for (int index = 0; index < tile.rank(); ++index) {
      EXPECT_EQ(tile.repetitions()[index] % 2, 1);
      EXPECT_GE(tile.paddedExtent(index), tile.shape()[index]);
    }
  });
  TileLayout exact = blocked({96, 176}, {1, 8}, {16, 2}, {2, 1}, {1, 0});
  EXPECT_FALSE(exact.isPadded());
  EXPECT_EQ(Extents(exact.repetitions()), (Extents{3, 11}));
  EXPECT_EQ(exact.registersPerThread(), 3 * 11 * 8);
  TileLayout padded = blocked({781}, {1}, {32}, {4}, {0});
  EXPECT_EQ(padded.registersPerThread(), 7);
  EXPECT_EQ(padded.paddedShape(), (Extents{896}));
}

TEST_F(Tiles, padding_registers_hold_only_padding) {
  int found = 0;
  onRandomTiles([&](const TileLayout &tile) {
    for (int number = 0; number < tile.registersPerThread(); ++number)
      if (tile.isPaddingRegister(number)) {
        ++found;
        forEachThread(tile, [&](int64_t lane, int64_t warp) {
          EXPECT_FALSE(tile.isInside(tile.elementOf(number, lane, warp)));
        });
      }
  });
  EXPECT_GT(found, 0);
  // 3 of 4 registers of lane 0.
  EXPECT_FALSE(blocked({3}, {4}, {32}, {1}, {0}).isPaddingRegister(2));
  EXPECT_TRUE(blocked({3}, {4}, {32}, {1}, {0}).isPaddingRegister(3));
}

TEST_F(Tiles, access_groups_are_aligned_neighbours) {
  onRandomTiles([&](const TileLayout &tile) {
    for (int index = 0; index < tile.rank(); ++index) {
      int64_t width = tile.contiguousRegisters(index);
      auto groups = tile.accessGroups(index, width);
      std::set<int> all;
      for (const RegisterGroup &group : groups)
        forEachThread(tile, [&](int64_t lane, int64_t warp) {
          Coordinates first = tile.elementOf(group[0], lane, warp);
          EXPECT_EQ(first[index] % width, 0);
          for (int64_t place = 0; place < width; ++place) {
            all.insert(group[place]);
            Coordinates expected = first;
            expected[index] += place;
            EXPECT_EQ(tile.elementOf(group[place], lane, warp), expected);
          }
        });
      EXPECT_EQ(int64_t(all.size()), tile.registersPerThread());
    }
  });
  EXPECT_EQ(blocked({128, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0}).contiguousRegisters(1), 8);
}

TEST_F(Tiles, blocked_is_what_its_counts_say) {
  TileLayout tile = blocked({128, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  EXPECT_EQ(tile.elementOf(3, 5, 0), (Coordinates{0, 43}));
  EXPECT_EQ(tile.elementOf(0, 8, 1), (Coordinates{5, 0}));
  EXPECT_EQ(tile.elementOf(9, 0, 3), (Coordinates{28, 1}));
  EXPECT_FALSE(tile.threadsHoldCopies());
  // Fewer elements than threads: copies.
  TileLayout small = blocked({64}, {1}, {32}, {4}, {0});
  EXPECT_EQ(small.copyMask(Dim::Warp), 2u);
  EXPECT_EQ(small.copyMask(Dim::Lane), 0u);
}

TEST_F(Tiles, slices_hold_projections) {
  onRandomTiles([&](const TileLayout &tile) {
    for (int dim = 0; dim < tile.rank(); ++dim) {
      TileLayout slice = sliceOf(tile, dim);
      // Every thread holds, of each element it had, the projection.
      forEachThread(tile, [&](int64_t lane, int64_t warp) {
        std::set<Coordinates> held;
        for (int number = 0; number < slice.registersPerThread(); ++number)
          EXPECT_TRUE(held.insert(slice.elementOf(number, lane, warp)).second);
        for (int number = 0; number < tile.registersPerThread(); ++number) {
          Coordinates element = tile.elementOf(number, lane, warp);
          element.erase(element.begin() + dim);
          EXPECT_TRUE(held.count(element));
        }
      });
      if (tile.shape()[dim] == 1 && !tile.isPadded(dim))
        EXPECT_EQ(expandDims(slice, dim), tile);
    }
  });
}

TEST_F(Tiles, broadcast_moves_nothing) {
  for (int64_t lanes : {32, 64})
    for (int trial = 0; trial < 20; ++trial) {
      TileLayout column = random.blockedTile({96, 1, 5}, lanes, 4);
      TileLayout wide = broadcast(column, {96, 100, 5});
      EXPECT_EQ(Extents(wide.shape()), (Extents{96, 100, 5}));
      TileLayout operand = broadcastOperand(wide, {96, 1, 5});
      forEachThread(wide, [&](int64_t lane, int64_t warp) {
        std::set<Coordinates> held, given;
        for (int number = 0; number < operand.registersPerThread(); ++number)
          held.insert(operand.elementOf(number, lane, warp));
        for (int number = 0; number < column.registersPerThread(); ++number)
          given.insert(column.elementOf(number, lane, warp));
        EXPECT_EQ(held, given);
        for (int number = 0; number < wide.registersPerThread(); ++number) {
          Coordinates element = wide.elementOf(number, lane, warp);
          element[1] = 0;
          EXPECT_TRUE(held.count(element));
        }
      });
    }
}

TEST_F(Tiles, transpose_moves_nothing) {
  onRandomTiles([&](const TileLayout &tile) {
    auto order = random.order(tile.rank());
    TileLayout result = transpose(tile, order);
    EXPECT_EQ(result.registersPerThread(), tile.registersPerThread());
    int64_t lane = random.below(tile.lanesPerWarp()), warp = random.below(tile.warpCount());
    for (int number = 0; number < result.registersPerThread(); ++number) {
      // The operand's register is found by its constant.
      Coordinates constant = result.constantOf(number), from(tile.rank());
      for (int index = 0; index < tile.rank(); ++index)
        from[order[index]] = constant[index];
      auto source = tile.registerHolding(from);
      ASSERT_TRUE(source);
      Coordinates element = tile.elementOf(*source, lane, warp),
                  moved = result.elementOf(number, lane, warp);
      for (int index = 0; index < tile.rank(); ++index)
        EXPECT_EQ(moved[index], element[order[index]]);
    }
  });
}

TEST_F(Tiles, reshape_keeps_every_register_or_is_refused) {
  struct Case {
    Extents from, to;
    bool fits;
  };
  const Case cases[] = {
      {{96, 160}, {96 * 160}, false}, {{128, 64}, {8192}, true}, {{8192}, {16, 512}, true},
      {{4, 96}, {4, 3, 32}, true},    {{96, 32}, {3072}, true},  {{12, 32}, {384}, true},
      {{4, 96}, {384}, false},        {{9, 32}, {3, 96}, true},  {{96}, {1, 96, 1}, true},
      {{96, 4}, {3, 128}, true},      {{3, 32}, {96}, true},     {{176, 16}, {11, 256}, true},
      {{2, 3, 4}, {2, 12}, true},     {{24}, {6, 4}, true},      {{24}, {4, 6}, false}};
  for (const Case &test : cases)
    for (int trial = 0; trial < 6; ++trial) {
      // Exact blocks only: powers of two within the extents.
      Extents per, ones(test.from.size(), 1), lanes(test.from.size(), 1);
      for (int64_t extent : test.from)
        per.push_back(extent & -extent);
      TileLayout tile = blocked(test.from, ones, per, ones, random.order(test.from.size()));
      ASSERT_FALSE(tile.isPadded());
      auto result = reshape(tile, test.to);
      EXPECT_EQ(bool(result), test.fits) << printShape(test.from) << " " << printShape(test.to);
      if (!result)
        continue;
      for (int64_t lane = 0; lane < tile.lanesPerWarp(); ++lane)
        for (int number = 0; number < tile.registersPerThread(); ++number)
          EXPECT_EQ(numberOf(test.to, result->elementOf(number, lane, 0)),
                    numberOf(test.from, tile.elementOf(number, lane, 0)));
      EXPECT_EQ(*reshape(*result, test.from), tile);
    }
  // Padding stays on an axis that only gets neighbours of extent 1, and nowhere else.
  TileLayout padded = blocked({100}, {1}, {32}, {1}, {0});
  auto row = reshape(padded, {1, 100});
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, expandDims(padded, 0));
  EXPECT_FALSE(reshape(padded, {10, 10}));
}

TEST_F(Tiles, join_and_split_are_inverse) {
  onRandomTiles([&](const TileLayout &tile) {
    TileLayout joined = join(tile);
    EXPECT_EQ(joined.contiguousRegisters(tile.rank()), 2);
    for (int number = 0; number < joined.registersPerThread(); ++number) {
      Coordinates element = joined.elementOf(number, 1, 0);
      EXPECT_EQ(element.pop_back_val(), number % 2);
      EXPECT_EQ(element, tile.elementOf(number / 2, 1, 0));
    }
    auto half = split(joined);
    ASSERT_TRUE(half);
    EXPECT_EQ(*half, tile.withoutDuplicateRegisters());
  });
  EXPECT_FALSE(split(blocked({16, 2}, {1, 1}, {16, 2}, {1, 1}, {1, 0})));
}

TEST_F(Tiles, text_parses_to_an_equal_layout) {
  onRandomTiles([&](const TileLayout &tile) {
    std::string problem;
    auto parsed = parseTileLayout(print(tile), problem);
    ASSERT_TRUE(parsed) << problem;
    EXPECT_EQ(*parsed, tile);
    EXPECT_EQ(hash_value(*parsed), hash_value(tile));
  });
  EXPECT_EQ(
      print(blocked({96, 160}, {1, 4}, {4, 8}, {4, 1}, {1, 0})),
      "96x160, register = [(0, 1) (0, 2) (16, 0)], lane = [(0, 4) (0, 8) (0, 16) (1, 0) (2, 0)], "
      "warp = [(4, 0) (8, 0)]");
  std::string problem;
  EXPECT_FALSE(parseTileLayout("96x160, lane = [(0, 1)] x", problem));
  EXPECT_EQ(problem, "layout: text follows the layout");
}

} // namespace
