// Accesses one element at a time, and accesses that may stop the kernel: scalar loads and stores,
// atomics, assertions, bounds checks.
#include "backends/DebugSites.h"
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/NestEmitter.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

void NestEmitter::emitScalarAccess(Operation *op) {
  anchors.push_back(&*builder.GetInsertPoint());
  if (auto load = dyn_cast<LoadOp>(op))
    return kernel.setScalar(load, evaluateLoad(load, {}));
  auto store = cast<StoreOp>(op);
  emitStore(store, {}, kernel.scalar(store.getValue()), accessMask(store.getMask(), {}));
}

void NestEmitter::emitScalarAtomic(Operation *op) {
  anchors.push_back(&*builder.GetInsertPoint());
  SmallVector<llvm::Value *, 3> operands;
  for (Value operand : op->getOperands())
    operands.push_back(kernel.scalar(operand));
  emitEffect(op, {}, operands);
}

void NestEmitter::emitEffect(Operation *op, const Coordinate &at,
                             ArrayRef<llvm::Value *> operands) {
  if (auto check = dyn_cast<AssertOp>(op)) {
    llvm::Value *isWrong = builder.CreateNot(operands[0]);
    if (isWrong->getType()->isVectorTy()) {
      if (body.laneMask)
        isWrong = builder.CreateAnd(isWrong, body.laneMask);
      isWrong = builder.CreateOrReduce(isWrong);
    }
    unsigned site =
        kernel.addTrapSite(op, backends::TrapSite::Kind::Assertion, {}, check.getMessage());
    kernel.emitTrapIf(isWrong, site, kernel.index(0));
    return;
  }
  auto rmw = dyn_cast<AtomicRmwOp>(op);
  llvm::Value *mask = rmw && rmw.getMask() ? operands[2] : nullptr;
  noteAccess(op, "atomic", op->getOperand(0), Access::Single, 0, mask != nullptr);
  llvm::Value *result = kernel.emitAtomicElement(op, operands, mask, [&](llvm::Value *address) {
    Type element = elementTypeOf(op->getResult(0).getType());
    checkAccess(op, backends::TrapSite::Kind::Atomic, op->getOperand(0), address, 1, nullptr,
                kernel.memoryBytes(element));
  });
  if (TileBuffer *buffer = kernel.buffer(op->getResult(0)))
    writeBuffer(*buffer, at, result);
  else
    kernel.setScalar(op->getResult(0), result);
}

void NestEmitter::checkAccess(Operation *op, backends::TrapSite::Kind kind, Value pointer,
                              llvm::Value *addresses, int64_t span, llvm::Value *mask,
                              unsigned bytes) {
  if (!kernel.options.checkBounds)
    return;
  unsigned level = std::max(levelOf(addresses), mask ? levelOf(mask) : 0);
  std::optional<llvm::IRBuilderBase::InsertPointGuard> guard;
  if (level + 1 < anchors.size()) {
    guard.emplace(builder);
    builder.SetInsertPoint(anchors[level]);
  }
  llvm::Type *word = builder.getInt64Ty();
  if (span > 1 && !addresses->getType()->isVectorTy()) {
    llvm::SmallVector<llvm::Constant *, 16> offsets;
    for (int64_t lane = 0; lane < span; ++lane)
      offsets.push_back(builder.getInt64(lane * bytes));
    addresses =
        builder.CreateGEP(builder.getInt8Ty(), addresses, llvm::ConstantVector::get(offsets));
  }
  bool isVector = addresses->getType()->isVectorTy();
  auto count = llvm::ElementCount::getFixed(span);
  llvm::Type *numbers = isVector ? (llvm::Type *)llvm::VectorType::get(word, count) : word;
  llvm::Value *begin = builder.CreatePtrToInt(addresses, numbers);
  auto same = [&](llvm::Value *value) {
    return isVector ? builder.CreateVectorSplat(count, value) : value;
  };

  unsigned site = kernel.addTrapSite(op, kind, pointer);
  int32_t argument = kernel.image.trapSites[site].argument;
  llvm::Value *ranges = kernel.argumentRanges();
  llvm::Value *isInside = nullptr;
  for (unsigned number = 0; number < kernel.argumentCount(); ++number) {
    if (argument >= 0 ? int32_t(number) != argument : !kernel.isPointerArgument(number))
      continue;
    auto field = [&](unsigned which) {
      llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(word, ranges, 2 * number + which);
      return same(builder.CreateAlignedLoad(word, slot, llvm::Align(8)));
    };
    llvm::Value *low = field(0), *high = field(1);
    llvm::Value *fits = builder.CreateAnd(
        builder.CreateAnd(builder.CreateICmpUGE(begin, low), builder.CreateICmpULE(begin, high)),
        builder.CreateICmpUGE(builder.CreateSub(high, begin),
                              llvm::ConstantInt::get(numbers, bytes)));
    isInside = isInside ? builder.CreateOr(isInside, fits) : fits;
  }
  llvm::Value *isWrong = isInside ? builder.CreateNot(isInside) : same(builder.getTrue());
  if (mask)
    isWrong =
        builder.CreateAnd(isWrong, isVector && !mask->getType()->isVectorTy() ? same(mask) : mask);
  trapAtFirst(site, begin, isWrong);
}

/// Reports the number (an i64, or one for each lane) of the first lane that is wrong.
void NestEmitter::trapAtFirst(unsigned site, llvm::Value *numbers, llvm::Value *isWrong) {
  auto *vector = dyn_cast<llvm::FixedVectorType>(isWrong->getType());
  if (!vector)
    return kernel.emitTrapIf(isWrong, site, numbers);
  unsigned span = vector->getNumElements();
  llvm::Value *bits = builder.CreateZExt(builder.CreateBitCast(isWrong, builder.getIntNTy(span)),
                                         builder.getInt64Ty());
  llvm::Value *lane = builder.CreateAnd(
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder.getFalse()),
      kernel.index(span - 1));
  kernel.emitTrapIf(builder.CreateOrReduce(isWrong), site,
                    builder.CreateExtractElement(numbers, lane));
}

void NestEmitter::checkGather(GatherOp op, llvm::Value *index, llvm::Value *laneMask) {
  if (!kernel.options.checkBounds)
    return;
  // The trap splits a block, perhaps the one at hand: only an instruction says where to go on.
  llvm::Instruction *here = &*builder.GetInsertPoint();
  llvm::DebugLoc place = builder.getCurrentDebugLocation();
  unsigned level = std::max(levelOf(index), laneMask ? levelOf(laneMask) : 0);
  if (level + 1 < anchors.size())
    builder.SetInsertPoint(anchors[level]);
  llvm::Type *wide = index->getType()->getWithNewType(builder.getInt64Ty());
  index = builder.CreateSExtOrTrunc(index, wide);
  int64_t extent = shapeOf(op.getSrc().getType())[op.getAxis()];
  llvm::Value *isWrong = builder.CreateICmpUGE(index, llvm::ConstantInt::get(wide, extent));
  if (laneMask && wide->isVectorTy())
    isWrong = builder.CreateAnd(isWrong, laneMask);
  trapAtFirst(backends::addGatherSite(kernel.image, op), index, isWrong);
  builder.SetInsertPoint(here);
  builder.SetCurrentDebugLocation(place);
}

} // namespace sectile::cpu
