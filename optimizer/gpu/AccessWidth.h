//===-- AccessWidth.h - how many elements a thread accesses at once ---------------------------===//
// A thread reads and writes neighbours of a tile in one access, as many as all of these allow:
//
//   y[256] of f32 at a multiple of 16 bytes, mask i < n, where 8 divides n
//     extent       256    a row of the tile has so many
//     neighbours   256    so many follow each other in memory
//     alignment      4    each address is a multiple of so many elements
//     mask           8    so many are all on or all off
//     instruction    4    one instruction takes so many
//     row end        -    where the layout is padded: so many are all in the row or all behind it
//     registers      8    the layout gives a thread so many that follow each other
//   width            4
//
// This is computed here and nowhere else: layouts are chosen by it (LayoutGraph), asynchronous
// copies are made with it (AsyncLoads), AssignAccessWidths writes it on loads, stores and atomics,
// and remarks explain it by its limits.
#pragma once

#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuShape.h"

namespace sectile::optimizer {

/// What an access to global memory goes through.
struct MemoryOperands {
  mlir::Value pointer, mask; // the mask may be null
  int64_t bytes = 4;         // that an element takes in memory
};

/// Returns the operands of a load, store, atomic or asynchronous copy.
MemoryOperands memoryOperandsOf(mlir::Operation *access);

/// Returns the number of elements that one instruction takes of a load, store or atomic.
int64_t mostElements(mlir::Operation *access, const GpuShape &shape);

struct AccessLimit {
  enum class Reason : uint8_t {
    Extent,
    Neighbours,
    Alignment,
    Mask,
    Instruction,
    RowEnd,
    Registers
  } reason;
  int64_t elements;
};

/// Accesses along one axis.
struct AxisAccess {
  int64_t width = 1; // a power of two
  /// In the order of the table above; those that do not apply are left out.
  llvm::SmallVector<AccessLimit, 7> limits;
};

/// What an access makes of masks that are on for its first elements and off for the rest.
enum class Masks : uint8_t {
  Whole,    // it cannot have such
  Prefixes, // it takes as many elements as are on
};

/// Whether what is masked off is zero, or nothing.
bool isZeroOrNothing(mlir::Value other);
/// Whether a store's mask may end among the neighbours that it takes at once: of numbers of up to
/// two bytes. Lanes that store single words side by side fill memory's lines as well, and need
/// fewer registers.
bool mayStorePartly(tile::StoreOp store, const GpuShape &shape);
/// Prefixes for loads that may become asynchronous copies of threads, to which products lead: a
/// copy takes as many bytes as are there, and zeros behind them; and for stores of what products
/// give, whose layout is another than the product's anyway (`GpuShape::storesPartly`).
Masks masksOf(mlir::Operation *access, const GpuShape &shape);

/// Returns how wide accesses along `axis` are if one instruction takes `most` elements. Without a
/// layout (null): how wide the best one would make them.
AxisAccess accessAlong(const MemoryOperands &access, unsigned axis, int64_t most,
                       const layout::TileLayout *layout, const IndexAnalysis &analysis,
                       Masks masks = Masks::Whole);

/// The decision: `width` neighbours along `axis` at a time.
struct AccessWidth {
  int axis = 0;
  int64_t width = 1;
  /// Its mask may be on for the first of them alone.
  bool isPartial = false;
};

/// Returns the axis along which accesses are widest, the first of several.
AccessWidth accessWidth(const MemoryOperands &access, int64_t most,
                        const layout::TileLayout &layout, const IndexAnalysis &analysis,
                        Masks masks = Masks::Whole);

/// Returns that of accesses that may be partial, if it is wider than that of others.
AccessWidth widestAccess(const MemoryOperands &access, int64_t most,
                         const layout::TileLayout &layout, const IndexAnalysis &analysis,
                         bool mayBePartial);

} // namespace sectile::optimizer
