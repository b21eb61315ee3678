//===-- SharedLayout.h - where in shared memory an element of a tile lies -----------------===//
// The shared-memory counterpart of TileLayout: a bijective LinearLayout of a power-of-two block
// (offset -> axes), repeated along each axis, block after block, in row-major order unless another
// is given, and optionally padded: after every `padding.interval` elements `padding.amount`
// elements are left out. Padding is not F2-linear; it is applied last.
//
//   swizzled({64, 64}, {1, 0}, /*vector=*/8, /*perPhase=*/1, /*maxPhase=*/8)   of f16
//
//   is 64 rows of 128 bytes whose 16-byte pieces are exchanged by xor with the row number modulo 8,
//   so that 8 rows of one column, and 8 pieces of one row, lie in different banks.
//
// All offsets are in elements. `accessShared` says how threads of a TileLayout reach their elements
// in it.
#pragma once

#include "lang/layout/SharedBanks.h"
#include "lang/layout/TileLayout.h"

namespace sectile::layout {

struct RowPadding {
  int64_t interval = 0, amount = 0; // elements; interval is a power of two, 0 for none
  bool operator==(const RowPadding &) const = default;
};

class SharedLayout {
public:
  SharedLayout() = default;
  /// `offsets` (axes -> Offset) is the inverse of the block's map; it must be surjective. A map
  /// that is not injective keeps several elements in one place: conversions in rounds use that,
  /// buffers do not. `repetitionOrder` lists axes as `order` of the builders does, at least those
  /// along which the block is repeated: blocks along the first follow one another. Row-major order
  /// if it is empty.
  SharedLayout(LinearLayout offsets, llvm::ArrayRef<int64_t> shape, RowPadding padding = {},
               llvm::ArrayRef<int> repetitionOrder = {});

  int rank() const { return tileShape.size(); }
  llvm::ArrayRef<int64_t> shape() const { return tileShape; }
  /// Axes -> Offset.
  const LinearLayout &offsets() const { return offsetMap; }
  /// Offset -> axes; of a bijective block.
  LinearLayout block() const;
  int64_t blockExtent(int axisNumber) const { return offsetMap.inSize(axis(axisNumber)); }
  int64_t blockElements() const { return offsetMap.outSize(Dim::Offset); }
  llvm::ArrayRef<int64_t> repetitions() const { return repeats; }
  /// Returns the axes along which the block is repeated, that of adjacent blocks first.
  llvm::ArrayRef<int> repetitionOrder() const { return orderOfRepeats; }
  bool isRepeatedRowMajor() const;
  /// Elements from one repetition along an axis to the next, without padding.
  int64_t repetitionStride(int axisNumber) const;
  const RowPadding &padding() const { return rowPadding; }

  int64_t offsetOf(llvm::ArrayRef<int32_t> coordinates) const;
  /// The offset with what padding adds.
  int64_t padded(int64_t offset) const {
    return rowPadding.interval ? offset + offset / rowPadding.interval * rowPadding.amount : offset;
  }
  /// Size of a buffer.
  int64_t elements() const;
  int64_t bytes(unsigned elementBits) const { return elements() * ((elementBits + 7) / 8); }

  bool operator==(const SharedLayout &) const = default;
  friend llvm::hash_code hash_value(const SharedLayout &layout);

private:
  Extents tileShape, repeats;
  llvm::SmallVector<int, 2> orderOfRepeats;
  LinearLayout offsetMap;
  RowPadding rowPadding;
};

/// Returns the layout of the same bytes for the tile with its axes in another order: axis i is axis
/// order[i] of `layout`, in which each element has a place of its own.
SharedLayout transpose(const SharedLayout &layout, llvm::ArrayRef<int> order);

//===-- builders: `order` lists the axes, the contiguous one first ----------------------------===//

/// Extents of the block used for a shape: the power of two in the extent where that is 8 or more or
/// all of it; otherwise the extent is rounded up to a multiple of 8 (below 8: to a power of two).
Extents sharedBlockExtents(llvm::ArrayRef<int64_t> shape);

SharedLayout contiguousShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order);
/// Pieces of `vector` elements of the row r (counted along order[1]) change places by xor with
/// (r / perPhase) mod maxPhase. All powers of two; reduced to what the extents allow.
SharedLayout swizzledShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                            int64_t vector, int64_t perPhase, int64_t maxPhase);
/// Panels of `swizzleBytes` (32, 64, 128) along the contiguous axis, 16-byte pieces exchanged
/// within: the layout that TMA writes and wgmma reads, conflict-free for ldmatrix too.
SharedLayout panelSwizzledShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                                 unsigned elementBits, int64_t swizzleBytes);
/// Contiguous rows with `amount` elements between them.
SharedLayout paddedShared(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order, int64_t amount);

