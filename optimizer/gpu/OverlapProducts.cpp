#include "optimizer/gpu/OverlapProducts.h"

#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/CarryPartials.h"
#include "optimizer/gpu/LoopSlice.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Adds the operations of the body that lead from a carried value to the product's sums, in their
/// order. Returns false where the value goes elsewhere, or where they are more than computation.
bool findChanges(DotAsyncOp product, Value carried, scf::ForOp loop,
                 SmallVectorImpl<Operation *> &changes) {
  llvm::SmallDenseSet<Operation *, 8> found;
  SmallVector<Value, 8> open{carried};
  bool reaches = false;
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user == product && use.get() == product.getAcc() && use.get() != product.getLhs()) {
        reaches = true;
        continue;
      }
      if (user->getBlock() != loop.getBody() || user->getNumRegions() ||
          !isMemoryEffectFree(user) || user->hasTrait<OpTrait::IsTerminator>())
        return false;
      if (found.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  for (Operation &op : *loop.getBody())
    if (found.contains(&op))
      changes.push_back(&op);
  return reaches;
}

/// Returns the last product before `product` in the body that `value` is computed from.
DotAsyncOp lastProductBehind(Value value, DotAsyncOp product) {
  Block *body = product->getBlock();
  llvm::SmallDenseSet<Operation *, 16> found;
  SmallVector<Operation *, 16> open;
  auto add = [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    if (Operation *here = maker ? body->findAncestorOpInBlock(*maker) : nullptr;
        here && found.insert(here).second)
      open.push_back(here);
  };
  add(value);
  DotAsyncOp last;
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (auto other = dyn_cast<DotAsyncOp>(op); other && (!last || last->isBeforeInBlock(other)))
      last = other;
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  }
  return last;
}

std::optional<DelayedProduct> asDelayed(DotAsyncOp start, scf::ForOp loop) {
  DelayedProduct delayed;
  delayed.start = start;
  delayed.wait = onlyWaitFor(start);
  if (!delayed.wait || !isa<RankedTensorType>(start.getLhs().getType()))
    return std::nullopt;
  auto argument = carriedBy(delayed.wait, loop);
  if (!argument)
    return std::nullopt;
  delayed.argument = *argument;
  Value carried = loop.getRegionIterArg(*argument);
  delayed.before = lastProductBehind(start.getLhs(), start);
  if (!delayed.before || !(delayed.waitBefore = onlyWaitFor(delayed.before)) ||
      !findChanges(start, carried, loop, delayed.changes))
    return std::nullopt;
  return delayed;
}

//===-- The pass ------------------------------------------------------------------------------===//

class LoopRotator {
public:
  LoopRotator(scf::ForOp loop, const DelayedProduct &product)
      : loop(loop), delayed(product), builder(loop), place(loop.getLoc()) {
    (void)bufferBehind(delayed.start.getRhs(), loop, &views);
    taken.push_back(delayed.start.getLhs());
    for (BufferViewOp view : views)
      if (Value stage = view.getStage(); stage && isOfRound(stage))
        taken.push_back(stage);
    left.insert_range(delayed.changes);
    left.insert_range(ArrayRef<Operation *>{delayed.start, delayed.wait});
    for (auto arrive : loop.getOps<MBarrierArriveOp>())
      if (delayed.wait->isBeforeInBlock(arrive))
        ends.push_back(arrive);
    left.insert_range(ends);
    for (BufferViewOp view : views)
      if (llvm::all_of(view->getUsers(), [&](Operation *user) { return left.contains(user); }))
        left.insert(view);
  }

