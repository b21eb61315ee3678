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

/// The word to multiply in; Element when the operands are widened first.
DotWord KernelEmitter::wordOf(DotOp op, llvm::Type *compute) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  Type left = lhs.getElementType(), right = elementTypeOf(op.getRhs().getType());
  llvm::Type *narrow = left.isBF16()       ? builder.getBFloatTy()
                       : left.isInteger(8) ? (llvm::Type *)builder.getInt8Ty()
                                           : nullptr;
  if (left != right || !narrow || lhs.getRank() != 2 ||
      elementTypeOf(op.getType()) != (left.isBF16() ? Type(Float32Type::get(op.getContext()))
                                                    : Type(IntegerType::get(op.getContext(), 32))))
    return DotWord::Element;
  return dotWordFor(host, narrow, compute, lhs.getShape()[1]);
}

/// rhs with rows interleaved into words, in panels.
TileBuffer *KernelEmitter::packedBuffer(TileBuffer *rows, DotWord word) {
  int64_t depth = rows->shape[0], columns = rows->shape[1];
  int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
  TileBuffer *packed =
      allocate({panels, depth / elementsIn(word), kPanelColumns}, builder.getInt32Ty());
  inOwnBlocks("packed", [&] {
    packRows(builder, host, word, depth, columns, rows->base, rows->strides[0], packed->base);
  });
  return packed;
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
  unsigned rank = op.getType().getRank();
  auto lhsShape = shapeOf(op.getLhs().getType());
  DotShape shape{};
  shape.word = wordOf(op, compute);
  llvm::Type *held =
      shape.word == DotWord::Element ? compute : memoryType(elementTypeOf(op.getLhs().getType()));
  TileBuffer *lhs = operandBuffer(op.getLhs(), held);
  TileBuffer *rhs = operandBuffer(op.getRhs(), held);
  if (shape.word != DotWord::Element)
    rhs = packedBuffer(rhs, shape.word);
  writeTile(op.getAcc(), acc);
  setBuffer(op.getResult(), acc);

  shape.rows = acc->shape[rank - 2];
  shape.columns = acc->shape[rank - 1];
  shape.depth = lhsShape[rank - 1] / elementsIn(shape.word);
  shape.element = compute;
  shape.lhsStride = lhs->strides[rank - 2] / elementsIn(shape.word);
  if (shape.word == DotWord::Element)
    shape.rhsStride = rhs->strides[rank - 2];
  shape.accStride = acc->strides[rank - 2];
  if (rank == 2) {
    for (Value operand : {op.getLhs(), op.getRhs()})
      if (auto prefetch = operandAhead(op, operand))
        shape.prefetches.push_back(*prefetch);
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

void KernelEmitter::emitDotHere(const DotShape &shape, llvm::Value *lhs, llvm::Value *rhs,
                                llvm::Value *acc) {
  inOwnBlocks("product", [&] { emitDot(builder, host, shape, lhs, rhs, acc); });
  usesTileRegisters |= cpu::usesTileRegisters(host, shape);
}

/// What DotKernel.h emits ends in a block without terminator; ours always have one.
void KernelEmitter::inOwnBlocks(const char *name, llvm::function_ref<void()> emit) {
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, name);
  start->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(start);
  emit();
  builder.CreateBr(exit);
  builder.SetInsertPoint(after);
}

} // namespace sectile::cpu
