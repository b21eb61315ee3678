#include "backends/gpu/EmitPartials.h"

namespace sectile::gpu {

using namespace layout;

void storePartials(GpuEmitter &emitter, const PartialBuffer &buffer, int64_t offset,
                   llvm::ArrayRef<llvm::Value *> values, llvm::Value *partial) {
  llvm::Type *type = values.front()->getType();
  unsigned bytes = scratchBytesOf(type);
  llvm::Value *more = nullptr;
  if (partial)
    more = emitter.builder.CreateMul(partial,
                                     emitter.builder.getInt32(buffer.partialStride() * bytes));
  SharedAddresses addresses(emitter, buffer.accessOf(buffer.writers(), bytes * 8), type, offset);
  addresses.storeAll(Registers(values.begin(), values.end()), more);
}

std::vector<Registers> loadPartials(GpuEmitter &emitter, const PartialBuffer &buffer,
                                    int64_t offset, const TileLayout &tile, llvm::Type *type) {
  unsigned bytes = scratchBytesOf(type);
  const int64_t count = buffer.partialCount();
  SharedAccess access = buffer.accessOf(tile, bytes * 8);
  size_t registerCount = buffer.writers().rank() ? tile.registersPerThread() : 1;
  std::vector<Registers> loaded(registerCount, Registers(count, nullptr));
  if (!buffer.hasRowsTogether()) {
    for (int64_t partial = 0; partial < count; ++partial) {
      SharedAddresses addresses(emitter, access, type,
                                offset + partial * buffer.partialStride() * bytes);
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

Registers loadPartialOfLane(GpuEmitter &emitter, const PartialBuffer &buffer, int64_t offset,
                            const TileLayout &tile, llvm::Type *type) {
  SharedAccess access = buffer.accessOf(tile, scratchBytesOf(type) * 8);
  Registers loaded(buffer.writers().rank() ? tile.registersPerThread() : 1, nullptr);
  SharedAddresses starts(emitter, access, type, offset);
  SharedAccess row;
  for (int64_t lane = 1; lane < buffer.partialCount(); lane *= 2)
    row.laneBases.push_back(lane);
  row.groups.push_back({{0}, 0, 0});
  for (auto [number, group] : llvm::enumerate(access.groups)) {
    SharedAddresses partials(emitter, row, type, starts.address(number));
    Registers value(1, nullptr);
    partials.loadAll(value);
    loaded[group.registers.front()] = value.front();
  }
  return loaded;
}

} // namespace sectile::gpu
