#include "backends/gpu/ConvertPlan.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::ConversionKind;
using layout::ConversionPlan;
using layout::TileLayout;

int64_t scratchLimit(const GpuTarget &target) {
  return std::min<int64_t>(32 << 10, target.maxSharedBytes);
}

unsigned scratchBits(Type element) {
  if (isa<PtrType>(element))
    return 64;
  return std::max(8u, element.getIntOrFloatBitWidth());
}

ConversionPlan planConversionOn(const GpuTarget &target, const TileLayout &from,
                                const TileLayout &to, unsigned elementBits) {
  layout::ConversionSettings settings;
  settings.maxSharedBytes = scratchLimit(target);
  settings.banks = target.sharedBanks();
  return layout::planConversion(from, to, elementBits, settings);
}

int64_t conversionBytes(const TileLayout &from, const TileLayout &to, unsigned elementBits,
                        const GpuTarget &target) {
  if (from == to)
    return 0;
  ConversionPlan plan = planConversionOn(target, from, to, elementBits);
  return plan.kind == ConversionKind::ThroughShared ? plan.shared.bytes : 0;
}

} // namespace sectile::gpu
