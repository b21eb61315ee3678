//===-- TileLayout.h - who holds which element of a tile of any extents -------------------===//
// A TileLayout is a LinearLayout of a power-of-two *block*, repeated an integer number of times
// along each axis; every repetition appends registers. What the last repetition holds beyond the
// tile is *padding*: it exists, and its value is undefined.
//
//   tile 96 x 160, block 32 x 32: repetitions 3 x 5, nothing padded
//   tile 100, block 128 of 4 registers and 32 lanes: lanes 25 to 31 hold padding
//
// The element of (register, lane, warp) has two parts, and code generation wants them apart:
//
//   coordinate = (threadPart(lane, warp) xor registerPart.inBlock) + registerPart.offset
//
// Register numbers: the bits of the block's registers first, then the repetitions in row-major
// order.
//
// Invariants: the block covers all its elements (is surjective); repetition counts are odd or 1,
// because a factor of two is moved into the block, so that equal distributions compare equal. A
// tile without padding therefore always has the block extents 2^(number of factors two in its
// extent). A value: copy, compare, hash.
#pragma once

#include "lang/layout/LinearLayout.h"

namespace sectile::layout {

using Extents = llvm::SmallVector<int64_t, 4>;

/// The constant that a register number adds to a thread's coordinates.
struct RegisterPart {
  Coordinates inBlock; // by xor
  Coordinates offset;  // by +, a multiple of the block's extents
};

/// Registers that hold neighbouring elements along an axis, in the order of the elements.
using RegisterGroup = llvm::SmallVector<int, 8>;

class TileLayout {
public:
  TileLayout() = default;
  /// `block` (registers, lanes, warps, blocks -> axes) repeated until it covers `shape`.
  TileLayout(LinearLayout block, llvm::ArrayRef<int64_t> shape);

  //===- shape
  //---------------------------------------------------------------------------------===//
  int rank() const { return tileShape.size(); }
  llvm::ArrayRef<int64_t> shape() const { return tileShape; }
  const LinearLayout &block() const { return blockLayout; }
  int64_t blockExtent(int axisNumber) const { return blockLayout.getOutDimSize(axisNumber); }
  /// Odd, or 1.
  llvm::ArrayRef<int64_t> repetitions() const { return repeats; }
  int64_t repetitionCount() const;
  int64_t paddedExtent(int axisNumber) const {
    return blockExtent(axisNumber) * repeats[axisNumber];
  }
  Extents paddedShape() const;
  bool isPadded() const;
  bool isPadded(int axisNumber) const { return paddedExtent(axisNumber) != tileShape[axisNumber]; }

  int64_t lanesPerWarp() const { return blockLayout.inSize(Dim::Lane); }
  int64_t warpCount() const { return blockLayout.inSize(Dim::Warp); }
  int64_t registersPerBlock() const { return blockLayout.inSize(Dim::Register); }
  int64_t registersPerThread() const { return registersPerBlock() * repetitionCount(); }

  //===- elements
  //------------------------------------------------------------------------------===//
  RegisterPart coordinateOf(int registerNumber) const;
  /// The two parts of coordinateOf added: what thread 0 holds in that register.
  Coordinates constantOf(int registerNumber) const;
  /// The register that adds `constant` to thread 0's coordinates; nullopt when none does.
  std::optional<int> registerHolding(llvm::ArrayRef<int32_t> constant) const;
  /// What bit `bit` of the lane's number contributes by xor.
  Coordinates laneBasis(unsigned bit) const { return blockLayout.basis(Dim::Lane, bit); }
  /// The element of one register of one thread, padding included.
  Coordinates elementOf(int registerNumber, int64_t lane, int64_t warp, int64_t block = 0) const;
  bool isInside(llvm::ArrayRef<int32_t> coordinates) const;
  /// True only when every thread holds padding in this register.
  bool isPaddingRegister(int registerNumber) const;

  //===- copies
  //--------------------------------------------------------------------------------===//
  /// One register for each element that a thread holds.
  llvm::SmallVector<int, 16> uniqueRegisters() const;
  /// Bits of the lane (warp, block) number such that threads with any of them set hold only copies.
  /// A store, atomic or reduction lets only threads act in which all of them are zero.
  Word copyMask(Dim dim) const { return blockLayout.freeVariableMask(dim); }
  bool threadsHoldCopies() const {
    return copyMask(Dim::Lane) || copyMask(Dim::Warp) || copyMask(Dim::Block);
  }
  /// Bits of `dim` that move along an axis: what a reduction along it must combine.
  Word contributionMask(Dim dim, int axisNumber) const {
    return blockLayout.contributionMask(dim, axis(axisNumber));
  }
  /// Bits of the coordinate along an axis that a thread's lane, warp and block decide, those of
  /// registers left out.
  int32_t threadBits(int axisNumber) const;
  /// Without registers that hold what another register of the same thread holds.
  TileLayout withoutDuplicateRegisters() const;

  //===- memory access
  //-------------------------------------------------------------------------===//
  /// The most elements, a power of two, that some registers of every thread hold consecutively
  /// along an axis, aligned to their number: the width of a vector access where the axis is
  /// contiguous in memory.
  int64_t contiguousRegisters(int axisNumber) const;
  /// All registers in groups of `width` <= contiguousRegisters(axis).
  llvm::SmallVector<RegisterGroup, 8> accessGroups(int axisNumber, int64_t width) const;

  bool operator==(const TileLayout &) const = default;
  friend llvm::hash_code hash_value(const TileLayout &layout);

private:
  Extents tileShape, repeats;
  LinearLayout blockLayout;
};

} // namespace sectile::layout
