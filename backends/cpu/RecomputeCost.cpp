#include "backends/cpu/RecomputeCost.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

constexpr int kMathFunction = 15, kIntegerDivision = 24, kLoad = 3, kMost = 1000;

int ownInstructions(Operation *op) {
  if (isa<ArangeOp, SplatOp, BroadcastOp, ExpandDimsOp, TransposeOp, HintOp, arith::ConstantOp>(op))
    return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return matchPattern(op->getOperand(1), m_Constant()) ? 4 : kIntegerDivision;
  if (isa<arith::RemFOp>(op))
    return 2 * kMathFunction;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp, math::CeilOp, math::TruncOp,
          math::RoundEvenOp, math::CopySignOp>(op))
    return 1;
  if (isa<math::MathDialect>(op->getDialect()))
    return kMathFunction;
  if (isa<GatherOp>(op))
    return kMathFunction;
  if (isa<arith::ExtFOp, arith::TruncFOp, NarrowOp>(op))
    return 2;
  if (isa<LoadOp>(op))
    return kLoad;
  return 1;
}

} // namespace

const RecomputeCost &RecomputeCosts::of(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  RecomputeCost cost;
  Type element = elementTypeOf(value.getType());
  cost.isIndex = !isa<FloatType>(element);
  Operation *op = value.getDefiningOp();
  bool isVirtual = op && isa<RankedTensorType>(value.getType()) && !op->getNumRegions() &&
                   !isa<DotOp, AtomicRmwOp, AtomicCasOp>(op);
  if (!isVirtual)
    return known[value] = cost;
  cost.instructions = ownInstructions(op);
  cost.isCostly = cost.instructions >= kMathFunction;
  cost.containsLoad = isa<LoadOp>(op);
  for (Value operand : op->getOperands()) {
    RecomputeCost inner = of(operand);
    // The address and mask of a load are needed once per vector.
    if (isa<LoadOp>(op) && inner.isIndex)
      continue;
    // Index arithmetic on top of something dear is not kept itself: what is dear below it is. So
    // addresses stay expressions, and show how they change from lane to lane.
    bool isKeptBelow = inner.isIndex && (inner.isCostly || inner.containsLoad);
    cost.instructions = std::min(kMost, cost.instructions + (isKeptBelow ? 1 : inner.instructions));
    if (!cost.isIndex) {
      cost.containsLoad |= inner.containsLoad;
      cost.isCostly |= inner.isCostly;
    }
  }
  return known[value] = cost;
}

} // namespace sectile::cpu
