#include "optimizer/gpu/OrderProducts.h"

#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/OverlapProducts.h"
#include "optimizer/gpu/StageRoom.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Whether the product reads what its round does not fill: stages, or buffers that lie still.
bool readsStages(DotAsyncOp product, scf::ForOp loop) {
  for (Value operand : {product.getLhs(), Value(product.getRhs())}) {
    if (!isa<BufferType>(operand.getType()))
      continue;
    Operation *maker = bufferBehind(operand, loop).getDefiningOp();
    if (!maker || loop->isAncestor(maker))
      return false;
  }
  return true;
}

/// Whether a product may begin before the operation, or go on behind it, if no value says
/// otherwise: it neither writes what products read nor says that somebody may.
bool mayBePassed(Operation *op) {
  if (op->getNumRegions())
    return hasElementRegion(op) && isMemoryEffectFree(op);
  auto load = dyn_cast<LoadOp>(op);
  return isMemoryEffectFree(op) || isa<DotAsyncOp, DotWaitOp, BufferLoadOp, BufferViewOp>(op) ||
         (load && !load.getIsVolatile());
}

/// Whether the operation is of the copies of later rounds, which a product may begin before: they
/// fill no stage that its round reads.
bool isOfLaterCopies(Operation *op) {
  auto wait = dyn_cast<MBarrierWaitOp>(op);
  return isa<TensorCopyOp, MBarrierExpectOp>(op) || (wait && wait.getOfCopies());
}

bool takesResultOf(Operation *op, Operation *maker) {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return operand.getDefiningOp() == maker; });
}

class LoopOrderer {
public:
  LoopOrderer(scf::ForOp loop, const GpuShape &shape, const CheapValues &cheap)
      : loop(loop), shape(shape), cheap(cheap) {}

  /// Returns how many products have begun earlier.
  int64_t run() {
    for (auto product : loop.getOps<DotAsyncOp>())
      products.push_back(product);
    for (auto wait : loop.getOps<DotWaitOp>())
      waits.push_back(wait);
    if (products.size() < 2 || !isPlain())
      return 0;
    int64_t earlier = 0;
    for (DotAsyncOp product : products)
      earlier += begin(product);
    for (DotWaitOp wait : llvm::reverse(waits))
      sink(wait);
    carryOn();
    countPending();
    return earlier;
  }

private:
  /// Whether each wait is for one product of the loop, which nothing else has put in its place.
  bool isPlain() {
    return llvm::all_of(waits, [&](DotWaitOp wait) {
      auto product = wait.getValues().size() == 1
                         ? wait.getValues().front().getDefiningOp<DotAsyncOp>()
                         : DotAsyncOp();
      return product && !wait.getPinned() && product->getBlock() == loop.getBody() &&
             wait.getPending() == 0;
    });
  }

  /// Programs on a multiprocessor that have registers for the tiles of the loop.
  int64_t programs() {
    return shape.registerWords / (shape.threadCount() * (peakWords(loop, cheap) + kOtherWords));
  }

  /// Moves the product's beginning up, if a wait is passed so and registers suffice. Returns
  /// whether it has moved.
  bool begin(DotAsyncOp product) {
    if (!readsStages(product, loop))
      return false;
    SmallVector<Operation *, 4> moved{product};
    Operation *place = product;
    bool passesWait = false;
    for (Operation *before = product->getPrevNode(); before; before = before->getPrevNode()) {
      if (!mayBePassed(before) && !isOfLaterCopies(before))
        break;
      // What shows a stage comes along.
      if (llvm::any_of(moved, [&](Operation *op) { return takesResultOf(op, before); })) {
        if (!isa<BufferViewOp>(before))
          break;
        moved.push_back(before);
        continue;
      }
      passesWait |= isa<DotWaitOp>(before);
      if (passesWait && (isa<DotWaitOp>(before) || isOfLaterCopies(before)))
        place = before;
    }
    if (!passesWait)
      return false;
    llvm::erase_if(moved,
                   [&](Operation *op) { return op != product && op->isBeforeInBlock(place); });
    const int64_t programsNow = programs();
    SmallVector<Operation *, 4> behind; // where each stood
    for (Operation *op : llvm::reverse(moved)) {
      behind.push_back(op->getPrevNode());
      op->moveBefore(place);
    }
    if (peakWords(loop, cheap) + kOtherWordsOfChains <= mostWords() && programs() >= programsNow)
      return true;
    for (auto [op, before] : llvm::reverse(llvm::zip(llvm::reverse(moved), behind)))
      op->moveAfter(before);
    return false;
  }

  int64_t mostWords() const {
    return std::min(shape.threadWords, shape.registerWords / shape.threadCount());
  }

