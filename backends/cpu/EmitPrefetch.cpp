// While a product runs, memory fetches the operands of the next round. A block of a matrix is short
// rows far apart, which no processor foresees: without this, a product of 64x64x64 waits for its
// operands as long as it multiplies.
//
//   loop {
//     p = addresses of the operand's rows              lhs: one for each row of the block
//     distance = p[0] - p[0] of the round before       no matter how the kernel advances them
//     copy the operand; multiply, and meanwhile prefetch p[i] + distance, a few with each block
//   }
//
// A kernel that reads no next block there (its addresses come from a table) asks in vain: a
// prefetch does not fault.
#include "backends/cpu/DotKernel.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

/// Larger operands leave the second-level cache before they are read, and are read for so many
/// multiplications that fetching them hardly counts.
constexpr int64_t kMostBytes = 256 << 10;

/// The load that an operand is made of, through casts of its elements.
LoadOp loadOf(Value operand) {
  while (Operation *op = operand.getDefiningOp()) {
    if (auto load = dyn_cast<LoadOp>(op))
      return load;
    if (op->getNumOperands() != 1 || !KernelEmitter::isElementwise(op))
      return {};
    operand = op->getOperand(0);
  }
  return {};
}

/// The dimension along which neighbours are neighbours in memory, if rows are whole cache lines.
std::optional<unsigned> contiguousDimension(const optimizer::IndexAnalysis &facts, LoadOp load) {
  const auto &dimensions = facts.of(load.getPtr()).dimensions;
  for (auto [number, fact] : llvm::enumerate(dimensions))
    if (!fact.strideSymbol && fact.stride == 1 && fact.run >= 16)
      return number;
  return std::nullopt;
}

} // namespace

void KernelEmitter::prepareOperandsAhead(scf::ForOp loop) {
  for (auto dot : loop.getBody()->getOps<DotOp>())
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      LoadOp load = loadOf(operand);
      auto type = cast<RankedTensorType>(operand.getType());
      if (!load || load->getBlock() != loop.getBody() || type.getRank() != 2 ||
          loop.isDefinedOutsideOfLoop(load.getPtr()) || earlierAddress.contains(operand) ||
          shapeOf(load.getType()) != type.getShape() ||
          type.getNumElements() * memoryBytes(elementTypeOf(load.getType())) > kMostBytes ||
          !contiguousDimension(indexFacts(), load))
        continue;
      TileBuffer *slot = allocate({1}, builder.getPtrTy());
      mark(builder.CreateAlignedStore(llvm::Constant::getNullValue(builder.getPtrTy()), slot->base,
                                      llvm::Align(8)),
           MemoryKind::Scratch);
      earlierAddress[operand] = slot;
    }
}

TileBuffer *KernelEmitter::rowAddresses(Value pointers, unsigned along) {
  SmallVector<int64_t, 2> column(shapeOf(pointers.getType()));
  column[along] = 1;
  TileBuffer *addresses = allocate(column, builder.getPtrTy());
  writeTile(pointers, addresses);
  return addresses;
}

std::optional<DotPrefetch> KernelEmitter::operandAhead(Value operand, TileBuffer *addresses) {
  TileBuffer *slot = earlierAddress.lookup(operand);
  if (!slot)
    return std::nullopt;
  LoadOp load = loadOf(operand);
  // Neighbours may be neighbours in memory along both dimensions; addresses are those of rows.
  const unsigned along = addresses ? 1 : *contiguousDimension(indexFacts(), load);
  auto extents = shapeOf(load.getType());
  DotPrefetch prefetch;
  prefetch.rows = extents[1 - along];
  prefetch.rowBytes = extents[along] * memoryBytes(elementTypeOf(load.getType()));
  if (!addresses)
    addresses = rowAddresses(load.getPtr(), along);
  prefetch.addresses = addresses->base;
  auto *pointer = builder.getPtrTy();
  auto *first = builder.CreateAlignedLoad(pointer, addresses->base, llvm::Align(8));
  auto *earlier = builder.CreateAlignedLoad(pointer, slot->base, llvm::Align(8));
  auto *kept = builder.CreateAlignedStore(first, slot->base, llvm::Align(8));
  for (llvm::Instruction *access :
       {(llvm::Instruction *)first, (llvm::Instruction *)earlier, (llvm::Instruction *)kept})
    mark(access, MemoryKind::Scratch);
  auto *number = builder.getInt64Ty();
  llvm::Value *moved = builder.CreateSub(builder.CreatePtrToInt(first, number),
                                         builder.CreatePtrToInt(earlier, number));
  // In the first round the distance is not known: its own rows are fetched ahead of their use.
  // After the last round there is no other.
  prefetch.distance = builder.CreateSelect(builder.CreateIsNull(earlier), index(0), moved);
  auto loop = cast<scf::ForOp>(load->getParentOp());
  llvm::Value *left =
      builder.CreateSub(scalar(loop.getUpperBound()), scalar(loop.getInductionVar()));
  prefetch.isUseful = builder.CreateICmpUGT(left, scalar(loop.getStep()));
  return prefetch;
}

} // namespace sectile::cpu
