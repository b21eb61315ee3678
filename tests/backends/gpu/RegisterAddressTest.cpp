// The law of backends/gpu/RegisterAddress.h, on layouts and index facts made at random: what it
// says of two registers holds in every thread.
#include "backends/gpu/RegisterAddress.h"

#include "../../lang/layout/RandomLayouts.h"

#include <gtest/gtest.h>
#include <map>

using namespace sectile;
using namespace sectile::layout;
using optimizer::DimensionFacts;
using optimizer::IndexFacts;

namespace {

/// Addresses that keep (Run) of optimizer/IndexAnalysis.h along every axis, and nothing else.
class Addresses {
public:
  Addresses(const IndexFacts &facts, int64_t elementBytes, const std::map<void *, int64_t> &symbols,
            std::mt19937_64 &random)
      : facts(facts), elementBytes(elementBytes), symbols(symbols), random(random) {}

  int64_t of(const Coordinates &at) {
    int64_t sum = 0;
    for (auto [axis, dim] : llvm::enumerate(facts.dimensions)) {
      int64_t step = elementBytes * dim.stride;
      if (dim.strideSymbol)
        step *= symbols.at(dim.strideSymbol.getAsOpaquePointer());
      sum += startOf(axis, at[axis] / dim.run) + at[axis] % dim.run * step;
    }
    return sum;
  }

private:
  int64_t startOf(size_t axis, int64_t run) {
    auto [found, isNew] = starts.try_emplace({axis, run});
    if (isNew)
      found->second = int64_t(random() % 1000000);
    return found->second;
  }

  const IndexFacts &facts;
  int64_t elementBytes;
  const std::map<void *, int64_t> &symbols;
  std::mt19937_64 &random;
  std::map<std::pair<size_t, int64_t>, int64_t> starts;
};

TileLayout anyTile(RandomLayouts &random, int trial) {
  Extents shape;
  for (int64_t rank = 1 + random.below(3); rank > 0; --rank)
    shape.push_back(random.oneOf<int64_t>({1, 2, 5, 7, 16, 24, 32, 96, 100}));
  return trial % 3 ? random.blockedTile(shape, 32, 4) : random.shuffledTile(shape, 32, 2);
}

TEST(RegisterAddress, holds_in_every_thread) {
  RandomLayouts random(11);
  int symbolOf[2];
  std::map<void *, int64_t> symbols{{&symbolOf[0], 1009}, {&symbolOf[1], -77}};
  int shared = 0;
  for (int trial = 0; trial < 400; ++trial) {
    TileLayout layout = anyTile(random, trial);
    IndexFacts facts;
    for (int64_t extent : layout.shape()) {
      DimensionFacts dim;
      dim.extent = extent;
      // Aligned runs of any length, powers of two and the whole axis above all.
      dim.run = std::min<int64_t>(
          extent, random.oneOf<int64_t>({1, 2, 4, 8, 16, 12, 3, extent, extent, extent}));
      if (dim.run > 1) {
        dim.stride = random.oneOf<int64_t>({0, 1, 1, 2, -3, 64});
        if (dim.stride && random.below(3) == 0)
          dim.strideSymbol = mlir::Value::getFromOpaquePointer(&symbolOf[random.below(2)]);
      }
      facts.dimensions.push_back(dim);
    }
    int64_t bytes = random.oneOf<int64_t>({1, 2, 4, 8});
    Addresses addresses(facts, bytes, symbols, random.generator);
    for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
      gpu::RegisterAddress relative = gpu::relativeAddress(layout, facts, bytes, reg);
      shared += relative.base != reg;
      int64_t difference = relative.bytes;
      for (auto [symbol, factor] : relative.scaled)
        difference += symbols.at(symbol.getAsOpaquePointer()) * factor;
      for (int64_t warp = 0; warp < layout.warpCount(); ++warp)
        for (int64_t lane = 0; lane < layout.lanesPerWarp(); ++lane) {
          Coordinates at = layout.elementOf(reg, lane, warp);
          if (!layout.isInside(at)) // nothing is promised of padding
            continue;
          ASSERT_EQ(addresses.of(at) - addresses.of(layout.elementOf(relative.base, lane, warp)),
                    difference)
              << "trial " << trial << " register " << reg << " lane " << lane << " warp " << warp;
        }
    }
  }
  EXPECT_GT(shared, 1000);
}

TEST(RegisterAddress, equal_registers_hold_one_element_of_a_run) {
  RandomLayouts random(17);
  int shared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    TileLayout layout = anyTile(random, trial);
    IndexFacts facts;
    for (int64_t extent : layout.shape()) {
      DimensionFacts dim;
      dim.extent = extent;
      dim.run = std::min<int64_t>(extent, random.oneOf<int64_t>({1, 2, 4, 8, 12, 3, extent}));
      dim.stride = dim.run > 1 ? random.oneOf<int64_t>({0, 0, 1}) : 0;
      facts.dimensions.push_back(dim);
    }
    auto equal = gpu::equalRegisters(layout, facts);
    for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
      shared += equal[reg] != reg;
      ASSERT_EQ(equal[equal[reg]], equal[reg]);
      for (int64_t warp = 0; warp < layout.warpCount(); ++warp)
        for (int64_t lane = 0; lane < layout.lanesPerWarp(); ++lane) {
          Coordinates at = layout.elementOf(reg, lane, warp);
          Coordinates first = layout.elementOf(equal[reg], lane, warp);
          if (!layout.isInside(at))
            continue;
          for (size_t axis = 0; axis < layout.shape().size(); ++axis) {
            const DimensionFacts &dim = facts.dimensions[axis];
            bool isRun = dim.constancy() > 1;
            ASSERT_EQ(isRun ? at[axis] / dim.run : at[axis],
                      isRun ? first[axis] / dim.run : first[axis])
                << "trial " << trial << " register " << reg;
          }
        }
    }
  }
  EXPECT_GT(shared, 1000);
}

TEST(RegisterAddress, one_pointer_for_a_strided_tile) {
  // row * stride + column: 4 registers along rows 16 apart, 4 columns each
  TileLayout layout = blocked({64, 64}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  int symbol = 0;
  IndexFacts facts;
  facts.dimensions.resize(2);
  for (DimensionFacts &dim : facts.dimensions) {
    dim.extent = dim.run = 64;
    dim.stride = 1;
  }
  facts.dimensions[0].strideSymbol = mlir::Value::getFromOpaquePointer(&symbol);
  for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
    gpu::RegisterAddress relative = gpu::relativeAddress(layout, facts, 2, reg);
    Coordinates at = layout.constantOf(reg);
    EXPECT_EQ(relative.base, 0);
    EXPECT_EQ(relative.bytes, at[1] * 2);
    ASSERT_EQ(relative.scaled.size(), at[0] ? 1u : 0u);
    if (at[0])
      EXPECT_EQ(relative.scaled[0].second, at[0] * 2);
  }
}

} // namespace
