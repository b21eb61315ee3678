//===-- SortSteps.h - what a sort does, in order ----------------------------------------------===//
// Known from the op's types alone, as ReduceSteps.h is; EmitSort.cpp emits it. A bitonic network
// compares elements whose places along the axis differ in one bit. It matters where that bit is:
//
//   a register bit   two registers of a thread meet: a minimum and a maximum
//   a lane bit       one shuffle, a comparison and a selection for each register
//   a warp bit       the tile is converted to `far`, in which such bits are those of registers
//
//   source -> `sorted` -> [comparators; `sorted` -> `far` -> `sorted` where warps meet] -> result
//
// The lowest bits of the place are compared most often: `sorted` has them in registers, then in
// lanes.
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "lang/layout/TileLayout.h"

namespace sectile::gpu {

struct SortSteps {
  SortSteps(tile::SortOp op, const GpuTarget &target);

  int64_t scratchBytes(tile::SortOp op, const GpuTarget &target) const;

  /// What holds a bit of the place along the axis.
  struct Holder {
    layout::Dim dim = layout::Dim::Register;
    unsigned bit = 0;
  };
  using Holders = llvm::SmallVector<Holder, 12>;

  layout::TileLayout source, sorted, far;
  Holders holders, farHolders;
  /// The line rises and falls already: one merge sorts it.
  bool isMerge = false;
};

/// One holder for each bit of the place along an axis; nullopt where a bit of a register, lane or
/// warp moves along several axes or bits, or where the axis is repeated.
std::optional<SortSteps::Holders> holdersAlong(const layout::TileLayout &layout, int axis);

/// Bits of an element while it is sorted.
unsigned sortedBits(tile::SortOp op);

} // namespace sectile::gpu
