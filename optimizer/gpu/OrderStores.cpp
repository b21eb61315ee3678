#include "optimizer/gpu/OrderStores.h"

#include "optimizer/IndexAnalysis.h"
#include "optimizer/PointerProvenance.h"
#include "optimizer/gpu/AccessWidth.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
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

/// Whether two accesses, one of which writes, may touch the same memory in different warps.
enum class Clash {
  No,
  /// Only if the arguments that they go through start at different addresses.
  WhereStartsDiffer,
  Yes
};

class StoreOrder {
public:
  StoreOrder(func::FuncOp function, bool argumentsOverlap, SmallVectorImpl<ApartArguments> &apart)
      : function(function), provenance(function), argumentsOverlap(argumentsOverlap), apart(apart) {
    if (function.getBody().empty())
      return;
    walk(function.getBody().front(), {});
    areBarriersKnown = true;
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
        if (areBarriersKnown)
          for (const Pending &one : pending)
            noteAssumption(&op, one);
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

  bool mustWait(Operation *op, const Pending &pending) {
    Clash clash = clashOf(op, pending);
    if (clash == Clash::No || takenApart(op, pending))
      return false;
    return clash == Clash::Yes || argumentOf(op) != argumentOf(pending.access);
  }

  /// Records what is assumed where `op` does not wait.
  void noteAssumption(Operation *op, const Pending &pending) {
    std::optional<ApartArguments> pair = takenApart(op, pending);
    Clash clash = pair ? clashOf(op, pending) : Clash::No;
    if (clash == Clash::No)
      return;
    pair->evenIfSame = clash == Clash::Yes;
    assumeApart(apart, *pair);
  }

  std::optional<unsigned> argumentOf(Operation *access) const {
    return provenance.argumentOf(memoryOperandsOf(access).pointer);
  }

  /// Returns the arguments of the two accesses, if these are taken to share no memory.
  std::optional<ApartArguments> takenApart(Operation *op, const Pending &pending) const {
    std::optional<unsigned> before = argumentOf(pending.access), now = argumentOf(op);
    if (argumentsOverlap || !before || !now || *before == *now)
      return std::nullopt;
    return isa<LoadOp>(op) ? ApartArguments{*before, *now} : ApartArguments{*now, *before};
  }

  Clash clashOf(Operation *op, const Pending &pending) {
    const bool reads = isa<LoadOp>(op), wasRead = isa<LoadOp>(pending.access);
    if (reads == wasRead) // two loads; writes keep no order but a thread's own
      return Clash::No;
    Value now = memoryOperandsOf(op).pointer, before = memoryOperandsOf(pending.access).pointer;
    // A thread's own accesses to an address keep their order. One thread writes for all that have
    // copies.
    if (isCopied(before.getType()))
      return Clash::Yes;
    if (!wasRead)
      return isReadInOtherThreads(op, pending.access) ? Clash::Yes : Clash::No;
    return meetInOneThread(before, now, pending.isEarlier) ? Clash::WhereStartsDiffer : Clash::Yes;
  }

  /// Whether a tile of an array that is stored may be loaded again by other threads, because layout
  /// assignment has given the two accesses different layouts. A kernel need not know that: through
  /// one tile of pointers it reads what it has written.
  bool isReadInOtherThreads(Operation *load, Operation *store) const {
    Type now = memoryOperandsOf(load).pointer.getType(),
         before = memoryOperandsOf(store).pointer.getType();
    return now != before && shapeOf(now) == shapeOf(before) &&
           elementTypeOf(now) == elementTypeOf(before) && argumentOf(load) &&
           argumentOf(load) == argumentOf(store);
  }

  /// Whether an address, counted from the start of an array, is the same thread's in both tiles of
  /// pointers.
  bool meetInOneThread(Value before, Value now, bool isEarlier) {
    if (before.getType() != now.getType()) // another layout, say
      return false;
    if (!isEarlier && (before == now || haveSameOffsets(before, now)))
      return true;
    return isAlignedBlock(before) && isAlignedBlock(now);
  }

  /// Whether the pointers are those of N neighbours, of which the first is a multiple of N elements
  /// from the start of the argument. An address is then always that of the same element of a tile:
  ///
  ///   for start in range(program * 512, n, programs * 512):
  ///       x = load p + start + arange(0, 512)
  ///       store p + start + arange(0, 512), f(x)
  bool isAlignedBlock(Value pointers) {
    auto type = dyn_cast<RankedTensorType>(pointers.getType());
    // Powers of two divide what a number is modulo 2^32, too.
    if (!type || type.getRank() != 1 || !llvm::isPowerOf2_64(uint64_t(type.getDimSize(0))))
      return false;
    const int64_t extent = type.getDimSize(0);
    bool hasNeighbours = false;
    Value at = pointers;
    while (Operation *op = at.getDefiningOp()) {
      if (auto splat = dyn_cast<SplatOp>(op)) {
        at = splat.getSrc();
        continue;
      }
      auto sum = dyn_cast<PtrAddOp>(op);
      if (!sum)
        return false;
      const IndexFacts &offset = factsOf(sum.getOffset());
      const bool isMultiple = offset.commonDivisor() % extent == 0;
      if (offset.isAssumed || (!isMultiple && (hasNeighbours || !isAligned(offset, extent))))
        return false;
      hasNeighbours |= !isMultiple;
      at = sum.getPtr();
    }
    return hasNeighbours && isa<func::FuncOp>(at.getParentBlock()->getParentOp());
  }

  /// Whether the numbers are N neighbours, of which the first is a multiple of N.
  static bool isAligned(const IndexFacts &offset, int64_t extent) {
    if (offset.dimensions.size() != 1)
      return false;
    const DimensionFacts &facts = offset.dimensions.front();
    return facts.extent == extent && facts.isContiguous() && facts.divisibility % extent == 0;
  }

  const IndexFacts &factsOf(Value index) {
    if (!indices)
      indices.emplace(function);
    return indices->of(index);
  }

  /// Whether several warps have an element, or all the one number that is no tile.
  static bool isCopied(Type type) {
    const layout::TileLayout *layout =
        isa<RankedTensorType>(type) ? layoutOf(cast<RankedTensorType>(type)) : nullptr;
    return !layout || layout->copyMask(layout::Dim::Warp);
  }

  func::FuncOp function;
  PointerProvenance provenance;
  const bool argumentsOverlap;
  SmallVectorImpl<ApartArguments> &apart;
  /// It is made when a loop first asks for it.
  std::optional<IndexAnalysis> indices;
  llvm::SetVector<Operation *> waiting;
  /// True in the second walk, which changes `waiting` no more.
  bool areBarriersKnown = false;
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
      StoreOrder(getOperation(), options.argumentsOverlap, assumed().apart);
  }
};

} // namespace

std::unique_ptr<Pass> createOrderStores(const GpuPipelineOptions &options,
                                        GpuAssumptions *assumed) {
  return std::make_unique<OrderStores>(options, assumed);
}

} // namespace sectile::optimizer
