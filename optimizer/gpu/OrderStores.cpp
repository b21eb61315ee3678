#include "optimizer/gpu/OrderStores.h"

#include "optimizer/PointerProvenance.h"
#include "optimizer/gpu/AccessWidth.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// An access that other warps may not have done yet.
struct Pending {
  Operation *access;
  /// From an earlier round of a loop: its pointers were others.
  bool isEarlier = false;

  friend bool operator==(const Pending &, const Pending &) = default;
};

using PendingAccesses = SmallVector<Pending, 4>;

void add(PendingAccesses &all, const Pending &one) {
  if (!llvm::is_contained(all, one))
    all.push_back(one);
}

class StoreOrder {
public:
  StoreOrder(func::FuncOp function, bool argumentsOverlap)
      : provenance(function), argumentsOverlap(argumentsOverlap) {
    if (!function.getBody().empty())
      walk(function.getBody().front(), {});
    for (Operation *op : waiting) {
      OpBuilder builder(op);
      BarrierOp::create(builder, op->getLoc());
    }
  }

private:
  /// Returns what is pending after the block when `pending` may be before it.
  PendingAccesses walk(Block &block, PendingAccesses pending) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        pending =
            walkLoop(pending, [&](PendingAccesses state) { return walk(*loop.getBody(), state); });
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        PendingAccesses left;
        walkLoop(pending, [&](PendingAccesses state) {
          left = walk(*loop.getBeforeBody(), state);
          return walk(*loop.getAfterBody(), left);
        });
        pending = left;
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        PendingAccesses after = walk(branch.getThenRegion().front(), pending);
        PendingAccesses otherwise = branch.getElseRegion().empty()
                                        ? pending
                                        : walk(branch.getElseRegion().front(), pending);
        for (const Pending &one : otherwise)
          add(after, one);
        pending = after;
      } else if (auto barrier = dyn_cast<BarrierOp>(op); barrier && !barrier.getSharedOnly()) {
        pending.clear();
      } else if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op)) {
        if (waiting.contains(&op) ||
            llvm::any_of(pending, [&](const Pending &one) { return mustWait(&op, one); })) {
          waiting.insert(&op);
          pending.clear();
        }
        add(pending, {&op});
      }
    }
    return pending;
  }

  /// `body` any number of times, none included. A store that was found to wait goes on waiting.
  template <class Body>
  PendingAccesses walkLoop(PendingAccesses before, Body body) {
    for (PendingAccesses state = before;;) {
      PendingAccesses next = state;
      for (Pending one : body(state)) {
        one.isEarlier = true;
        add(next, one);
      }
      if (next.size() == state.size())
        return next;
      state = next;
    }
  }

  bool mustWait(Operation *op, const Pending &pending) const {
    const bool reads = isa<LoadOp>(op), wasRead = isa<LoadOp>(pending.access);
    if (reads == wasRead) // two loads; writes keep no order but a thread's own
      return false;
    Value now = memoryOperandsOf(op).pointer, before = memoryOperandsOf(pending.access).pointer;
    auto from = provenance.argumentOf(before), to = provenance.argumentOf(now);
    if (from && to && *from != *to && !argumentsOverlap)
      return false;
    // A thread's own accesses to an address keep their order. One thread writes for all that have
    // copies.
    if (isCopied(before.getType()))
      return true;
    return wasRead && (pending.isEarlier || before != now);
  }

  /// Whether several warps have an element, or all the one number that is no tile.
  static bool isCopied(Type type) {
    const layout::TileLayout *layout =
        isa<RankedTensorType>(type) ? layoutOf(cast<RankedTensorType>(type)) : nullptr;
    return !layout || layout->copyMask(layout::Dim::Warp);
  }

  PointerProvenance provenance;
  const bool argumentsOverlap;
  llvm::SetVector<Operation *> waiting;
};

struct OrderStores : GpuPass<OrderStores> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderStores)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "order-stores"; }
  StringRef getDescription() const override {
    return "let stores wait for loads of other warps (warps=4,overlap=false)";
  }
  void runOnOperation() override {
    if (shape().warpCount > 1)
      StoreOrder(getOperation(), options.argumentsOverlap);
  }
};

} // namespace

std::unique_ptr<Pass> createOrderStores(const GpuPipelineOptions &options,
                                        GpuAssumptions *assumed) {
  return std::make_unique<OrderStores>(options, assumed);
}

} // namespace sectile::optimizer
