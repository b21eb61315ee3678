//===-- WarpCopies.h - tiles that whole warps copy into shared memory -------------------------===//
// Some GPUs copy from global to shared memory one warp at a time: the lanes' pieces land behind
// each other, in the order of the lanes, wherever each lane has read its own. So the layout of the
// tile that is copied decides where its elements lie, and a swizzle has to be in it already:
//
//   rows of four pieces, two rows of banks          lanes in order     with pieces exchanged
//     row 0   0 1 2 3                                (0, 0) (0, 1)      (0, 0) (0, 1)
//     row 1   4 5 6 7      lane 4 reads the piece    (1, 0)             (1, 1)
//
// Each lane still reads pieces of the rows it read before, so memory is accessed as well as before.
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::layout {

/// The layout of the buffer that copies of `width` neighbours along an axis fill: pieces in the
/// order of lanes, then warps, then registers. Nothing where threads hold copies or padding, or no
/// such neighbours.
std::optional<SharedLayout> filledByWarps(const TileLayout &tile, int axisNumber, int64_t width);

/// Returns the tile with such pieces exchanged in their rows, so that pieces of one column lie in
/// different banks. Rows are taken in the order of lanes, then warps; those that follow each other
/// in one row of banks stay as they are, and `skipped` rows (a power's exponent) more. The others
/// exchange pieces by the bits of their numbers, the lowest first, or the highest.
///
/// `Sixteens` is for reads that transpose: rows next to each other exchange the greatest stretches,
/// whatever holds them, none exchanges less than sixteen elements, and all further rows that are
/// read at once exchange these.
enum class PieceOrder : uint8_t { LowestFirst, HighestFirst, Sixteens };
TileLayout exchangePieces(const TileLayout &tile, int axisNumber, int64_t width,
                          unsigned elementBits, const SharedBanks &banks, unsigned skipped = 0,
                          PieceOrder order = PieceOrder::LowestFirst);

/// The layout of a buffer that copies of whole warps fill with a tile in `source`, each lane
/// `pieceBytes` at a time, and out of which a tile in `reader` is read without bank conflicts, in
/// words of 32 bits or wider, or transposed. Nothing where there is none.
std::optional<SharedLayout> filledByWarpsFor(const TileLayout &source, const TileLayout &reader,
                                             unsigned elementBits, int64_t pieceBytes,
                                             const SharedBanks &banks);

/// The layout of a buffer that threads fill with a tile in `source`, 16 bytes at a time, and out of
/// which a tile in `reader` is read transposed without bank conflicts. Nothing where there is none.
std::optional<SharedLayout> transposedBetween(const TileLayout &source, const TileLayout &reader,
                                              unsigned elementBits, const SharedBanks &banks);

} // namespace sectile::layout
