//===-- PartialBuffer.h - partial results of warps, side by side in shared memory -------------===//
// For every position of a tile (the slice of the one that is reduced or scanned) a row of `count`
// partial results, one per warp along the axis.
//
//   lanes differ in position          lanes share a position
//   partial 0: pos 0 1 2 3 ...        pos 0: partial 0 1 2 3
//   partial 1: pos 0 1 2 3 ...        pos 1: partial 0 1 2 3
//
// The order keeps lanes apart in the first case, and lets a thread read several partials at once
// in the second. EmitPartials.h writes and reads them.
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::gpu {

class PartialBuffer {
public:
  /// `positions`: the layout of the threads that write. Rank 0 is one position.
  PartialBuffer(const layout::TileLayout &positions, int64_t count);

  /// The bytes of one operand with elements of `bits`.
  int64_t bytes(unsigned bits) const { return positionCount * count * (bits / 8); }

  /// Elements from one place of a row to the next.
  int64_t partialStride() const { return partialsTogether ? 1 : positionCount; }
  bool hasRowsTogether() const { return partialsTogether; }
  int64_t partialCount() const { return count; }
  const layout::TileLayout &writers() const { return positions; }
  /// Where a thread of `tile`'s layout finds partial 0 of its positions, in elements.
  layout::SharedAccess accessOf(const layout::TileLayout &tile, unsigned bits) const;

private:
  layout::TileLayout positions;
  layout::SharedLayout buffer;
  int64_t count, positionCount = 1;
  bool partialsTogether = true;
};

} // namespace sectile::gpu
