//===-- LinearLayout.h - F2-linear maps between named, power-of-two index spaces ----------===//
// Who holds which element? A linear layout answers it: a map from hardware indices (register, lane,
// warp, block; or an offset in shared memory) to the coordinates of a tensor, where every *bit* of
// an index contributes a fixed coordinate (its *basis*) and contributions are added without carry
// (xor).
//
//   A 4x4 tile over 4 lanes, each lane holding two pairs of neighbours:
//
//     register bit 0 -> (0, 1)        element (row, column) of register r, lane l:
//     register bit 1 -> (2, 0)          (0,0)^(r&1)*(0,1)^(r>>1)*(2,0)^(l&1)*(0,2)^(l>>1)*(1,0)
//     lane     bit 0 -> (0, 2)
//     lane     bit 1 -> (1, 0)        L0:0 L0:1 L1:0 L1:1
//                                     L2:0 L2:1 L3:0 L3:1      (lane : register)
//                                     L0:2 L0:3 L1:2 L1:3
//                                     L2:2 L2:3 L3:2 L3:3
//
// A basis of zero means that the bit does not matter: the element is held more than once.
//
// Both sides have named dimensions (`Dim`), so that an inverse is a LinearLayout too: tensor axes
// in, hardware indices out. Coordinates are kept packed in one word per basis. The order of
// dimensions is fixed, never the user's: registers least significant, then lanes, warps, blocks,
// offsets, and then the axes, *last axis least significant*: a packed coordinate is the row-major
// number of the element, so reshaping is free.
//
// Invariants: at most 64 bits on each side; a hardware dimension of size 1 is absent, an axis of
// extent 1 is present (the axes of a layout are 0 .. rank-1). A value: copy, compare and hash it.
#pragma once

#include "lang/layout/BitSpan.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace sectile::layout {

/// A named dimension. Axis k of the tensor is `axis(k)`.
enum class Dim : uint8_t { Register, Lane, Warp, Block, Offset, Axis0 };
using InDim = Dim;

inline constexpr int kMaxRank = 16;
constexpr Dim axis(int index) {
  return Dim(int(Dim::Axis0) + index);
}
constexpr bool isAxis(Dim dim) {
  return dim >= Dim::Axis0;
}
constexpr int axisIndex(Dim dim) {
  return int(dim) - int(Dim::Axis0);
}
llvm::StringRef nameOf(Dim dim); // "register", "lane", ..., "axis0"

/// A dimension of 2^bits indices.
struct DimBits {
  Dim dim;
  unsigned bits;
  bool operator==(const DimBits &) const = default;
};
using DimList = llvm::SmallVector<DimBits, 4>;

/// One int32 per axis.
using Coordinates = llvm::SmallVector<int32_t, 4>;

class LinearLayout {
public:
  /// From nothing to nothing: the neutral element of `*`.
  LinearLayout() = default;

  /// `size` indices of `in` are the `size` indices of `out`.
  static LinearLayout identity1D(int64_t size, Dim in, Dim out);
  /// `size` indices of `in` that all mean index 0 of the `outSize` indices of `out`.
  static LinearLayout zeros1D(int64_t size, Dim in, Dim out, int64_t outSize = 1);
  /// From the images of the bits of each in-dimension, as coordinates of a tensor of `extents`
  /// (powers of two). A layout of registers, lanes and warps is written so.
  using NamedBases = std::pair<Dim, llvm::SmallVector<Coordinates, 8>>;
  static LinearLayout fromBases(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<NamedBases> bases);
  /// From packed columns, in-dimensions in canonical order.
  static LinearLayout fromColumns(DimList ins, DimList outs, Words columns);

  //===- shape
  //---------------------------------------------------------------------------------===//
  llvm::ArrayRef<DimBits> inDims() const { return ins; }
  llvm::ArrayRef<DimBits> outDims() const { return outs; }
  unsigned inBits(Dim dim) const { return bitsOf(ins, dim); }
  unsigned outBits(Dim dim) const { return bitsOf(outs, dim); }
  unsigned totalInBits() const { return columnWords.size(); }
  unsigned totalOutBits() const;
  int64_t inSize(Dim dim) const { return int64_t(1) << inBits(dim); }
  int64_t outSize(Dim dim) const { return int64_t(1) << outBits(dim); }
  int64_t getOutDimSize(int axisNumber) const { return outSize(axis(axisNumber)); }
  /// Number of axes among the out-dimensions, and their extents.
  int outRank() const;
  llvm::SmallVector<int64_t, 4> outExtents() const;

  //===- bases
  //---------------------------------------------------------------------------------===//
  /// All packed columns, and those of one in-dimension.
  llvm::ArrayRef<Word> columns() const { return columnWords; }
  llvm::ArrayRef<Word> columns(Dim in) const;
  /// What bit `bit` of `in` contributes to `out`; and to all axes.
  int32_t basis(Dim in, unsigned bit, Dim out) const;
  Coordinates basis(Dim in, unsigned bit) const;

