#include "lang/layout/Builders.h"

#include "lang/layout/PowersOfTwo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

namespace {

using Bases = llvm::SmallVector<Coordinates, 8>;

/// Appends the steps of `count` indices along `axisNumber`, from `extent` on, as long as they stay
/// within `limit`; beyond it they are copies.
void appendSteps(Bases &bases, int rank, int axisNumber, int64_t count, int64_t limit,
                 int64_t &extent) {
  for (; count > 1; count /= 2) {
    Coordinates &basis = bases.emplace_back(rank, 0);
    if (extent < limit) {
      basis[axisNumber] = extent;
      extent *= 2;
    }
  }
}

LinearLayout fromHardwareBases(Counts extents, Bases registers, Bases lanes, Bases warps,
                               Bases blocks = {}) {
  return LinearLayout::fromBases(extents, {{Dim::Register, std::move(registers)},
                                           {Dim::Lane, std::move(lanes)},
                                           {Dim::Warp, std::move(warps)},
                                           {Dim::Block, std::move(blocks)}});
}

} // namespace

TileLayout blocked(Counts shape, Counts sizePerThread, Counts threadsPerWarp, Counts warpsPerBlock,
                   llvm::ArrayRef<int> order) {
  int rank = shape.size();
  Extents extents(rank, 1);
  Bases bases[3];
  const Counts counts[] = {sizePerThread, threadsPerWarp, warpsPerBlock};
  for (int which = 0; which < 3; ++which)
    for (int index : order)
      appendSteps(bases[which], rank, index, counts[which][index],
                  llvm::PowerOf2Ceil(uint64_t(shape[index])), extents[index]);
  // A thread keeps no copy for itself.
  llvm::erase_if(bases[0], [](const Coordinates &basis) {
    return llvm::all_of(basis, [](int32_t step) { return step == 0; });
  });
  return TileLayout(fromHardwareBases(extents, bases[0], bases[1], bases[2]), shape);
}

//===-- operations on shapes ------------------------------------------------------------------===//

namespace {

/// The layout with the axes in `shape` and the bases that `rewrite` makes of each basis.
template <class Rewrite>
LinearLayout rewriteBases(const LinearLayout &block, Counts extents, Rewrite rewrite) {
  llvm::SmallVector<LinearLayout::NamedBases, 4> all;
  for (const DimBits &in : block.inDims()) {
    Bases bases;
    for (unsigned bit = 0; bit < in.bits; ++bit)
      bases.push_back(rewrite(block.basis(in.dim, bit)));
    all.push_back({in.dim, std::move(bases)});
  }
  return LinearLayout::fromBases(extents, all);
}

} // namespace

TileLayout sliceOf(const TileLayout &layout, int axisNumber) {
  Extents shape(layout.shape()), extents = layout.block().outExtents();
  shape.erase(shape.begin() + axisNumber);
  extents.erase(extents.begin() + axisNumber);
  LinearLayout block = rewriteBases(layout.block(), extents, [&](Coordinates basis) {
    basis.erase(basis.begin() + axisNumber);
    return basis;
  });
  return TileLayout(std::move(block), shape).withoutDuplicateRegisters();
}

TileLayout expandDims(const TileLayout &layout, int axisNumber) {
  Extents shape(layout.shape()), extents = layout.block().outExtents();
  shape.insert(shape.begin() + axisNumber, 1);
  extents.insert(extents.begin() + axisNumber, 1);
  return TileLayout(layout.block().reshapeOuts(extents), shape);
}

TileLayout broadcastOperand(const TileLayout &layout, Counts operandShape) {
  TileLayout operand = layout;
  for (int index = 0; index < layout.rank(); ++index)
    if (operandShape[index] == 1 && layout.shape()[index] != 1)
      operand = expandDims(sliceOf(operand, index), index);
  return operand;
}

TileLayout broadcast(const TileLayout &layout, Counts shape) {
  LinearLayout block = layout.block();
  Extents extents = block.outExtents(), limits(extents);
  llvm::SmallVector<int, 4> grown;
  for (int index = layout.rank(); index-- > 0;)
    if (layout.shape()[index] == 1 && shape[index] != 1) {
      assert(extents[index] == 1 &&
             "broadcast: the axis is padded; convert to broadcastOperand first");
      grown.push_back(index);
      limits[index] = extents[index] * llvm::PowerOf2Ceil(uint64_t(shape[index]));
    }
  // Zero bases, lanes before warps, take up the new elements; the last axis first.
  llvm::SmallVector<LinearLayout::NamedBases, 4> all;
  for (const DimBits &in : block.inDims()) {
    Bases bases;
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      Coordinates basis = block.basis(in.dim, bit);
      bool isCopy = (in.dim == Dim::Lane || in.dim == Dim::Warp) &&
                    llvm::all_of(basis, [](int32_t step) { return step == 0; });
      int *place = llvm::find_if(grown, [&](int index) { return extents[index] < limits[index]; });
      if (isCopy && place != grown.end()) {
        basis[*place] = extents[*place];
        extents[*place] *= 2;
      }
      bases.push_back(std::move(basis));
    }
    all.push_back({in.dim, std::move(bases)});
  }
  return TileLayout(LinearLayout::fromBases(extents, all), shape);
}

