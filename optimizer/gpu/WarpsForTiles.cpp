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
/// and what is computed element by element is computed when it is wanted where that takes less.
class LiveWords {
public:
  explicit LiveWords(func::FuncOp function) : cheap(function) {
    visit(function.getBody().front(), {});
  }
  int64_t most() const { return highest; }

private:
  using Live = llvm::SmallDenseSet<Value, 16>;

  int64_t wordsOf(Value value) const {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    // Truths are bits of a register, or of one that lanes share.
    if (!tile || !tile.getElementType().isIntOrFloat() || tile.getElementTypeBitWidth() < 8 ||
        cheap.contains(value))
      return 0;
    return tile.getNumElements() * tile.getElementTypeBitWidth() / 32;
  }

  int64_t wordsOf(const Live &live) const {
    int64_t words = 0;
    for (Value value : live)
      words += wordsOf(value);
    return words;
  }

  /// Adds what the value is computed of element by element, or the value.
  void addSources(Value value, Live &sources, Live &seen) const {
    Operation *maker = value.getDefiningOp();
    if (!wordsOf(value) || !seen.insert(value).second)
      return;
    if (!maker || !isElementwise(maker)) {
      sources.insert(value);
      return;
    }
    for (Value operand : maker->getOperands())
      addSources(operand, sources, seen);
  }

  void note(const Live &live) {
    int64_t words = wordsOf(live);
    if (words <= highest)
      return;
    Live sources, seen;
    for (Value value : live)
      addSources(value, sources, seen);
    highest = std::max(highest, std::min(words, wordsOf(sources)));
  }

  /// `live` is what is used behind the block.
  void visit(Block &block, Live live) {
    for (Operation &op : llvm::reverse(block)) {
      live.insert(op.result_begin(), op.result_end());
      note(live);
      for (Value result : op.getResults())
        live.erase(result);
      for (Region &region : op.getRegions()) {
        // What a loop uses it needs again in its next round.
        region.walk([&](Operation *inner) {
          for (Value operand : inner->getOperands())
            if (!region.isAncestor(operand.getParentRegion()))
              live.insert(operand);
        });
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner, live);
      live.insert(op.operand_begin(), op.operand_end());
      note(live);
    }
  }

  CheapValues cheap;
  int64_t highest = 0;
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