  /// Moves a wait to the first operation that takes what it gives, or that products in flight must
  /// not pass.
  void sink(DotWaitOp wait) {
    auto product = wait.getValues().front().getDefiningOp<DotAsyncOp>();
    if (!readsStages(product, loop))
      return;
    auto isOfLater = [&](Operation *op) { // done when that one is
      auto other = dyn_cast<DotWaitOp>(op);
      return other && product->isBeforeInBlock(other.getValues().front().getDefiningOp());
    };
    Operation *place = wait->getNextNode();
    while (!place->hasTrait<OpTrait::IsTerminator>() && mayBePassed(place) &&
           !usesWithin(place, wait) && !isOfLater(place))
      place = place->getNextNode();
    wait->moveBefore(place);
  }

  /// Whether `op`, or an operation inside of it, takes what the wait gives.
  static bool usesWithin(Operation *op, DotWaitOp wait) {
    return llvm::any_of(wait->getUsers(), [&](Operation *user) { return op->isAncestor(user); });
  }

  /// Leaves products that are `lasting` under way when the round ends.
  void carryOn() {
    SmallVector<CarriedProduct, 2> carried;
    for (DotAsyncOp product : productsCarriedOn(loop))
      if (product.getLasting())
        carried.push_back(*asCarried(product, loop));
    for (DotAsyncOp product : products) // decided from here on
      product.setLasting(false);
    if (carried.empty())
      return;
    OpBuilder builder(loop);
    SmallVector<Value> sums;
    for (CarriedProduct &one : carried) {
      one.wait->getResult(0).replaceAllUsesWith(one.start.getResult());
      llvm::erase(waits, one.wait);
      one.wait.erase();
      sums.push_back(loop.getResult(one.argument));
    }
    builder.setInsertionPointAfter(loop);
    auto last = DotWaitOp::create(builder, loop.getLoc(), ValueRange(sums).getTypes(),
                                  builder.getI32IntegerAttr(0), sums);
    for (auto [sum, done] : llvm::zip(sums, last.getResults()))
      sum.replaceAllUsesExcept(done, last);
    // The stages of the round before are free when its products are done, which is known behind
    // the last one of this round, wherever that stands by now.
    if (waits.empty()) {
      builder.setInsertionPointAfter(*llvm::max_element(
          products, [](DotAsyncOp a, DotAsyncOp b) { return a->isBeforeInBlock(b); }));
      DotWaitOp::create(builder, loop.getLoc(), TypeRange(),
                        builder.getI32IntegerAttr(int32_t(products.size())), ValueRange());
    }
  }

  /// Lets each wait leave those products under way that have begun behind its own, and stay behind
  /// what is computed under its product.
  void countPending() {
    for (DotWaitOp wait : waits) {
      auto product = wait.getValues().front().getDefiningOp<DotAsyncOp>();
      int32_t later = 0;
      bool computes = false; // of sums, and nothing that a product takes
      for (Operation *op = product->getNextNode(); op != wait; op = op->getNextNode()) {
        later += isa<DotAsyncOp>(op);
        computes &= !isa<DotAsyncOp>(op);
        computes |= isElementwise(op) && op->getResultTypes() == wait->getResultTypes();
      }
      wait.setPending(later);
      wait.setPinned(computes);
    }
  }

  scf::ForOp loop;
  const GpuShape &shape;
  const CheapValues &cheap;
  SmallVector<DotAsyncOp, 4> products;
  SmallVector<DotWaitOp, 4> waits;
};

struct OrderProducts : GpuPass<OrderProducts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderProducts)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "order-products"; }
  StringRef getDescription() const override {
    return "products begin early and are waited for late "
           "(warps=4,lanes=32,registers=65536,each=255)";
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop.getOps<DotAsyncOp>().empty())
        loops.push_back(loop);
    });
    if (loops.empty())
      return;
    const CheapValues cheap(getOperation());
    for (scf::ForOp loop : loops)
      if (int64_t earlier = LoopOrderer(loop, shape(), cheap).run())
        addRemark(assumed().remarks, loop.getLoc(), "products-early",
                  std::to_string(earlier) + (earlier == 1 ? " product begins" : " products begin") +
                      " before what the kernel computes in front of them");
  }
};

} // namespace

SmallVector<DotAsyncOp, 2> productsCarriedOn(scf::ForOp loop) {
  SmallVector<DotAsyncOp, 2> carried;
  int64_t count = 0;
  for (auto product : loop.getOps<DotAsyncOp>()) {
    ++count;
    if (asCarried(product, loop))
      carried.push_back(product);
  }
  if (count < 2)
    carried.clear();
  // Each that goes leaves its wait to those before it.
  for (;;) {
    auto *found = llvm::find_if(
        carried, [&](DotAsyncOp product) { return !keepsLhs(product, loop, carried); });
    if (found == carried.end())
      break;
    carried.erase(found);
  }
  return carried;
}

std::unique_ptr<Pass> createOrderProducts(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<OrderProducts>(options, assumed);
}

} // namespace sectile::optimizer
