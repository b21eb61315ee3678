#include "optimizer/gpu/CheapValues.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

/// What one element of a copy may cost, in simple operations: about as much as moving it.
constexpr unsigned kMaxCost = 40;

unsigned costOf(Operation *op) {
  if (isa<arith::ConstantOp, SplatOp, BroadcastOp, ExpandDimsOp, TransposeOp, HintOp>(op))
    return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::DivFOp>(op) ||
      isa<math::MathDialect>(op->getDialect()))
    return 10;
  return 1;
}

} // namespace

bool isElementwise(Operation *op) {
  return isa<PtrAddOp, PtrToIntOp, IntToPtrOp, PtrCastOp, HintOp>(op) ||
         (OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op) &&
          op->getNumRegions() == 0);
}

bool hasOneLayout(Operation *op) {
  return isElementwise(op) ||
         isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp, ScanOp, FlipOp, SortOp, MapOp, InlineAsmOp>(
             op);
}

CheapValues::CheapValues(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) { examine(op); });
}

void CheapValues::examine(Operation *op) {
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  bool makesTile = isa<ArangeOp, SplatOp, arith::ConstantOp>(op);
  if (!makesTile && !isElementwise(op) && !isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op))
    return;
  unsigned cost = costOf(op);
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    auto found = costs.find(operand);
    if (found == costs.end())
      return;
    cost += found->second;
  }
  if (cost > kMaxCost)
    return;
  for (Value result : op->getResults())
    costs[result] = cost;
}

} // namespace sectile::optimizer
