#include "backends/gpu/ReduceSteps.h"

#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/PartialBuffer.h"
#include "lang/layout/Builders.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

static unsigned bitsOf(Value value) {
  return scratchBits(elementTypeOf(value.getType()));
}

ReduceSteps::ReduceSteps(ReduceOp op, const GpuTarget &target) {
  for (Value source : op.getSrcs())
    sources.push_back(*layoutOf(source.getType()));
  int axis = op.getAxis();
  reduced = sources.front();
  planFor(op, axis);
  if (!plan.isDirect || partialBytes > scratchLimit(target)) {
    reduced = reducible(reduced, axis);
    planFor(op, axis);
  }
}

int64_t ReduceSteps::scratchBytes(ReduceOp op, const GpuTarget &target) const {
  int64_t bytes = partialBytes;
  for (auto [source, layout] : llvm::zip(op.getSrcs(), sources))
    bytes = std::max(bytes, conversionBytes(layout, reduced, bitsOf(source), target));
  for (Value result : op.getResults())
    if (const TileLayout *wanted = layoutOf(result.getType()))
      bytes = std::max(bytes, conversionBytes(made(op), *wanted, bitsOf(result), target));
  return bytes;
}

TileLayout ReduceSteps::made(ReduceOp op) const {
  const TileLayout *wanted = layoutOf(op.getResult(0).getType());
  return wanted && plan.partialCount > 1 ? *wanted : slice;
}

void ReduceSteps::planFor(ReduceOp op, int axis) {
  plan = planReduce(reduced, axis);
  slice = layout::sliceOf(reduced, axis);
  partialBytes = 0;
  partialOffsets.clear();
  if (plan.partialCount == 1)
    return;
  PartialBuffer buffer(slice, plan.partialCount);
  auto append = [&](unsigned bits) {
    partialOffsets.push_back(partialBytes);
    partialBytes += llvm::alignTo(buffer.bytes(bits), 16);
  };
  for (Value source : op.getSrcs())
    append(bitsOf(source));
  if (reduced.isPadded(axis))
    append(8);
}

} // namespace sectile::gpu
