// Matrix products: operands become dense buffers of the type computed in, then DotKernel.h does the
// work.
#include "backends/cpu/DotKernel.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

/// Rounds every element of a buffer to a narrow float.
void KernelEmitter::roundBuffer(TileBuffer *buffer, NarrowFloat kind) {
  unsigned lanes = host.laneCount(32);
  auto *type = llvm::FixedVectorType::get(buffer->element, lanes);
  EmittedLoop loop = beginLoop(index(0), index(buffer->bytes / 4), index(lanes), {}, false);
  llvm::Value *address = builder.CreateGEP(buffer->element, buffer->base, loop.induction);
  auto *load = builder.CreateAlignedLoad(type, address, llvm::Align(4));
  builder.CreateAlignedStore(emitRound(builder, host, load, kind), address, llvm::Align(4));
  endLoop(loop, {});
}

LogicalResult KernelEmitter::emitDotStep(DotOp op) {
  Type element = op.getType().getElementType();
  llvm::Type *compute = registerType(element);
  if (compute->isIntegerTy() && compute->getIntegerBitWidth() < 32)
    compute = builder.getInt32Ty();
  int64_t frameAtEntry = frameBytes;
  // The accumulator outlives the operands' copies.
  TileBuffer *acc = nullptr;
  if (plan.dotsInPlace.contains(op)) {
    auto loop = cast<scf::ForOp>(op->getParentOp());
    for (auto [argument, value] :
         llvm::zip(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands()))
      if (value == op.getResult())
        acc = buffer(argument);
  }
  if (!acc) {
    acc = allocate(op.getType().getShape(), compute);
    frameAtEntry = frameBytes;
  }
  TileBuffer *lhs = operandBuffer(op.getLhs(), compute);
  TileBuffer *rhs = operandBuffer(op.getRhs(), compute);
  writeTile(op.getAcc(), acc);
  setBuffer(op.getResult(), acc);

  unsigned rank = op.getType().getRank();
  auto lhsShape = shapeOf(op.getLhs().getType());
  DotShape shape{};
  shape.rows = acc->shape[rank - 2];
  shape.columns = acc->shape[rank - 1];
  shape.depth = lhsShape[rank - 1];
  shape.element = compute;
  shape.lhsStride = lhs->strides[rank - 2];
  shape.rhsStride = rhs->strides[rank - 2];
  shape.accStride = acc->strides[rank - 2];
  if (rank == 2) {
    emitDotHere(shape, lhs->base, rhs->base, acc->base);
  } else {
    EmittedLoop loop = beginLoop(index(0), index(acc->shape[0]), index(1), {}, false);
    auto matrix = [&](TileBuffer *buffer) {
      return builder.CreateGEP(buffer->element, buffer->base,
                               builder.CreateMul(loop.induction, index(buffer->strides[0])));
    };
    emitDotHere(shape, matrix(lhs), matrix(rhs), matrix(acc));
    endLoop(loop, {});
  }
  if (auto narrow = narrowFloatOf(element))
    roundBuffer(acc, *narrow);
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

/// emitDot leaves the builder at the end of a block without terminator; ours always has one.
void KernelEmitter::emitDotHere(const DotShape &shape, llvm::Value *lhs, llvm::Value *rhs,
                                llvm::Value *acc) {
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, "product");
  start->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(start);
  emitDot(builder, host, shape, lhs, rhs, acc);
  builder.CreateBr(exit);
  builder.SetInsertPoint(after);
}

} // namespace sectile::cpu