TileLayout transpose(const TileLayout &layout, llvm::ArrayRef<int> order) {
  Extents shape;
  for (int index : order)
    shape.push_back(layout.shape()[index]);
  return TileLayout(layout.block().transposeOuts(order), shape);
}

TileLayout join(const TileLayout &layout) {
  TileLayout expanded = expandDims(layout, layout.rank());
  Extents shape(layout.shape());
  shape.push_back(2);
  return TileLayout(
      LinearLayout::identity1D(2, Dim::Register, axis(layout.rank())) * expanded.block(), shape);
}

std::optional<TileLayout> split(const TileLayout &layout) {
  int last = layout.rank() - 1;
  if (last < 0 || layout.shape()[last] != 2 || layout.contiguousRegisters(last) != 2)
    return std::nullopt;
  return sliceOf(layout, last);
}

//===-- reshape -------------------------------------------------------------------------------===//
// The row-major number of an element is a sequence of digits: for every axis the number of the
// repetition (odd radix), then the coordinate in the block (a power of two). Registers stay where
// they are exactly when both shapes have the same sequence, neighbouring digits of one kind being
// one digit.

namespace {

struct Digit {
  bool isOdd;
  int64_t radix;
  bool operator==(const Digit &) const = default;
};

llvm::SmallVector<Digit, 8> digitsOf(Counts shape) {
  llvm::SmallVector<Digit, 8> digits;
  auto append = [&](bool isOdd, int64_t radix) {
    if (radix == 1)
      return;
    if (!digits.empty() && digits.back().isOdd == isOdd)
      digits.back().radix *= radix;
    else
      digits.push_back({isOdd, radix});
  };
  for (int64_t extent : shape) {
    int64_t power = lowestBit(extent);
    append(true, extent / power);
    append(false, power);
  }
  return digits;
}

} // namespace

std::optional<TileLayout> reshape(const TileLayout &layout, Counts shape) {
  // Groups of axes with the same number of elements on both sides.
  Counts from = layout.shape();
  Extents extents;
  size_t oldAxis = 0, newAxis = 0;
  while (oldAxis < from.size() || newAxis < shape.size()) {
    size_t oldBegin = oldAxis, newBegin = newAxis;
    int64_t oldCount = oldAxis < from.size() ? from[oldAxis++] : 1;
    int64_t newCount = 1;
    if (oldBegin == from.size() || oldCount != 1 || (newAxis < shape.size() && shape[newAxis] == 1))
      newCount = newAxis < shape.size() ? shape[newAxis++] : 1;
    while (oldCount != newCount) {
      if (oldCount < newCount && oldAxis < from.size())
        oldCount *= from[oldAxis++];
      else if (newCount < oldCount && newAxis < shape.size())
        newCount *= shape[newAxis++];
      else
        return std::nullopt;
    }
    Counts oldGroup = from.slice(oldBegin, oldAxis - oldBegin);
    Counts newGroup = shape.slice(newBegin, newAxis - newBegin);
    bool padded = llvm::any_of(llvm::seq(oldBegin, oldAxis),
                               [&](size_t index) { return layout.isPadded(index); });
    if (padded) {
      // One axis that only gains or loses neighbours of extent 1 keeps its padding.
      auto isOne = [](int64_t extent) { return extent == 1; };
      if (llvm::count_if(oldGroup, std::not_fn(isOne)) > 1 ||
          llvm::count_if(newGroup, std::not_fn(isOne)) > 1)
        return std::nullopt;
      int64_t blockExtent = 1;
      for (size_t index = oldBegin; index < oldAxis; ++index)
        blockExtent *= layout.blockExtent(index);
      bool placed = false;
      for (int64_t extent : newGroup) {
        bool takes = !placed && (extent != 1 || newGroup.size() == 1);
        extents.push_back(takes ? blockExtent : 1);
        placed |= takes;
      }
      if (!placed)
        return std::nullopt;
      continue;
    }
    if (digitsOf(oldGroup) != digitsOf(newGroup))
      return std::nullopt;
    for (int64_t extent : newGroup)
      extents.push_back(lowestBit(extent));
  }
  return TileLayout(layout.block().reshapeOuts(extents), shape);
}

} // namespace sectile::layout
