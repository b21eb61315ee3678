#include "lang/tile/EffectMasks.h"

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sectile::tile {

bool canBeMasked(Operation *op) {
  return isa<LoadOp, StoreOp, AtomicRmwOp, AssertOp>(op);
}

Value negated(OpBuilder &builder, Location loc, Value condition) {
  TypedAttr all = builder.getOneAttr(condition.getType());
  return arith::XOrIOp::create(builder, loc, condition,
                               arith::ConstantOp::create(builder, loc, all));
}

void maskEffects(OpBuilder &builder, Operation *op, Value isWanted) {
  assert(canBeMasked(op));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Location loc = op->getLoc();
  if (auto assertion = dyn_cast<AssertOp>(op)) {
    Value isElsewhere = negated(builder, loc, isWanted);
    assertion.getConditionMutable().assign(
        arith::OrIOp::create(builder, loc, isElsewhere, assertion.getCondition()));
    return;
  }
  llvm::TypeSwitch<Operation *>(op).Case<LoadOp, StoreOp, AtomicRmwOp>([&](auto access) {
    Value mask = access.getMask();
    if (mask)
      mask = arith::AndIOp::create(builder, loc, isWanted, mask);
    access.getMaskMutable().assign(mask ? mask : isWanted);
    // What is accessed is no whole block any more.
    if constexpr (!std::is_same_v<decltype(access), AtomicRmwOp>)
      access.getBlockMutable().clear();
  });
}

} // namespace sectile::tile
