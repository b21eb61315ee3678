//===-- TileFormat.h - the elements of a tile laid out to be read -----------------------------===//
//   [[ 1.5  -2.0 ]
//    [ 3.25   inf]]
//
// As NumPy shows arrays: nested brackets, one row to a line, columns in line, long rows go on in
// the next line. A tile with more elements than requested shows only the first and the last
// kTileEdge of every long axis.
#pragma once

#include "lang/plain/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::backends {

/// A row is broken before it gets wider.
inline constexpr size_t kTileLineWidth = 80;
/// Shown of each end of an axis that is cut short.
inline constexpr int64_t kTileEdge = 3;

struct FormattedTile {
  std::string text; // lines, without the end of the last
  int64_t leftOut = 0;
};

/// `elements` are row-major. `mostElements`: larger tiles are cut short; 0: none is.
FormattedTile formatTile(lang::DType dtype, const std::vector<int64_t> &shape, const void *elements,
                         bool isHexadecimal, uint64_t mostElements);

/// One number of `dtype` in memory, as text: "2.5", "-7", "True", "0x3f".
std::string formatElement(lang::DType dtype, const void *element, bool isHexadecimal);

} // namespace sectile::backends
