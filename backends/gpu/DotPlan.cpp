#include "backends/gpu/DotPlan.h"

#include "optimizer/gpu/DotLayouts.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

MultiplyAddOperands::MultiplyAddOperands(DotOp op) {
  constexpr int64_t kMostBytes = 16; // of one access to shared memory
  auto bytesOf = [](RankedTensorType type) -> int64_t {
    return std::max(1u, type.getElementTypeBitWidth() / 8);
  };
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  const int64_t depth = lhs.getShape().back(), bytes = bytesOf(lhs);
  steps = std::gcd(depth, kMostBytes / bytes);
  // Rows of whole accesses are apart by one more.
  const bool isPadded = depth * bytes % kMostBytes == 0;
  lhsPitch = isPadded ? depth + kMostBytes / bytes : depth;
  lhsBytes = llvm::alignTo(lhs.getNumElements() / depth * lhsPitch * bytes, kMostBytes);
  rhsBytes = llvm::alignTo(rhs.getNumElements() * bytesOf(rhs), kMostBytes);
}

layout::MatrixInstructions matrixInstructions(DotOp op, const GpuTarget &target) {
  const MatrixProducts *products = target.matrixProducts();
  auto elements = optimizer::matrixElements(op);
  if (!products || !elements)
    return {};
  layout::MatrixInstructions found = products->instructions(*elements);
  if (int64_t extent = products->preferredExtent()) {
    auto shape = op.getType().getShape().take_back(2);
    auto isPreferred = [&](const layout::MatrixInstruction *one) {
      return one->m == extent && one->n == extent && shape[0] % one->m == 0 &&
             shape[1] % one->n == 0;
    };
    if (llvm::any_of(found, isPreferred))
      llvm::erase_if(found, [&](const auto *one) { return !isPreferred(one); });
  }
  layout::MatrixInstructions all;
  if (const BufferProducts *ofBuffers = target.bufferProducts())
    all = ofBuffers->instructions(*elements);
  llvm::append_range(all, found);
  if (!target.tf32Rounding())
    llvm::erase_if(all, [](const layout::MatrixInstruction *instruction) {
      return instruction->elements.lhs == layout::MatrixElement::Tf32;
    });
  return all;
}

const layout::MatrixInstruction *instructionOf(DotOp op, const GpuTarget &target) {
  for (const layout::MatrixInstruction *instruction : matrixInstructions(op, target))
    if (instruction->name == op.getInstruction())
      return instruction;
  return nullptr;
}

const layout::MatrixInstruction *instructionOf(DotAsyncOp op, const GpuTarget &target) {
  const BufferProducts *products = target.bufferProducts();
  return products ? products->named(op.getInstruction()) : nullptr;
}

bool readsAhead(DotOp op) {
  auto isStoredBefore = [&](Value tile) {
    auto load = tile.getDefiningOp<BufferLoadOp>();
    return load && llvm::any_of(load.getBuffer().getUsers(), [&](Operation *user) {
             return isa<BufferStoreOp>(user) && user->getBlock() == load->getBlock() &&
                    user->isBeforeInBlock(load);
           });
  };
  return !isStoredBefore(op.getLhs()) && !isStoredBefore(op.getRhs());
}

int64_t dotScratchBytes(DotOp op) {
  if (op.getInstruction())
    return 0;
  const MultiplyAddOperands operands(op);
  return operands.lhsBytes + operands.rhsBytes;
}

} // namespace sectile::gpu
