#include "optimizer/gpu/ThreadWork.h"

#include "optimizer/gpu/CheapValues.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

bool multiplies(Operation *around) {
  return around
      ->walk([](Operation *op) {
        return isa<DotOp, DotAsyncOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t peakWords(scf::ForOp loop, const CheapValues &cheap) {
  auto wordsOf = [&](Value value) -> int64_t {
    bool isHeld = layoutOf(value.getType()) && !cheap.contains(value) &&
                  elementTypeOf(value.getType()).isIntOrFloat() &&
                  !elementTypeOf(value.getType()).isInteger(1);
    return isHeld ? wordsPerThread(value.getType()) : 0;
  };
  // A broadcast tile is the registers of what is broadcast.
  auto heldAs = [](Value value) {
    while (isa_and_nonnull<BroadcastOp, ExpandDimsOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  };
  llvm::SmallDenseSet<Value, 32> live;
  int64_t words = 0, most = 0;
  auto use = [&](Operation *op) {
    for (Value operand : llvm::map_range(op->getOperands(), heldAs))
      if (live.insert(operand).second)
        words += wordsOf(operand);
  };
  // What is made before the loop lives through it.
  loop.getBody()->walk([&](Operation *op) {
    for (Value operand : llvm::map_range(op->getOperands(), heldAs))
      if (operand.getParentBlock() != loop.getBody() &&
          operand.getParentRegion()->isProperAncestor(&loop.getRegion()) &&
          live.insert(operand).second)
        words += wordsOf(operand);
  });
  for (Operation &op : llvm::reverse(*loop.getBody())) {
    most = std::max(most, words);
    for (Value result : op.getResults())
      if (live.erase(result))
        words -= wordsOf(result);
    op.walk(use);
  }
  return std::max(most, words);
}

} // namespace sectile::optimizer
