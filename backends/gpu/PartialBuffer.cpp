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

/// Offsets of partial 0, in elements.
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

void PartialBuffer::store(GpuEmitter &emitter, int64_t offset, llvm::ArrayRef<llvm::Value *> values,
                          llvm::Value *partial) const {
  llvm::Type *type = values.front()->getType();
  unsigned bytes = scratchBytesOf(type);
  llvm::Value *more = nullptr;
  if (partial)
    more = emitter.builder.CreateMul(
        partial, emitter.builder.getInt32((partialsTogether ? 1 : positionCount) * bytes));
  SharedAddresses addresses(emitter, accessOf(positions, bytes * 8), type, offset);
  addresses.storeAll(Registers(values.begin(), values.end()), more);
}

std::vector<Registers> PartialBuffer::load(GpuEmitter &emitter, int64_t offset,
                                           const TileLayout &tile, llvm::Type *type) const {
  unsigned bytes = scratchBytesOf(type);
  SharedAccess access = accessOf(tile, bytes * 8);
  size_t registerCount = positions.rank() ? tile.registersPerThread() : 1;
  std::vector<Registers> loaded(registerCount, Registers(count, nullptr));
  if (!partialsTogether) {
    for (int64_t partial = 0; partial < count; ++partial) {
      SharedAddresses addresses(emitter, access, type, offset + partial * positionCount * bytes);
      Registers values(registerCount, nullptr);
      addresses.loadAll(values);
      for (auto [reg, value] : llvm::enumerate(values))
        loaded[reg][partial] = value;
    }
    return loaded;
  }
  // Rows are read like a tile of `count` registers.
  int64_t width = std::min<int64_t>(count, 16 / bytes);
  SharedAddresses starts(emitter, access, type, offset);
  for (auto [number, group] : llvm::enumerate(access.groups)) {
    SharedAccess row;
    row.width = width;
    for (int64_t first = 0; first < count; first += width) {
      RegisterGroup members;
      for (int64_t member = 0; member < width; ++member)
        members.push_back(first + member);
      row.groups.push_back({members, 0, first});
    }
    SharedAddresses partials(emitter, row, type, starts.address(number));
    partials.loadAll(loaded[group.registers.front()]);
  }
  return loaded;
}

} // namespace sectile::gpu
