#include "optimizer/gpu/AccessWidth.h"

#include "lang/layout/PowersOfTwo.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

MemoryOperands memoryOperandsOf(Operation *op) {
  MemoryOperands access;
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp, StoreOp, AtomicRmwOp, AsyncCopyOp>([&](auto each) {
        access.pointer = each.getPtr();
        access.mask = each.getMask();
      })
      .Case([&](AtomicCasOp cas) { access.pointer = cas.getPtr(); });
  Type element = elementTypeOf(pointeeOf(access.pointer.getType()));
  access.bytes = isa<PtrType>(element) ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8u);
  return access;
}

int64_t mostElements(Operation *op, const GpuShape &shape) {
  int64_t most = std::max<int64_t>(1, shape.maxAccessBytes / memoryOperandsOf(op).bytes);
  if (auto rmw = dyn_cast<AtomicRmwOp>(op))
    return std::min(most, shape.atomicWidth ? shape.atomicWidth(rmw) : 1);
  return isa<AtomicCasOp>(op) ? 1 : most;
}

AxisAccess accessAlong(const MemoryOperands &access, unsigned axis, int64_t most,
                       const layout::TileLayout *layout, const IndexAnalysis &analysis) {
  using Reason = AccessLimit::Reason;
  const DimensionFacts &facts = analysis.of(access.pointer).dimensions[axis];
  const int64_t alignment =
      std::max<int64_t>(1, analysis.alignment(access.pointer, axis) / access.bytes);
  AxisAccess along;
  auto limit = [&](Reason reason, int64_t elements) { along.limits.push_back({reason, elements}); };
  limit(Reason::Extent, facts.extent);
  limit(Reason::Neighbours, facts.contiguity());
  limit(Reason::Alignment, alignment);
  // Runs of a mask and of neighbours start at multiples of their own lengths, so an access crosses
  // none of either only if its width divides both. A run of a whole row ends where the row does.
  int64_t run = analysis.accessRun(access.pointer, axis, access.mask);
  along.width = std::min({layout::lowestBit(run), alignment, most});
  if (access.mask) {
    int64_t same = analysis.of(access.mask).dimensions[axis].constancy();
    limit(Reason::Mask, same == facts.extent ? same : layout::lowestBit(same));
  }
  limit(Reason::Instruction, most);
  if (!layout)
    return along;
  // A vector lies within the tile or outside of it.
  if (layout->isPadded(axis)) {
    limit(Reason::RowEnd, layout::lowestBit(facts.extent));
    along.width = std::min(along.width, layout::lowestBit(facts.extent));
  }
  limit(Reason::Registers, layout->contiguousRegisters(axis));
  along.width = std::min(along.width, layout->contiguousRegisters(axis));
  return along;
}

AccessWidth accessWidth(const MemoryOperands &access, int64_t most,
                        const layout::TileLayout &layout, const IndexAnalysis &analysis) {
  AccessWidth best;
  for (int axis = 0; axis < layout.rank(); ++axis)
    if (int64_t width = accessAlong(access, axis, most, &layout, analysis).width;
        width > best.width)
      best = {axis, width};
  return best;
}

} // namespace sectile::optimizer
