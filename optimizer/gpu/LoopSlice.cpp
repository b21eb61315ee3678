#include "optimizer/gpu/LoopSlice.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace sectile::optimizer {

bool LoopSlice::add(ArrayRef<Value> values) {
  Parts grown = parts;
  for (Value value : values)
    if (value && !addTo(grown, value))
      return false;
  parts = std::move(grown);
  return true;
}

bool LoopSlice::addTo(Parts &grown, Value value) {
  Block *body = loop.getBody();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != body)
      grown.outside.insert(value);
    if (argument.getOwner() != body || argument == loop.getInductionVar())
      return true;
    unsigned number = argument.getArgNumber() - 1;
    if (!grown.carried.insert(number))
      return true;
    return addTo(grown, body->getTerminator()->getOperand(number));
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != body) {
    grown.outside.insert(value);
    return true;
  }
  if (grown.ops.contains(op))
    return true;
  if (auto load = dyn_cast<tile::LoadOp>(op); load && mayBeGiven && mayBeGiven(load)) {
    grown.given.insert(load);
    return true;
  }
  if (!mayRun(op))
    return false;
  // Of a branch, what is inside takes values, too.
  bool isComplete = true;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner == op || !op->isAncestor(operand.getParentBlock()->getParentOp()))
        isComplete = isComplete && addTo(grown, operand);
  });
  if (isComplete)
    grown.ops.insert(op);
  return isComplete;
}

/// Whether the operation divides two integers.
static bool divides(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

bool LoopSlice::mayRun(Operation *op) const {
  if (op->getNumRegions() && !isa<scf::IfOp>(op))
    return false;
  return !op->walk([&](Operation *inner) {
              const bool may = isa<scf::IfOp>(inner) || divides(inner) ||
                               (runs == Runs::Anywhere ? isPure(inner) : isMemoryEffectFree(inner));
              return may ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Lets a division that runs for an iteration that may not exist divide by something.
static void guardDivisions(OpBuilder &builder, Operation *cloned) {
  cloned->walk([&](Operation *op) {
    if (!divides(op) || matchPattern(op->getOperand(1), m_Constant()))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    Location place = op->getLoc();
    Value divisor = op->getOperand(1);
    auto constant = [&](int64_t number) -> Value {
      auto one = builder.getIntegerAttr(getElementTypeOrSelf(divisor.getType()), number);
      auto tile = dyn_cast<ShapedType>(divisor.getType());
      return arith::ConstantOp::create(
          builder, place, tile ? TypedAttr(DenseElementsAttr::get(tile, Attribute(one))) : one);
    };
    Value isZero =
        arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, divisor, constant(0));
    op->setOperand(1, arith::SelectOp::create(builder, place, isZero, constant(1), divisor));
  });
}

SmallVector<Value> LoopSlice::initial() const {
  scf::ForOp loop = this->loop;
  SmallVector<Value> values;
  for (unsigned number : parts.carried)
    values.push_back(loop.getInitArgs()[number]);
  return values;
}

SmallVector<Value> LoopSlice::carried() const {
  scf::ForOp loop = this->loop;
  return llvm::map_to_vector(
      parts.carried, [&](unsigned number) -> Value { return loop.getRegionIterArg(number); });
}

void LoopSlice::eraseUnused() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (parts.ops.contains(&op) && op.use_empty())
      op.erase();
  parts = {};
}

IRMapping LoopSlice::clone(OpBuilder &builder, Value index, ValueRange carried, IRMapping mapping) {
  mapping.map(loop.getInductionVar(), index);
  for (auto [number, value] : llvm::zip(parts.carried, carried))
    mapping.map(loop.getRegionIterArg(number), value);
  for (Operation &op : *loop.getBody())
    if (parts.ops.contains(&op)) {
      Operation *copy = builder.clone(op, mapping);
      if (runs == Runs::Anywhere)
        guardDivisions(builder, copy);
    }
  return mapping;
}

SmallVector<Value> LoopSlice::next(const IRMapping &cloned) {
  SmallVector<Value> values;
  for (unsigned number : parts.carried)
    values.push_back(cloned.lookupOrDefault(loop.getBody()->getTerminator()->getOperand(number)));
  return values;
}

LoopExtent::LoopExtent(OpBuilder &builder, scf::ForOp loop, int64_t distance)
    : loop(loop), reach(loop.getStep()) {
  if (distance == 1)
    return;
  Location place = loop.getLoc();
  Type type = reach.getType();
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto constant = [&](uint64_t number) -> Value {
    auto attribute = IntegerAttr::get(type, APInt(type.isIndex() ? 64 : bits, number));
    return arith::ConstantOp::create(builder, place, attribute);
  };
  uint64_t most = llvm::maxUIntN(bits) / uint64_t(distance);
  APInt known;
  bool isKnown = matchPattern(loop.getStep(), m_ConstantInt(&known));
  if (!isKnown || known.ugt(most))
    fits = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ule, loop.getStep(),
                                 constant(most));
  reach = arith::MulIOp::create(builder, place, loop.getStep(), constant(uint64_t(distance)));
}

Value LoopExtent::hasFirst(OpBuilder &builder) {
  auto before = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(builder, loop.getLoc(), before, loop.getLowerBound(),
                               loop.getUpperBound());
}

/// As an unsigned number, the distance of an index from the upper bound is exact.
Value LoopExtent::isLeft(OpBuilder &builder, Value index, Value steps) {
  Value left = arith::SubIOp::create(builder, loop.getLoc(), loop.getUpperBound(), index);
  return arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::ugt, left, steps);
}

Value LoopExtent::hasNext(OpBuilder &builder, Value index) {
  return isLeft(builder, index, loop.getStep());
}

Value LoopExtent::hasLater(OpBuilder &builder, Value index) {
  Value is = isLeft(builder, index, reach);
  return fits ? arith::AndIOp::create(builder, loop.getLoc(), is, fits).getResult() : is;
}

Value LoopExtent::later(OpBuilder &builder, Value index) {
  return arith::AddIOp::create(builder, loop.getLoc(), index, reach);
}

} // namespace sectile::optimizer
