//===-- ConvertPlan.h - what moving a tile from one layout to another takes on a target -------===//
// lang/layout/Conversion.h plans, within the shared memory that one op of a kernel may use.
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "lang/layout/Conversion.h"

namespace sectile::gpu {

/// Scratch of one op stays within this; larger work goes in rounds.
int64_t scratchLimit(const GpuTarget &target);

/// Bits that one element takes in shared memory.
unsigned scratchBits(mlir::Type element);

layout::ConversionPlan planConversionOn(const GpuTarget &target, const layout::TileLayout &from,
                                        const layout::TileLayout &to, unsigned elementBits);

/// Shared memory for a conversion; 0 when it needs none.
int64_t conversionBytes(const layout::TileLayout &from, const layout::TileLayout &to,
                        unsigned elementBits, const GpuTarget &target);

} // namespace sectile::gpu
