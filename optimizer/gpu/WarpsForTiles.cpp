#include "optimizer/gpu/WarpsForSums.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Registers of a thread besides those of the sums, without which code with products spills.
static constexpr int64_t kBesideSums = 24;

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

int64_t warpsForSums(func::FuncOp function, const GpuShape &shape) {
  int64_t words = 0;
  bool ofThreads = false;
  function.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      words = std::max(words, wordsKept(loop));
    ofThreads |= isa<InlineAsmOp>(op);
  });
  // Text of the kernel's own may count threads.
  if (ofThreads)
    return shape.warpCount;
  auto roomOf = [&](int64_t warps) {
    const int64_t threads = warps * shape.laneCount;
    return threads * (std::min(shape.threadWords, shape.registerWords / threads) - kBesideSums);
  };
  int64_t warps = shape.warpCount;
  while (words > roomOf(warps) && roomOf(2 * warps) > roomOf(warps))
    warps *= 2;
  return warps;
}

} // namespace sectile::optimizer
