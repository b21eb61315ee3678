#include "backends/gpu/ScanSteps.h"

#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/PartialBuffer.h"
#include "backends/gpu/ReducePlan.h"
#include "lang/layout/Builders.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

static unsigned bitsOf(Value value) {
  return scratchBits(elementTypeOf(value.getType()));
}

ScanSteps::ScanSteps(ScanOp op, const GpuTarget &target) {
  for (Value source : op.getSrcs())
    sources.push_back(*layoutOf(source.getType()));
  scanned = sources.front();
  planFor(op);
  if (!plan.isDirect || bytes > scratchLimit(target)) {
    scanned = reducible(scanned, op.getAxis());
    planFor(op);
  }
}

int64_t ScanSteps::scratchBytes(ScanOp op, const GpuTarget &target) const {
  int64_t most = bytes;
  for (auto [index, source] : llvm::enumerate(sources)) {
    unsigned bits = bitsOf(op.getSrcs()[index]);
    most = std::max(most, conversionBytes(source, scanned, bits, target));
    const TileLayout *wanted = layoutOf(op.getResult(index).getType());
    most = std::max(most, conversionBytes(scanned, *wanted, bits, target));
  }
  return most;
}

void ScanSteps::planFor(ScanOp op) {
  int axis = op.getAxis();
  plan = planScan(scanned, axis);
  slice = layout::sliceOf(scanned, axis);
  bytes = 0;
  totalBytes.clear();
  totalOffsets.clear();
  if (plan.warpCount == 1)
    return;
  PartialBuffer buffer(slice, plan.warpCount);
  auto append = [&](unsigned bits) {
    totalOffsets.push_back(bytes);
    totalBytes.push_back(llvm::alignTo(buffer.bytes(bits), 16));
    bytes += totalBytes.back() * plan.runCount();
  };
  for (Value source : op.getSrcs())
    append(bitsOf(source));
  if (scanned.isPadded(axis) && op.getReverse())
    append(8);
}

} // namespace sectile::gpu
