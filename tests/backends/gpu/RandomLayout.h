//===-- RandomLayout.h - layouts for tests of code that must take any ------------------------===//
#pragma once

#include "lang/layout/TileLayout.h"

#include <algorithm>
#include <random>
#include <vector>

namespace sectile::testing {

/// The bits of the coordinates dealt to lanes, warps and registers as they come. Some lanes and
/// warps hold copies, some axes are left to repetition in part.
inline layout::TileLayout anyLayout(std::mt19937 &random, const std::vector<int64_t> &shape,
                                    int64_t lanes, int64_t warps) {
  using namespace layout;
  std::vector<Coordinates> bits;
  Extents extents;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t block = 1;
    for (; block < shape[axis]; block *= 2) {
      if (block > 1 && shape[axis] % block == 0 && random() % 4 == 0)
        break;
      Coordinates step(shape.size(), 0);
      step[axis] = int32_t(block);
      bits.push_back(step);
    }
    extents.push_back(block);
  }
  std::shuffle(bits.begin(), bits.end(), random);
  auto take = [&](int64_t count) {
    llvm::SmallVector<Coordinates, 8> taken;
    for (; count > 1; count /= 2) {
      if (bits.empty() || random() % 8 == 0) {
        taken.push_back(Coordinates(shape.size(), 0));
      } else {
        taken.push_back(bits.back());
        bits.pop_back();
      }
    }
    return taken;
  };
  auto laneBases = take(lanes), warpBases = take(warps);
  llvm::SmallVector<Coordinates, 8> registers(bits.begin(), bits.end());
  return TileLayout(
      LinearLayout::fromBases(
          extents, {{Dim::Register, registers}, {Dim::Lane, laneBases}, {Dim::Warp, warpBases}}),
      shape);
}

/// One of at most 128 registers per thread: compiling takes the square of them.
inline layout::TileLayout randomLayout(std::mt19937 &random, const std::vector<int64_t> &shape,
                                       int64_t lanes, int64_t warps) {
  for (;;) {
    layout::TileLayout layout = anyLayout(random, shape, lanes, warps);
    if (layout.registersPerThread() <= 128)
      return layout;
  }
}

} // namespace sectile::testing
