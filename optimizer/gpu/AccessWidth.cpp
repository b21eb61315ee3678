#include "optimizer/gpu/AccessWidth.h"

#include "lang/layout/PowersOfTwo.h"
#include "optimizer/gpu/CheapValues.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

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

bool isZeroOrNothing(Value other) {
  if (!other)
    return true;
  SplatElementsAttr splat;
  if (!matchPattern(other, m_Constant(&splat)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(splat.getSplatValue<Attribute>());
  return number && number.getValue().isZero();
}

/// Whether nothing takes the tile but products, as it is or turned.
static bool isForProducts(Value tile) {
  return !tile.use_empty() && llvm::all_of(tile.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<DotOp, DotAsyncOp>(user))
      return use.getOperandNumber() < 2;
    return isa<TransposeOp, ConvertLayoutOp, ToBufferOp>(user) && isForProducts(user->getResult(0));
  });
}

/// Whether a product gives the tile, or what it is computed from element by element.
static bool isOfProduct(Value tile, int steps = 12) {
  Operation *op = tile.getDefiningOp();
  if (!op || steps == 0 || !isa<RankedTensorType>(tile.getType()))
    return false;
  if (isa<DotOp, DotAsyncOp>(op))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isOfProduct(loop.getYieldedValues()[cast<OpResult>(tile).getResultNumber()], steps - 1);
  return (isElementwise(op) ||
          isa<ConvertLayoutOp, ReshapeOp, TransposeOp, SplitOp, ExpandDimsOp>(op)) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isOfProduct(operand, steps - 1); });
}

bool mayStorePartly(StoreOp store, const GpuShape &shape) {
  constexpr int64_t kWidestBytes = 2;
  return shape.storesPartly && store.getMask() && memoryOperandsOf(store).bytes <= kWidestBytes;
}

Masks masksOf(Operation *access, const GpuShape &shape) {
  if (auto store = dyn_cast<StoreOp>(access))
    return mayStorePartly(store, shape) && isOfProduct(store.getValue()) ? Masks::Prefixes
                                                                         : Masks::Whole;
  auto load = dyn_cast<LoadOp>(access);
  const bool mayBeCopied = load && shape.asyncCopies == AsyncKind::PerLane && load.getMask() &&
                           load->getParentOfType<scf::ForOp>() && !load.getIsVolatile() &&
                           isZeroOrNothing(load.getOther()) && isForProducts(load.getResult());
  return mayBeCopied ? Masks::Prefixes : Masks::Whole;
}

AxisAccess accessAlong(const MemoryOperands &access, unsigned axis, int64_t most,
                       const layout::TileLayout *layout, const IndexAnalysis &analysis,
                       Masks masks) {
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
  const bool arePrefixes = access.mask && masks == Masks::Prefixes;
  int64_t run = analysis.accessRun(access.pointer, axis, arePrefixes ? Value() : access.mask);
  along.width = std::min({layout::lowestBit(run), alignment, most});
  if (access.mask) {
    int64_t same = arePrefixes ? analysis.prefixRun(access.mask, axis)
                               : analysis.of(access.mask).dimensions[axis].constancy();
    if (arePrefixes && same < facts.extent)
      along.width = std::min(along.width, layout::lowestBit(same));
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
                        const layout::TileLayout &layout, const IndexAnalysis &analysis,
                        Masks masks) {
  AccessWidth best;
  for (int axis = 0; axis < layout.rank(); ++axis)
    if (int64_t width = accessAlong(access, axis, most, &layout, analysis, masks).width;
        width > best.width)
      best = {axis, width};
  return best;
}

AccessWidth widestAccess(const MemoryOperands &access, int64_t most,
                         const layout::TileLayout &layout, const IndexAnalysis &analysis,
                         bool mayBePartial) {
  AccessWidth whole = accessWidth(access, most, layout, analysis);
  if (!mayBePartial || !access.mask)
    return whole;
  AccessWidth partial = accessWidth(access, most, layout, analysis, Masks::Prefixes);
  partial.isPartial = true;
  return partial.width > whole.width ? partial : whole;
}

} // namespace sectile::optimizer
