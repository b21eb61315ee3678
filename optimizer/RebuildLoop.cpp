#include "optimizer/RebuildLoop.h"

using namespace mlir;

namespace sectile::optimizer {

scf::ForOp rebuildLoop(OpBuilder &builder, scf::ForOp loop, ValueRange initial) {
  return rebuildLoop(builder, loop, LoopBounds::of(loop), initial);
}

scf::ForOp rebuildLoop(OpBuilder &builder, scf::ForOp loop, const LoopBounds &bounds,
                       ValueRange initial) {
  auto made = scf::ForOp::create(builder, loop.getLoc(), bounds.lower, bounds.upper, bounds.step,
                                 initial, /*bodyBuilder=*/nullptr, bounds.isUnsigned);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (initial.empty()) // an implicit yield
    made.getBody()->getTerminator()->erase();
  return made;
}

scf::ForOp carryMore(OpBuilder &builder, scf::ForOp loop, ValueRange more) {
  SmallVector<Value> initial(loop.getInitArgs());
  llvm::append_range(initial, more);
  scf::ForOp made = rebuildLoop(builder, loop, initial);
  made.getRegion().takeBody(loop.getRegion());
  for (Value value : more)
    made.getBody()->addArgument(value.getType(), loop.getLoc());
  loop.replaceAllUsesWith(made.getResults().take_front(loop.getNumResults()));
  loop.erase();
  return made;
}

/// The same branch, of which both ways give `more` behind what they gave. That to `inner`, which is
/// inside, wants as many operands more; the other one gives them as they are.
static scf::IfOp giveMore(OpBuilder &builder, scf::IfOp branch, ValueRange more, Block *inner) {
  SmallVector<Type> types(branch.getResultTypes());
  llvm::append_range(types, more.getTypes());
  auto made = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(),
                                /*addThenBlock=*/false, /*addElseBlock=*/false);
  made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  made.getThenRegion().takeBody(branch.getThenRegion());
  made.getElseRegion().takeBody(branch.getElseRegion());
  OpBuilder::InsertionGuard guard(builder);
  if (made.getElseRegion().empty()) {
    builder.createBlock(&made.getElseRegion());
    scf::YieldOp::create(builder, branch.getLoc());
  }
  for (Region &region : made->getRegions())
    if (&region.front() != inner)
      region.front().getTerminator()->insertOperands(
          region.front().getTerminator()->getNumOperands(), more);
  branch.replaceAllUsesWith(made.getResults().take_front(branch.getNumResults()));
  branch.erase();
  return made;
}

CarriedThrough::CarriedThrough(OpBuilder &builder, scf::ForOp loop, ValueRange initial)
    : values(initial), innermost(loop->getBlock()) {
  SmallVector<Block *> blocks; // that lead to the loop, from within
  for (Block *block = innermost; isa<scf::ForOp, scf::IfOp>(block->getParentOp());
       block = block->getParentOp()->getBlock())
    blocks.push_back(block);
  OpBuilder::InsertionGuard guard(builder);
  for (Block *block : llvm::reverse(blocks)) {
    Operation *op = block->getParentOp();
    builder.setInsertionPoint(op);
    if (auto outer = dyn_cast<scf::ForOp>(op)) {
      scf::ForOp made = carryMore(builder, outer, values);
      ValueRange arguments = ValueRange(made.getRegionIterArgs()).take_back(values.size());
      values.assign(arguments.begin(), arguments.end());
      around.push_back(made);
    } else {
      around.push_back(giveMore(builder, cast<scf::IfOp>(op), values, block));
    }
  }
}

void CarriedThrough::leave(ArrayRef<Value> leaving) {
  SmallVector<Value> more(leaving);
  Block *block = innermost;
  for (Operation *op : llvm::reverse(around)) {
    block->getTerminator()->insertOperands(block->getTerminator()->getNumOperands(), more);
    ValueRange results = op->getResults().take_back(more.size());
    more.assign(results.begin(), results.end());
    block = op->getBlock();
  }
}

} // namespace sectile::optimizer
