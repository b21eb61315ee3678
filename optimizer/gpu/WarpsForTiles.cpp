#include "optimizer/gpu/WarpsForTiles.h"

#include "optimizer/gpu/CheapValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Registers of a thread besides those of tiles, without which code spills.
static constexpr int64_t kBesideTiles = 24;

/// 32-bit words of all threads that a matrix takes; of other types none.
static int64_t wordsOfMatrix(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getRank() >= 2 && tile.getElementType().isIntOrFloat()
             ? tile.getNumElements() * tile.getElementTypeBitWidth() / 32
             : 0;
}

/// Words of all threads that are kept while the loop multiplies: what it and the loops around it
/// carry, and the largest sum that is no such thing; 0 where it does not multiply.
static int64_t wordsKept(scf::ForOp loop) {
  int64_t sums = -1;
  for (auto product : loop.getOps<DotOp>()) {
    auto acc = dyn_cast<BlockArgument>(product.getAcc());
    sums = std::max<int64_t>(sums, acc ? 0 : wordsOfMatrix(product.getType()));
  }
  if (sums < 0)
    return 0;
  for (auto around = loop; around; around = around->getParentOfType<scf::ForOp>())
    for (Value carried : around.getRegionIterArgs())
      sums += wordsOfMatrix(carried.getType());
  return sums;
}

namespace {

/// The most words of all threads that tiles take at a time, of a kernel without products. Elements
/// of operands make way for those of results; what any thread can make for itself takes nothing;
/// what is computed element by element is computed when it is wanted where that takes less; and
/// what is only combined along an axis is combined as it comes.
class LiveWords {
public:
  explicit LiveWords(func::FuncOp function) : cheap(function) {
    visit(function.getBody().front(), {});
  }
  int64_t most() const { return highest; }

private:
  /// Values that are wanted later, and the words of those that are tiles.
  struct Live {
    llvm::DenseSet<Value> values;
    int64_t words = 0;
  };

  /// Whether all that becomes of the tile, element by element, is a reduction's operand, and
  /// threads do not meet before, which loads do not pass.
  bool isCombinedAsItComes(Value tile) const {
    auto [known, isNew] = combined.try_emplace(tile, false);
    if (isNew && tile.getDefiningOp())
      known->second = findsReduction(tile);
    return known->second;
  }
  static bool findsReduction(Value tile) {
    Operation *last = tile.getDefiningOp();
    for (Value value = tile; value.hasOneUse(); value = last->getResult(0)) {
      Operation *user = *value.user_begin();
      if (user->getBlock() != last->getBlock())
        return false;
      for (Operation *between = last->getNextNode(); between != user;
           between = between->getNextNode())
        if (!isElementwise(between) &&
            !isa<LoadOp, arith::ConstantOp, ArangeOp, SplatOp, BroadcastOp, ExpandDimsOp>(between))
          return false;
      if (isa<ReduceOp>(user))
        return true;
      if (!isElementwise(user) || user->getNumResults() != 1)
        return false;
      last = user;
    }
    return false;
  }

  int64_t wordsOf(Value value) const {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    // Truths are bits of a register, or of one that lanes share.
    if (!tile || !tile.getElementType().isIntOrFloat() || tile.getElementTypeBitWidth() < 8 ||
        cheap.contains(value) || isCombinedAsItComes(value))
      return 0;
    return tile.getNumElements() * tile.getElementTypeBitWidth() / 32;
  }

  void add(Live &live, Value value) const {
    if (live.values.insert(value).second)
      live.words += wordsOf(value);
  }
  void remove(Live &live, Value value) const {
    if (live.values.erase(value))
      live.words -= wordsOf(value);
  }

  /// Adds what the value is computed of element by element, or the value, where that is nothing
  /// that is kept: of positions alone, by so much that it is not computed twice.
  void addSources(Value value, Live &sources, llvm::DenseSet<Value> &seen) const {
    llvm::SmallVector<Value> pending{value};
    while (!pending.empty()) {
      Value next = pending.pop_back_val();
      if (!wordsOf(next) || !seen.insert(next).second)
        continue;
      Operation *maker = next.getDefiningOp();
      if (maker && isElementwise(maker) &&
          llvm::any_of(maker->getOperands(), [&](Value operand) { return wordsOf(operand) > 0; }))
        llvm::append_range(pending, maker->getOperands());
      else
        add(sources, next);
    }
  }

  void note(const Live &live) {
    // An eighth more than before is worth a look at how it is made.
    if (live.words <= highest || live.words <= looked + looked / 8)
      return;
    looked = live.words;
    Live sources;
    llvm::DenseSet<Value> seen;
    for (Value value : live.values)
      addSources(value, sources, seen);
    highest = std::max(highest, std::min(live.words, sources.words));
  }

  /// `live` is what is used behind the block.
  void visit(Block &block, Live live) {
    for (Operation &op : llvm::reverse(block)) {
      for (Value result : op.getResults())
        add(live, result);
      note(live);
      for (Value result : op.getResults())
        remove(live, result);
      for (Region &region : op.getRegions()) {
        // What a loop uses it needs again in its next round.
        region.walk([&](Operation *inner) {
          for (Value operand : inner->getOperands())
            if (!region.isAncestor(operand.getParentRegion()))
              add(live, operand);
        });
      }
      if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            visit(inner, live);
      for (Value operand : op.getOperands())
        add(live, operand);
      note(live);
    }
  }

  CheapValues cheap;
  mutable llvm::DenseMap<Value, bool> combined; // isCombinedAsItComes
  int64_t highest = 0, looked = 0;
};

} // namespace

int64_t warpsForTiles(func::FuncOp function, const GpuShape &shape) {
  int64_t words = 0;
  bool ofThreads = false, multiplies = false;
  function.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      words = std::max(words, wordsKept(loop));
    ofThreads |= isa<InlineAsmOp>(op);
    multiplies |= isa<DotOp>(op);
  });
  // Text of the kernel's own may count threads.
  if (ofThreads)
    return shape.warpCount;
  if (!multiplies)
    words = LiveWords(function).most();
  auto roomOf = [&](int64_t warps) {
    const int64_t threads = warps * shape.laneCount;
    return threads * (std::min(shape.threadWords, shape.registerWords / threads) - kBesideTiles);
  };
  int64_t warps = shape.warpCount;
  while (words > roomOf(warps) && roomOf(2 * warps) > roomOf(warps))
    warps *= 2;
  return warps;
}

} // namespace sectile::optimizer
