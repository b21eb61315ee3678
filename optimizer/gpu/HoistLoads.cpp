#include "optimizer/gpu/HoistLoads.h"

#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/ThreadWork.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// 32-bit registers of a thread that may be filled early: with more, fewer programs run at a time.
constexpr int64_t kMaxWords = 24;

/// Whether the operation is one that addresses and masks are made of, which costs little anywhere.
bool isIndexArithmetic(Operation *op) {
  return isElementwise(op) || isa<ArangeOp, SplatOp, arith::ConstantOp, BroadcastOp, ExpandDimsOp,
                                  ProgramIdOp, NumProgramsOp>(op);
}

class BlockHoister {
public:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto load = dyn_cast<LoadOp>(op); load && !load.getIsVolatile())
        consider(load);
      else if (hasElementRegion(&op) || (isPure(&op) && !op.getNumRegions()) ||
               touchesOnlySharedMemory(&op) || isa<TensorCopyOp, AsyncCopyOp>(op))
        waiting.insert(&op); // loads pass it that do not need its results
      else
        startBehind(&op);
    }
  }

private:
  /// Nothing passes `op`.
  void startBehind(Operation *op) {
    waiting.clear();
    last = op;
    words = 0;
  }

  void consider(LoadOp load) {
    llvm::SetVector<Operation *> needed;
    int64_t more = wordsPerThread(load.getType());
    if (!collect(load, needed) || words + more > kMaxWords) {
      waiting.insert(load);
      return;
    }
    words += more;
    needed.insert(load);
    for (Operation *op : needed) {
      waiting.erase(op);
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&load->getBlock()->front());
      last = op;
    }
  }

  /// What has to move along, operands first; false when that is more than arithmetic on indices.
  bool collect(Operation *op, llvm::SetVector<Operation *> &needed) {
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || !waiting.contains(maker) || needed.contains(maker))
        continue;
      if (!isIndexArithmetic(maker) || !collect(maker, needed))
        return false;
      needed.insert(maker);
    }
    return true;
  }

  /// Behind which the next load goes; null: the block's beginning.
  Operation *last = nullptr;
  /// Operations after `last` so far.
  llvm::DenseSet<Operation *> waiting;
  int64_t words = 0;
};

} // namespace

void hoistLoads(func::FuncOp function) {
  function.walk([](Block *block) {
    Operation *parent = block->getParentOp();
    if (isa<scf::ForOp, scf::WhileOp>(parent) || isInLoop(parent))
      BlockHoister().run(*block);
  });
}

namespace {

struct HoistLoads : PassWrapper<HoistLoads, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistLoads)

  StringRef getArgument() const override { return "hoist-loads"; }
  StringRef getDescription() const override {
    return "start the loads of loops before the work that does not wait for them";
  }
  void runOnOperation() override { hoistLoads(getOperation()); }
};

} // namespace

std::unique_ptr<Pass> createHoistLoads() {
  return std::make_unique<HoistLoads>();
}

} // namespace sectile::optimizer
