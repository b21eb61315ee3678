#include "backends/gpu/PartialBuffer.h"

namespace sectile::gpu {

using namespace layout;

PartialBuffer::PartialBuffer(const TileLayout &positions, int64_t count)
    : positions(positions), count(count) {
  if (positions.rank() == 0)
    return;
  // Row-major over the tile's own block: what is padding there has a place of its own.
  const LinearLayout &block = positions.block();
  unsigned bits = block.totalOutBits();
  Words columns;
  for (unsigned bit = 0; bit < bits; ++bit)
    columns.push_back(Word(1) << bit);
  DimList axes(block.outDims().begin(), block.outDims().end());
  buffer = SharedLayout(LinearLayout::fromColumns(axes, {{Dim::Offset, bits}}, columns),
                        positions.shape());
  positionCount = buffer.elements();
  for (int index = 0; index < positions.rank(); ++index)
    partialsTogether &= positions.contributionMask(Dim::Lane, index) == 0;
}

SharedAccess PartialBuffer::accessOf(const TileLayout &tile, unsigned bits) const {
  SharedAccess access;
  if (positions.rank() == 0) {
    access.groups.push_back({{0}, 0, 0});
    return access;
  }
  access = accessShared(tile, buffer, bits, partialsTogether ? bits / 8 : 16);
  if (!partialsTogether)
    return access;
  for (auto *bases : {&access.laneBases, &access.warpBases})
    for (int64_t &basis : *bases)
      basis *= count;
  for (SharedAccessGroup &group : access.groups) {
    group.xorPart *= count;
    group.addPart *= count;
  }
  for (SharedStride &stride : access.strides)
    stride.stride *= count;
  return access;
}

} // namespace sectile::gpu
