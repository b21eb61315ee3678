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

} // namespace sectile::optimizer
