//===-- Indexing.h - parts of tiles by constants: x[0], x[:, 3:7], x[None] --------------------===//
// Both front ends index tiles here: Python writes x[:, 3:7], C++ x[{all, slice(3, 7)}]. What an
// index picks is known at compile time and is what NumPy's basic indexing picks: places count from
// the end where they are negative, a slice is cut where the tile ends, its step may be negative. An
// element out of range and a slice that picks nothing are errors.
//
// A part becomes a tile.gather by constant places along its dimension, and a reshape where an
// element's dimension goes; a whole dimension becomes nothing.
#pragma once

#include "lang/semantics/Semantics.h"

namespace sectile::lang {

/// lower:upper:step; what is left out is that of the whole, in the direction of the step.
struct Slice {
  std::optional<Int> lower, upper, step;
};
/// first, first + step, ...: `count` places.
struct SliceRange {
  Int first, step, count;
};
/// Returns what the slice picks of `size` items. Reports a step of zero, at `where`.
mlir::FailureOr<SliceRange> resolveSlice(Semantics &sema, const Slice &slice, Int size,
                                         const SourceRange &where);

/// One part of an index. A new dimension belongs to none of the tile; each other part belongs to
/// the next one of them.
struct IndexPart {
  struct NewDimension {};
  std::variant<NewDimension, Int, Slice> what;
  SourceRange where; // of its errors
};
/// The part of `tile` that the index picks; dimensions without a part stay whole. Reports at the
/// parts; the operations are at the place where `sema` is.
mlir::FailureOr<Operand> indexTile(Semantics &sema, const Value &tile,
                                   llvm::ArrayRef<IndexPart> index);

/// Reports that `index` is known only when the kernel runs. Always returns failure().
mlir::LogicalResult refuseIndexAtRunTime(Semantics &sema, const Operand &index);

} // namespace sectile::lang
