//===-- EmitPartials.h - partial results of warps, written and read ---------------------------===//
// PartialBuffer.h says where they lie.
#pragma once

#include "backends/gpu/PartialBuffer.h"
#include "backends/gpu/SharedAddresses.h"

namespace sectile::gpu {

/// One value per register of the writers' layout, in the rows' place `partial` (i32; null: 0).
void storePartials(GpuEmitter &emitter, const PartialBuffer &buffer, int64_t offset,
                   llvm::ArrayRef<llvm::Value *> values, llvm::Value *partial);
/// [register of `tile`][partial]
std::vector<Registers> loadPartials(GpuEmitter &emitter, const PartialBuffer &buffer,
                                    int64_t offset, const layout::TileLayout &tile,
                                    llvm::Type *type);
/// [register of `tile`]: of its row the partial whose number is the lane's, modulo their number,
/// which is a power of two and at most that of lanes. Of rows that lie together.
Registers loadPartialOfLane(GpuEmitter &emitter, const PartialBuffer &buffer, int64_t offset,
                            const layout::TileLayout &tile, llvm::Type *type);

} // namespace sectile::gpu
