//===-- EmitConvert.h - moving a tile from one layout to another ------------------------------===//
// lang/layout/Conversion.h plans; here the plan becomes instructions: registers renamed, lane
// shuffles, or stores, a barrier and loads in shared memory, in rounds where the tile is large.
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "lang/layout/Conversion.h"

namespace sectile::gpu {

/// Scratch of one op stays within this; larger work goes in rounds.
int64_t scratchLimit(const GpuTarget &target);

/// Bits that one element takes in shared memory.
unsigned scratchBits(mlir::Type element);

/// Shared memory for a conversion; 0 when it needs none.
int64_t conversionBytes(const layout::TileLayout &from, const layout::TileLayout &to,
                        unsigned elementBits, const GpuTarget &target);
int64_t convertScratchBytes(tile::ConvertLayoutOp op, const GpuTarget &target);

} // namespace sectile::gpu
