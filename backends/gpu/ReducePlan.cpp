#include "backends/gpu/ReducePlan.h"

#include "lang/layout/Builders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace sectile::gpu {

using namespace layout;

namespace {

/// Vectors of `dim`'s bits that move along the axis only, as few as span them.
Words alongAxis(const LinearLayout &block, Dim dim, int axisNumber) {
  Words others;
  for (unsigned bit = 0; bit < block.inBits(dim); ++bit) {
    Coordinates basis = block.basis(dim, bit);
    basis[axisNumber] = 0;
    others.push_back(block.packAxes(basis));
  }
  // A sum of bits that vanishes on the other axes. Copies vanish altogether.
  Words vectors;
  for (Word vector : BitSpan(others).kernel())
    if (combine(block.columns(dim), vector))
      vectors.push_back(vector);
  return vectors;
}

} // namespace

ReducePlan planReduce(const TileLayout &layout, int axisNumber) {
  const LinearLayout &block = layout.block();
  ReducePlan plan;
  // Every nonzero bit counts for itself.
  BitSpan all;
  for (Word column : block.columns())
    if (column && !all.insert(column))
      return plan;
  unsigned combined = 0;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp}) {
    Words vectors = alongAxis(block, dim, axisNumber);
    combined += vectors.size();
    if (dim == Dim::Lane)
      plan.laneMasks.assign(vectors.begin(), vectors.end());
    if (dim != Dim::Warp || vectors.empty())
      continue;
    // Vector number i makes partial 1 << i; the rest of the warps' space none.
    plan.partialCount = int64_t(1) << vectors.size();
    unsigned warpBits = block.inBits(Dim::Warp);
    Words basis(vectors);
    BitSpan span(vectors);
    for (unsigned bit = 0; bit < warpBits; ++bit)
      if (span.insert(Word(1) << bit))
        basis.push_back(Word(1) << bit);
    std::optional<Words> inverse = invertColumns(basis);
    for (unsigned bit = 0; bit < warpBits; ++bit)
      plan.partialOfWarp.push_back((*inverse)[bit] & (plan.partialCount - 1));
  }
  if (combined != block.outBits(axis(axisNumber)))
    return plan;
  plan.isDirect = true;

  TileLayout slice = sliceOf(layout, axisNumber);
  std::map<Coordinates, int> groupOf;
  auto without = [&](Coordinates constant) {
    constant.erase(constant.begin() + axisNumber);
    return constant;
  };
  plan.groups.resize(slice.registersPerThread());
  for (int reg = 0; reg < slice.registersPerThread(); ++reg)
    groupOf[slice.constantOf(reg)] = reg;
  for (int reg : layout.uniqueRegisters())
    if (!layout.isPaddingRegister(reg))
      plan.groups[groupOf.at(without(layout.constantOf(reg)))].push_back(reg);
  return plan;
}

TileLayout reducible(const TileLayout &layout, int axisNumber) {
  int rank = layout.rank();
  Extents perThread(rank, 1), lanes(rank, 1), warps(rank, 1);
  llvm::SmallVector<int, 4> order{axisNumber};
  for (int index = rank; index-- > 0;)
    if (index != axisNumber)
      order.push_back(index);
  Extents room;
  for (int64_t extent : layout.shape())
    room.push_back(llvm::PowerOf2Ceil(uint64_t(extent)));
  auto spread = [&](int64_t count, Extents &counts, llvm::ArrayRef<int> axes) {
    for (int index : axes)
      for (; count > 1 && room[index] > 1; count /= 2, room[index] /= 2)
        counts[index] *= 2;
    counts[axes.back()] *= count; // copies
  };
  spread(layout.lanesPerWarp(), lanes, order);
  llvm::SmallVector<int, 4> outward(llvm::reverse(order));
  spread(layout.warpCount(), warps, outward);
  return blocked(layout.shape(), perThread, lanes, warps, order);
}

} // namespace sectile::gpu
