//===-- ConversionView.h - two layouts of one tile over the same block --------------------===//
// Private to the planning of conversions. Layouts with different blocks are compared over the
// larger block on each axis: the smaller one is repeated by register bits, some of which may not
// exist (they would be padding of the larger block only).
#pragma once

#include "lang/layout/Conversion.h"

namespace sectile::layout {

struct ConversionView {
  const TileLayout *tile;
  LinearLayout block;
  Extents repetitions;

  int64_t registersPerBlock() const { return block.inSize(Dim::Register); }
  int64_t repetitionCount() const;
  /// The tile's register behind a register of the view; -1 when there is none.
  int registerOf(int64_t repetition, Word blockRegister) const;
};

struct ConversionViews {
  ConversionView source, destination;
};

ConversionViews alignBlocks(const TileLayout &source, const TileLayout &destination);

/// Where the source holds what (register, lane, warp, block) of the destination wants, as columns
/// of source registers and source lanes. Warp and block stay.
struct WarpMap {
  Words registerOfRegister, laneOfRegister;
  Words registerOfLane, laneOfLane;
  Words registerOfWarp, laneOfWarp;
  Words registerOfBlock, laneOfBlock;
  bool staysInThread() const;
};
std::optional<WarpMap> mapWithinWarp(const ConversionViews &views);

/// nullopt when lanes would have to read two registers of one lane at once in every order.
std::optional<ShufflePlan> planShuffles(const ConversionViews &views, WarpMap map);
SharedPlan planShared(const ConversionViews &views, unsigned elementBits,
                      const ConversionSettings &settings);
/// The plan of one round whose reads are as wide as the destination's registers allow; nullopt
/// where that is no wider than what both sides have together, where writes would become so much
/// narrower that nothing is gained, or where banks conflict.
std::optional<SharedPlan> planForReader(const ConversionViews &views, unsigned elementBits,
                                        const ConversionSettings &settings);

} // namespace sectile::layout
