//===-- SharedBanks.h - how shared memory serves the lanes of a warp ----------------------===//
// An access of a warp goes in parts: so many lanes at once as their bytes fill a row of banks.
// Lanes of one part that want different words of one bank wait for each other. Which lanes these
// are is a span of lane numbers under xor, and its cosets:
//
//   in order, 8 lanes of 16 bytes   span(1, 2, 4)        lanes 0-7, 8-15, ...
//   gfx942, reads of 16 bytes       span(1, 2, 4 ^ 16)   lanes 0-3 and 20-23, 4-7 and 16-19, ...
//
// A value, with what holds of NVIDIA's GPUs in it: 32 banks, all accesses in order.
#pragma once

#include "lang/layout/BitSpan.h"

namespace sectile::layout {

enum class SharedDirection : uint8_t { Read, Write };

struct SharedBanks {
  int64_t count = 32; // of 4 bytes; a power of two
  /// What spans the lanes that act at once in a read of 16 bytes; empty: they act in order.
  Words wideReads = {};
  /// Lanes may read 8 bytes each and get what the others read: see `accessSharedTransposed`.
  bool transposes = false;

  /// A row of all banks.
  int64_t rowBytes() const { return 4 * count; }
  /// What spans the lanes of a warp of `lanes` that act at once, each of them on `bytes`.
  Words lanesAtOnce(int64_t lanes, int64_t bytes, SharedDirection direction) const;
};

} // namespace sectile::layout