  void run() {
    LoopExtent extent(builder, loop, /*distance=*/1);
    auto branch = scf::IfOp::create(builder, place, loop.getResultTypes(), extent.hasFirst(builder),
                                    /*withElseRegion=*/true);
    auto otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
    scf::YieldOp::create(otherwise, place, loop.getInitArgs());
    builder.setInsertionPointToEnd(branch.thenBlock());

    SmallVector<Value> state = firstRound();
    Value first = loop.getLowerBound();
    LoopBounds bounds = LoopBounds::of(loop);
    Value second = arith::AddIOp::create(builder, place, first, loop.getStep());
    bounds.lower = arith::SelectOp::create(builder, place, extent.hasNext(builder, first), second,
                                           loop.getUpperBound());
    scf::ForOp made = rebuildLoop(builder, loop, bounds, state);
    builder.setInsertionPointToEnd(made.getBody());
    laterRound(made);

    builder.setInsertionPointAfter(made);
    SmallVector<Value> results(made.getResults().take_front(loop.getNumResults()));
    Value &sums = results[delayed.argument];
    sums = waitFor(startLate(sums, made.getResults().drop_front(loop.getNumResults())));
    scf::YieldOp::create(builder, place, results);
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  bool isOfRound(Value value) { return loop.getRegion().isAncestor(value.getParentRegion()); }

  /// Returns the values that the second round begins with, if there is one.
  SmallVector<Value> firstRound() {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), loop.getLowerBound());
    mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
    for (Operation &op : loop.getBody()->without_terminator())
      if (!left.contains(&op))
        builder.clone(op, mapping);
    for (Operation *op : delayed.changes)
      builder.clone(*op, mapping);
    for (Operation *op : ends)
      builder.clone(*op, mapping);
    return stateBehind(mapping);
  }

  void laterRound(scf::ForOp made) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), made.getInductionVar());
    auto arguments = made.getRegionIterArgs();
    mapping.map(loop.getRegionIterArgs(), arguments.take_front(loop.getNumResults()));
    Value sums;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (left.contains(&op))
        continue;
      Operation *copy = builder.clone(op, mapping);
      if (&op == delayed.before)
        sums = startLate(arguments[delayed.argument], arguments.drop_front(loop.getNumResults()));
      if (&op == delayed.waitBefore)
        cast<DotWaitOp>(copy).setPending(1);
    }
    Value added = waitFor(sums);
    added.getDefiningOp<DotWaitOp>().setPinned(waitsBehindAll());
    mapping.map(loop.getRegionIterArg(delayed.argument), added);
    for (Operation *op : ends)
      builder.clone(*op, mapping);
    for (Operation *op : delayed.changes)
      builder.clone(*op, mapping);
    scf::YieldOp::create(builder, place, stateBehind(mapping));
  }

  /// Whether all that the round computes stands in front of the wait for the late product. Beside a
  /// producer groups of warps are free to multiply while others compute, and where there are as
  /// many scores as sums these are better scaled while the exponential functions of the scores are
  /// computed. H200, of cuDNN, 128 wide heads, 128x128: 1.01, 1.05 and 1.06 so at 4k, 8k and
  /// 16k, 1.00, 1.03 and 1.04 behind all; 256 wide, 128x64, 4k and 16k: 1.04 and 1.08 so, 1.06
  /// and 1.10 behind all.
  bool waitsBehindAll() {
    return !producerOf(loop->getParentOfType<func::FuncOp>()) ||
           wordsPerThread(delayed.start.getType()) > wordsPerThread(delayed.before.getType());
  }

  /// Returns what a round carries on: as the loop did, but for the sums, to which its product has
  /// not been added; and what that takes.
  SmallVector<Value> stateBehind(const IRMapping &mapping) {
    SmallVector<Value> state;
    for (auto [number, value] : llvm::enumerate(loop.getYieldedValues()))
      state.push_back(mapping.lookupOrDefault(
          number == delayed.argument ? Value(delayed.start.getAcc()) : value));
    for (Value value : taken)
      state.push_back(mapping.lookupOrDefault(value));
    return state;
  }

  /// Starts the product of the round before, which `from` is `taken` of.
  Value startLate(Value sums, ValueRange from) {
    IRMapping mapping;
    mapping.map(ValueRange(taken), from);
    mapping.map(delayed.start.getAcc(), sums);
    for (BufferViewOp view : llvm::reverse(views))
      builder.clone(*view, mapping);
    auto start = cast<DotAsyncOp>(builder.clone(*delayed.start, mapping));
    start.setDelayable(false);
    return start.getResult();
  }

  Value waitFor(Value sums) {
    return DotWaitOp::create(builder, delayed.wait.getLoc(), TypeRange{sums.getType()},
                             builder.getI32IntegerAttr(0), ValueRange{sums})
        .getResult(0);
  }

  scf::ForOp loop;
  DelayedProduct delayed;
  OpBuilder builder;
  Location place;
  SmallVector<BufferViewOp> views;       // of the right operand, the last one first
  SmallVector<Value> taken;              // what the product takes from its round
  SmallVector<Operation *, 1> ends;      // say that all of a round is over
  llvm::SmallDenseSet<Operation *> left; // operations that stand elsewhere
};

struct OverlapProducts : GpuPass<OverlapProducts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OverlapProducts)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "overlap-products"; }
  StringRef getDescription() const override {
    return "products that are `delayable` run under the next round's computation: fixed=false, "
           "exact=false";
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](DotAsyncOp product) {
      if (product.getDelayable())
        if (auto loop = dyn_cast<scf::ForOp>(product->getParentOp()))
          loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      // What the first round leaves is no constant to begin with.
      carryPartials(loop, shape());
      if (auto delayed = delayedProduct(loop); delayed && delayed->start.getDelayable())
        LoopRotator(loop, *delayed).run();
    }
  }
};

} // namespace

Value bufferBehind(Value shown, scf::ForOp loop, SmallVectorImpl<BufferViewOp> *views) {
  while (auto view = shown.getDefiningOp<BufferViewOp>()) {
    if (!loop->isAncestor(view))
      break;
    if (views)
      views->push_back(view);
    shown = view.getBuffer();
  }
  return shown;
}

std::optional<DelayedProduct> delayedProduct(scf::ForOp loop) {
  std::optional<DelayedProduct> last;
  for (auto product : loop.getOps<DotAsyncOp>())
    if (auto delayed = asDelayed(product, loop))
      last = std::move(delayed);
  return last;
}

std::unique_ptr<Pass> createOverlapProducts(const GpuPipelineOptions &options,
                                            GpuAssumptions *assumed) {
  return std::make_unique<OverlapProducts>(options, assumed);
}

} // namespace sectile::optimizer