  //===- the map
  //-------------------------------------------------------------------------------===//
  using NamedIndex = std::pair<Dim, int64_t>;
  /// Packed input to packed output.
  Word apply(Word packedIn) const { return combine(columnWords, packedIn); }
  /// Coordinates on the axes; absent in-dimensions are 0.
  Coordinates apply(std::initializer_list<NamedIndex> indices) const;
  Word packIn(llvm::ArrayRef<NamedIndex> indices) const;
  Word packOut(llvm::ArrayRef<NamedIndex> indices) const;
  int64_t unpackIn(Word packed, Dim dim) const;
  int64_t unpackOut(Word packed, Dim dim) const;
  Coordinates unpackAxes(Word packedOut) const;
  Word packAxes(llvm::ArrayRef<int32_t> coordinates) const;

  //===- algebra
  //-------------------------------------------------------------------------------===//
  /// Applies this first, then `outer`, whose in-dimensions are this one's out-dimensions.
  LinearLayout compose(const LinearLayout &outer) const;
  /// Returns the inverse of a bijection; nullopt when this is none.
  std::optional<LinearLayout> invert() const;
  /// Maps every output of a surjection to its smallest packed input, so that
  /// pseudoInvert()->compose(*this) is the identity. Returns nullopt when some output is never
  /// reached.
  std::optional<LinearLayout> pseudoInvert() const;
  /// For every input of this, the smallest input of `other` with the same output: where `other`
  /// holds what this one holds. nullopt when it does not hold everything.
  std::optional<LinearLayout> invertAndCompose(const LinearLayout &other) const;

  /// Side by side: `this` in the low bits of every dimension, `outer` in the high bits.
  LinearLayout operator*(const LinearLayout &outer) const;
  /// The q with inner * q == *this.
  std::optional<LinearLayout> divideLeft(const LinearLayout &inner) const;
  /// The q with q * outer == *this.
  std::optional<LinearLayout> divideRight(const LinearLayout &outer) const;

  /// Some in-dimensions (the others held at 0) and some out-dimensions.
  LinearLayout sublayout(llvm::ArrayRef<Dim> keptIns, llvm::ArrayRef<Dim> keptOuts) const;
  LinearLayout sublayoutOfIns(llvm::ArrayRef<Dim> keptIns) const;

  /// The same elements, numbered row-major, in other extents of the same product.
  LinearLayout reshapeOuts(llvm::ArrayRef<int64_t> extents) const;
  /// Axis i of the result is axis order[i] of this.
  LinearLayout transposeOuts(llvm::ArrayRef<int> order) const;
  /// More in-dimensions onto the same outs; dimensions present in both get `other`'s bits on top.
  LinearLayout concatIns(const LinearLayout &other) const;
  /// More out-dimensions (disjoint from these) of the same ins.
  LinearLayout concatOuts(const LinearLayout &other) const;
  /// Renames one in- or out-dimension to one that is absent on that side.
  LinearLayout renameIn(Dim from, Dim to) const;
  LinearLayout renameOut(Dim from, Dim to) const;
  /// Without the in-bits of `dim` set in `mask`.
  LinearLayout withoutInBits(Dim dim, Word mask) const;

  //===- questions
  //-----------------------------------------------------------------------------===//
  /// The rank of the matrix over F2.
  unsigned rankF2() const { return BitSpan(columnWords).size(); }
  bool isSurjective() const { return rankF2() == totalOutBits(); }
  bool isInjective() const { return rankF2() == totalInBits(); }
  bool isInvertible() const { return isSurjective() && isInjective(); }
  /// Bits of `dim` whose basis is a sum of earlier ones. Inputs with all these bits zero, in every
  /// dimension, hold each element exactly once; other inputs hold copies.
  Word freeVariableMask(Dim dim) const;
  /// Bits of `dim` that contribute to `out`.
  Word contributionMask(Dim in, Dim out) const;
  /// 2^k for the largest k such that bits 0..k-1 of `in` step through consecutive indices of `out`.
  int64_t numConsecutive(Dim in, Dim out) const;

  bool operator==(const LinearLayout &) const = default;
  friend llvm::hash_code hash_value(const LinearLayout &layout);

  /// One line per bit: "register 0 -> (0, 1)".
  std::string toString() const;

private:
  static unsigned bitsOf(llvm::ArrayRef<DimBits> dims, Dim dim);
  static unsigned shiftOf(llvm::ArrayRef<DimBits> dims, Dim dim);
  static DimList normalize(DimList dims);
  /// Moves every dimension of `word` from its place in `from` to its place in `to`, `lifts` bits
  /// up.
  static Word repack(Word word, llvm::ArrayRef<DimBits> from, llvm::ArrayRef<DimBits> to,
                     llvm::ArrayRef<DimBits> lifts = {});

  DimList ins, outs; // canonical order, least significant first
  Words columnWords; // the image of each in-bit, packed like `outs`
};

} // namespace sectile::layout
