//===-- LayoutText.h - layouts as text ----------------------------------------------------===//
// The text between < and > in #tile.layout<...> and #tile.shared_layout<...>: the shape, then
// for every hardware dimension the coordinates that its bits contribute, the lowest bit first.
//
//   16x8, register = [(0, 1) (8, 0)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)]
//   128, register = [1 2], lane = [4 8 16 32 64]
//   64x64, offset = [(0, 1) ...], padding = 64 + 8
//   scalar, lane = [() () () () ()]
//
// The block's extents are not written: it is surjective, so they follow from the bases. Text that
// was printed parses to an equal layout.
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::layout {

std::string print(const TileLayout &layout);
std::string print(const SharedLayout &layout);

/// A layout, or nullopt and what is wrong ("layout: ..." without a position).
std::optional<TileLayout> parseTileLayout(llvm::StringRef text, std::string &problem);
std::optional<SharedLayout> parseSharedLayout(llvm::StringRef text, std::string &problem);

/// "128x64" of extents; "scalar" of none.
std::string printShape(llvm::ArrayRef<int64_t> shape);

} // namespace sectile::layout