//===-- access --------------------------------------------------------------------------------===//

/// One load or store instruction of every thread.
struct SharedAccessGroup {
  RegisterGroup registers; // elements at consecutive offsets
  int64_t xorPart = 0;     // into the thread's offset, before padding
  int64_t addPart = 0;     // after padding: an immediate offset
};

/// Adds stride * (xor of the bases of the thread's bits) to the offset.
struct SharedStride {
  llvm::SmallVector<int64_t, 8> laneBases, warpBases;
  /// Per group, xored in before the product.
  llvm::SmallVector<int64_t, 8> groupBases;
  /// Per group, the greatest factor: beyond it lies padding of the tile that the buffer lacks.
  /// Empty when there is none.
  llvm::SmallVector<int64_t, 8> groupLimits;
  int64_t stride = 1;

  int64_t stepsOf(int group, int64_t lane, int64_t warp) const;
};

/// The offset, in elements, of group g in thread (lane, warp):
///
///   t = xor of laneBases and warpBases over the thread's set bits
///   padded(t xor groups[g].xorPart) + sum of strides + groups[g].addPart
///
/// which is an offset in the buffer for padded elements, too.
///
/// `strides` is empty unless the tile's block is larger than the buffer's.
struct SharedAccess {
  int64_t width = 1; // elements per access
  llvm::SmallVector<int64_t, 8> laneBases, warpBases;
  llvm::SmallVector<SharedAccessGroup, 8> groups;
  llvm::SmallVector<SharedStride, 2> strides;
  RowPadding padding;

  int64_t offsetOf(int group, int64_t lane, int64_t warp) const;
};

/// How threads of `tile` reach their elements in a buffer of the same shape, with the widest
/// accesses up to `maxBytes` each. Padded elements of the tile that the buffer lacks get offsets of
/// other elements, in the buffer: to load there is harmless, stores must leave them out.
SharedAccess accessShared(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits,
                          int64_t maxBytes = 16);

/// Access by all lanes of a warp together, which get what others read. The offsets are of the rows
/// that a *lane supplies*, `rows.width` elements of each; registers are what a lane receives, in
/// the order of its words of 32 bits.
struct MatrixAccess {
  int words = 1; // of a lane per instruction
  bool isTransposed = false;
  SharedAccess rows;
};
/// Access by ldmatrix/stmatrix: 8x8 matrices of 16-bit units, a row of 16 bytes from each address.
/// Lanes 0-7 supply the rows of the first matrix, 8-15 those of the second, ... A lane receives a
/// word of each of 1, 2 or 4 matrices. `transposed` is ldmatrix.trans (16-bit elements only).
/// nullopt when the layouts do not fit.
std::optional<MatrixAccess> accessSharedMatrices(const TileLayout &tile, const SharedLayout &shared,
                                                 unsigned elementBits, bool transposed);
/// Either of them, ldmatrix first.
std::optional<MatrixAccess> accessSharedMatrices(const TileLayout &tile, const SharedLayout &shared,
                                                 unsigned elementBits);
/// Access by reads that transpose (SharedBanks::transposes), of elements of 16 or 8 bits. Sixteen
/// lanes together read rows of sixteen elements, 8 bytes from each address, and get columns:
///
///   16 bits, four rows of four lanes              8 bits, eight rows of two lanes
///     lane 4 k + c supplies     row k,              lane 2 k + c supplies     row k,
///                               4 c to 4 c + 3                                8 c to 8 c + 7
///     lane i receives column i, rows 0 to 3         lane i receives column i, rows 0 to 7
///
/// nullopt when the layouts do not fit.
std::optional<MatrixAccess>
accessSharedTransposed(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits);
/// How threads read the tile where banks serve them so: transposed where they can, else as
/// accessShared says.
SharedAccess readShared(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits,
                        const SharedBanks &banks);

/// Wavefronts that the worst access of a warp takes beyond what its bytes need: 0 is free of bank
/// conflicts. Lanes that read one word share it.
int64_t bankConflicts(const SharedAccess &access, int64_t lanes, unsigned elementBits,
                      const SharedBanks &banks = {},
                      SharedDirection direction = SharedDirection::Write);

} // namespace sectile::layout
