// Atomics, one element at a time, with the machine's own atomic instructions.
#include "backends/common/Atomics.h"
#include "backends/common/math/VectorMath.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

LogicalResult KernelEmitter::emitAtomic(Operation *op) {
  Nest nest;
  nest.isScalar = true;
  auto shape = shapeOf(op->getResult(0).getType());
  nest.shape.assign(shape.begin(), shape.end());
  nest.roots.push_back({Root::Kind::Atomic, op, {}, nullptr});
  if (!shape.empty())
    setBuffer(op->getResult(0), allocateFor(op->getResult(0)));
  NestEmitter emitter(*this, nest);
  if (shape.empty())
    emitter.emitScalarAtomic(op);
  else
    emitter.emit();
  return success(!hasFailed);
}

/// The old element; whatever is in its place where `mask` is false.
llvm::Value *KernelEmitter::emitAtomicElement(Operation *op, ArrayRef<llvm::Value *> operands,
                                              llvm::Value *mask,
                                              llvm::function_ref<void(llvm::Value *)> check) {
  auto emitAccess = [&]() -> llvm::Value * {
    check(operands[0]);
    if (auto cas = dyn_cast<AtomicCasOp>(op))
      return atomicCas(cas, operands[0], operands[1], operands[2]);
    return atomicRmw(cast<AtomicRmwOp>(op), operands[0], operands[1]);
  };
  if (!mask)
    return emitAccess();
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, "skipped");
  auto *active = llvm::BasicBlock::Create(builder.getContext(), "active", kernel, exit);
  start->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(start);
  builder.CreateCondBr(mask, active, exit);
  builder.SetInsertPoint(active);
  llvm::Instruction *end = builder.CreateBr(exit);
  builder.SetInsertPoint(end);
  llvm::Value *old = emitAccess();
  builder.SetInsertPoint(exit, exit->begin());
  auto *merged = builder.CreatePHI(old->getType(), 2);
  merged->addIncoming(llvm::Constant::getNullValue(old->getType()), start);
  merged->addIncoming(old, end->getParent());
  builder.SetInsertPoint(after);
  return merged;
}

llvm::Value *KernelEmitter::atomicRmw(AtomicRmwOp op, llvm::Value *address, llvm::Value *value) {
  Type element = elementTypeOf(op.getType());
  llvm::AtomicOrdering ordering = backends::orderingOf(op.getSemantic());
  auto kind = backends::binaryOf(op.getKind());
  llvm::Align align(memoryBytes(element));
  auto narrow = narrowFloatOf(element);
  if (!narrow || op.getKind() == RmwKind::Exchange) {
    llvm::Value *bits = toMemory(value, element);
    auto *access = builder.CreateAtomicRMW(kind, address, bits, align, ordering);
    return fromMemory(access, element);
  }
  // Narrow floats: compute outside memory, and try until no other thread came between.
  llvm::Type *bitsType = memoryType(element);
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  auto *seen = builder.CreateAlignedLoad(bitsType, address, align);
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock *exit = start->splitBasicBlock(after, "exchanged");
  auto *retry = llvm::BasicBlock::Create(builder.getContext(), "retry", kernel, exit);
  start->getTerminator()->setSuccessor(0, retry);
  builder.SetInsertPoint(retry);
  auto *expected = builder.CreatePHI(bitsType, 2);
  expected->addIncoming(seen, start);
  llvm::Value *old = emitWiden(builder, host, expected, *narrow), *next;
  if (op.getKind() == RmwKind::FAdd)
    next = builder.CreateFAdd(old, value);
  else
    next = emitFloatExtremum(
        builder, op.getKind() == RmwKind::FMax ? FloatExtremum::MaxNum : FloatExtremum::MinNum, old,
        value);
  auto *exchange = builder.CreateAtomicCmpXchg(
      address, expected, emitNarrow(builder, host, next, *narrow), align, ordering,
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
  expected->addIncoming(builder.CreateExtractValue(exchange, 0), retry);
  builder.CreateCondBr(builder.CreateExtractValue(exchange, 1), exit, retry);
  builder.SetInsertPoint(after);
  return old;
}

llvm::Value *KernelEmitter::atomicCas(AtomicCasOp op, llvm::Value *address, llvm::Value *expected,
                                      llvm::Value *desired) {
  Type element = elementTypeOf(op.getType());
  llvm::AtomicOrdering ordering = backends::orderingOf(op.getSemantic());
  auto toBits = [&](llvm::Value *value) -> llvm::Value * {
    llvm::Value *bits = toMemory(value, element);
    return bits->getType()->isFloatingPointTy()
               ? builder.CreateBitCast(bits,
                                       builder.getIntNTy(bits->getType()->getScalarSizeInBits()))
               : bits;
  };
  auto *exchange = builder.CreateAtomicCmpXchg(
      address, toBits(expected), toBits(desired), llvm::Align(memoryBytes(element)), ordering,
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
  llvm::Value *old = builder.CreateExtractValue(exchange, 0);
  return fromMemory(builder.CreateBitCast(old, memoryType(element)), element);
}

} // namespace sectile::cpu
