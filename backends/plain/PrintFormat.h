//===-- PrintFormat.h - the text of device_print ----------------------------------------------===//
//   pid (0, 1, 0) x: 2.5
//   pid (0, 1, 0) rows: i32[3] [10 -2  7]
//   pid (0, 1, 0) sums: tl.sum(x, 1) = fp32[2x3]
//   [[ 1.5   2.0   0.25]
//    [  inf 20.0  -1.0 ]]
//
// Whole values, each behind its program and the print's prefix, and behind what the source calls it
// where a print has several. Tiles have their type, and are laid out as TileFormat.h says. The same
// on all devices. Or as Triton prints, a line for each element, behind its place in the tile:
//
//   pid (0, 1, 0) idx (1, 2) x: -1.000000
#pragma once

#include "backends/plain/KernelImage.h"

#include <cstdint>
#include <string>

namespace sectile::backends {

/// Elements of a tile that are shown at most, unless the user asks for another number.
inline constexpr uint64_t kMostPrintedElements = 1024;

struct PrintStyle {
  /// Larger tiles are cut short; 0: none is. Triton's lines are all there.
  uint64_t mostElements = kMostPrintedElements;
  bool isTriton = false;
};

/// `data`: each operand's elements, row-major, one operand after another, each aligned to 8 bytes;
/// `program` is linear over a grid of gridX by gridY.
std::string formatPrint(const PrintSite &site, int64_t program, int64_t gridX, int64_t gridY,
                        const void *data, PrintStyle style = {});

/// What `data` takes.
uint64_t printedBytes(const PrintSite &site);

} // namespace sectile::backends
