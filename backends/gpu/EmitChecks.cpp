// What stops a kernel: assertions and accesses out of bounds (backends/plain/DeviceAbi.h).
//
// Threads vote before they leave, and before anything is accessed: all of a program return, or
// none. So no thread is missed at a later barrier or shuffle, and loops end.
#include "backends/DebugSites.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/ScratchBytes.h"
#include "backends/plain/DeviceAbi.h"
#include "lang/tile/SourcePlace.h"

#include "llvm/IR/MDBuilder.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using backends::RecordBuffer;

int32_t GpuEmitter::findHiddenParameters() {
  int32_t hidden = 0;
  function.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op) && options.checkBounds)
      hidden |= backends::kHiddenRanges;
    if (isVotedOn(op, options)) {
      hidden |= backends::kHiddenRecords;
      mayStop = true;
    }
    if (isa<PrintOp>(op))
      hidden |= backends::kHiddenRecords;
    if (auto worker = dyn_cast<WorkerIdOp>(op))
      hidden |= worker.getOfGrid() ? backends::kHiddenGrid : backends::kHiddenPrograms;
    hasAsyncCopies |= isa<AsyncCopyOp>(op);
    hasBufferProducts |= isa<DotAsyncOp>(op);
  });
  return hidden;
}

llvm::Value *GpuEmitter::recordField(uint64_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), recordBuffer, offset);
}

llvm::Value *GpuEmitter::isOneLane() {
  if (!oneLaneValue) {
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    oneLaneValue = target.oneLane(builder);
  }
  return oneLaneValue;
}

llvm::Value *GpuEmitter::isFirstThread() {
  if (isInProducer)
    return isProducerWarp ? isOneLane() : builder.getTrue();
  if (teams == 1)
    return builder.CreateICmpEQ(threadIndex(), builder.getInt32(0));
  return builder.CreateAnd(isOneLane(),
                           builder.CreateICmpEQ(uniformWarpIndex(), builder.getInt32(0)));
}

llvm::Value *GpuEmitter::isFirstOfBlock() {
  llvm::Value *first = isFirstThread();
  return teams > 1
             ? builder.CreateAnd(first, builder.CreateICmpEQ(teamIndex(), builder.getInt32(0)))
             : first;
}

llvm::Value *GpuEmitter::linearProgram() {
  auto wide = [&](llvm::Value *value) { return builder.CreateZExt(value, builder.getInt64Ty()); };
  llvm::Value *x = wide(target.programIndex(builder, 0)),
              *y = wide(target.programIndex(builder, 1)),
              *z = wide(target.programIndex(builder, 2));
  llvm::Value *row = builder.CreateMul(wide(target.programCount(builder, 1)), z);
  row = builder.CreateMul(wide(target.programCount(builder, 0)), builder.CreateAdd(y, row));
  return builder.CreateAdd(x, row);
}

//===-- Stopping ------------------------------------------------------------------------------===//

llvm::Value *GpuEmitter::anyThread(llvm::Value *truth) {
  llvm::Value *scratch = plan.voteOffset >= 0 ? sharedAddress(plan.voteOffset) : nullptr;
  return target.anyThread(builder, truth, threadCount(), scratch, barrierOfTeam());
}

void GpuEmitter::returnIf(llvm::Value *condition, llvm::function_ref<void()> before) {
  llvm::BasicBlock *leave = newBlock("leave"), *rest = newBlock("goes.on");
  builder.CreateCondBr(condition, leave, rest,
                       llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights());
  builder.SetInsertPoint(leave);
  before();
  const AsyncCopies *copies = hasAsyncCopies ? target.asyncCopies() : nullptr;
  if (copies) // they write to memory the program gives back
    copies->wait(builder, 0);
  const BufferProducts *products = hasBufferProducts ? target.bufferProducts() : nullptr;
  if (products) // they read it
    (void)products->wait(builder, 0, {}, /*isPinned=*/false);
  builder.CreateRetVoid();
  builder.SetInsertPoint(rest);
}

void GpuEmitter::returnIfStopped() {
  if (!mayStop)
    return;
  GlobalAccess access;
  access.address = recordField(offsetof(RecordBuffer, stop));
  access.type = builder.getInt32Ty();
  access.predicate = isFirstThread();
  access.isVolatile = true;
  llvm::Value *stop = target.load(builder, access, builder.getInt32(0));
  llvm::Value *isStopped = builder.CreateICmpNE(stop, builder.getInt32(0));
  returnIf(anyThread(isStopped), [] {});
}

/// The first report of the launch is the one that is kept.
void GpuEmitter::reportTrap(unsigned site, llvm::Value *address) {
  AtomicAccess access;
  access.address = recordField(offsetof(RecordBuffer, stop));
  access.semantic = MemorySemantic::Relaxed;
  llvm::Value *old = target.atomicCas(builder, access, builder.getInt32(0), builder.getInt32(1),
                                      IntegerType::get(function.getContext(), 32));
  emitIf(builder.CreateICmpEQ(old, builder.getInt32(0)), [&] {
    auto write = [&](uint64_t offset, llvm::Value *value) {
      builder.CreateAlignedStore(value, recordField(offset), llvm::Align(4));
    };
    write(offsetof(RecordBuffer, trapSite), builder.getInt32(site));
    write(offsetof(RecordBuffer, trapProgram), linearProgram());
    write(offsetof(RecordBuffer, trapAddress), address);
  });
}

/// i1: of the numbers in all threads this one is the least, found bit by bit from the top. ~0 takes
/// no part; others are below `limit`.
llvm::Value *GpuEmitter::isLeast(llvm::Value *number, int64_t limit) {
  llvm::Value *takesPart = builder.CreateICmpNE(number, builder.getInt32(~0u));
  llvm::BasicBlock *before = builder.GetInsertBlock(), *vote = newBlock("vote"),
                   *done = newBlock("voted");
  builder.CreateBr(vote);
  builder.SetInsertPoint(vote);
  auto *bit = builder.CreatePHI(builder.getInt32Ty(), 2);
  auto *candidate = builder.CreatePHI(builder.getInt1Ty(), 2);
  llvm::Value *isSet = builder.CreateTrunc(builder.CreateLShr(number, bit), builder.getInt1Ty());
  llvm::Value *isLower = builder.CreateAnd(candidate, builder.CreateNot(isSet));
  llvm::Value *any = anyThread(isLower);
  llvm::Value *remains = builder.CreateSelect(any, isLower, candidate);
  bit->addIncoming(builder.getInt32(llvm::Log2_64_Ceil(std::max<int64_t>(limit, 2)) - 1), before);
  candidate->addIncoming(takesPart, before);
  bit->addIncoming(builder.CreateSub(bit, builder.getInt32(1)), vote);
  candidate->addIncoming(remains, vote);
  builder.CreateCondBr(builder.CreateICmpEQ(bit, builder.getInt32(0)), done, vote);
  builder.SetInsertPoint(done);
  return remains;
}

//===-- Assertions ----------------------------------------------------------------------------===//

LogicalResult GpuEmitter::emitAssert(AssertOp op) {
  if (!options.debug)
    return success();
  Value condition = op.getCondition();
  llvm::Value *isWrong = builder.getFalse();
  if (auto tile = dyn_cast<RankedTensorType>(condition.getType())) {
    const layout::TileLayout &layout = layoutOf(condition);
    const Registers &values = registers(condition);
    for (int reg : layout.uniqueRegisters())
      if (!layout.isPaddingRegister(reg))
        isWrong =
            builder.CreateOr(isWrong, both(builder.CreateNot(values[reg]), isInside(layout, reg)));
  } else {
    isWrong = builder.CreateNot(scalar(condition));
  }
  if (options.fatalAsserts) {
    llvm::BasicBlock *fails = newBlock("fails"), *rest = newBlock("goes.on");
    builder.CreateCondBr(isWrong, fails, rest,
                         llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights());
    builder.SetInsertPoint(fails);
    target.failAssertion(builder, op.getMessage(), lang::sourcePlaceOf(op.getLoc()));
    builder.CreateUnreachable();
    builder.SetInsertPoint(rest);
    // What is accessed next may be held by other threads than what is asserted of it.
    if (isa<RankedTensorType>(condition.getType()) && threadCount() > target.laneCount)
      barrier();
    return success(!hasFailed);
  }
  unsigned site = addTrapSite(image, op, backends::TrapSite::Kind::Assertion, {}, op.getMessage());
  returnIf(anyThread(isWrong),
           [&] { emitIf(isFirstThread(), [&] { reportTrap(site, builder.getInt64(0)); }); });
  return success(!hasFailed);
}

//===-- Bounds --------------------------------------------------------------------------------===//

std::pair<llvm::Value *, llvm::Value *> GpuEmitter::argumentRange(unsigned argument) {
  auto &known = argumentRanges[argument];
  if (known.first)
    return known;
  llvm::IRBuilderBase::InsertPointGuard guard(builder);
  builder.SetInsertPoint(entryEnd);
  auto word = [&](unsigned number) {
    llvm::Value *address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), rangeTable, number);
    return builder.CreateAlignedLoad(builder.getInt64Ty(), address, llvm::Align(8));
  };
  return known = {word(2 * argument), word(2 * argument + 1)};
}

/// i1: `bytes` from `address` (i64) on lie within the argument; within some one if it is not known.
llvm::Value *GpuEmitter::isWithinArguments(llvm::Value *address, unsigned bytes,
                                           std::optional<unsigned> argument) {
  llvm::Value *isWithin = builder.getFalse();
  for (BlockArgument candidate : function.getArguments()) {
    unsigned number = candidate.getArgNumber();
    if (!isa<PtrType>(candidate.getType()) || (argument && number != *argument))
      continue;
    auto [begin, end] = argumentRange(number);
    llvm::Value *fits = builder.CreateAnd(builder.CreateICmpUGE(address, begin),
                                          builder.CreateICmpULE(address, end));
    llvm::Value *room = builder.CreateSub(end, address);
    fits = builder.CreateAnd(fits, builder.CreateICmpUGE(room, builder.getInt64(bytes)));
    isWithin = builder.CreateOr(isWithin, fits);
  }
  return isWithin;
}

void GpuEmitter::checkAccess(Operation *op, backends::TrapSite::Kind kind, Value pointer,
                             Value mask) {
  if (!options.checkBounds)
    return;
  if (!provenance)
    provenance.emplace(function);
  auto argument = provenance->argumentOf(pointer);
  unsigned site = addTrapSite(image, op, kind, argument);
  unsigned bytes = memoryBytes(cast<PtrType>(elementTypeOf(pointer.getType())).getPointee());
  auto isWrong = [&](llvm::Value *address, llvm::Value *isAccessed) {
    return both(builder.CreateNot(isWithinArguments(address, bytes, argument)), isAccessed);
  };

  auto tile = dyn_cast<RankedTensorType>(pointer.getType());
  if (!tile) {
    llvm::Value *address = builder.CreatePtrToInt(scalar(pointer), builder.getInt64Ty());
    llvm::Value *wrong = isWrong(address, mask ? scalar(mask) : nullptr);
    returnIf(anyThread(wrong),
             [&] { emitIf(isFirstThread(), [&] { reportTrap(site, address); }); });
    return;
  }

  SmallVector<CheckedElement, 16> elements;
  const layout::TileLayout &layout = layoutOf(pointer);
  Registers masks = mask ? registers(mask) : Registers();
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    llvm::Value *address = builder.CreatePtrToInt(addressOf(pointer, reg), builder.getInt64Ty());
    llvm::Value *isAccessed = both(mask ? masks[reg] : nullptr, isInside(layout, reg));
    elements.push_back({reg, address, isWrong(address, isAccessed)});
  }
  returnAtFirst(site, layout, elements);
}

void GpuEmitter::checkGather(GatherOp op) {
  if (!options.checkBounds)
    return;
  unsigned site = addGatherSite(image, op);
  const layout::TileLayout &layout = layoutOf(op.getIndex());
  const Registers &indices = registers(op.getIndex());
  llvm::Value *extent = builder.getInt64(shapeOf(op.getSrc().getType())[op.getAxis()]);
  SmallVector<CheckedElement, 16> elements;
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    llvm::Value *index = builder.CreateSExtOrTrunc(indices[reg], builder.getInt64Ty());
    llvm::Value *isWrong = builder.CreateICmpUGE(index, extent);
    elements.push_back({reg, index, both(isWrong, isInside(layout, reg))});
  }
  returnAtFirst(site, layout, elements);
}

/// Where some element is wrong all threads leave, and the row-major first one is reported.
void GpuEmitter::returnAtFirst(unsigned site, const layout::TileLayout &layout,
                               ArrayRef<CheckedElement> elements) {
  llvm::Value *any = builder.getFalse();
  for (const CheckedElement &element : elements)
    any = builder.CreateOr(any, element.isWrong);
  int64_t count = 1;
  for (int64_t extent : layout.shape())
    count *= extent;
  returnIf(anyThread(any), [&] {
    llvm::Value *first = builder.getInt32(~0u), *address = builder.getInt64(0);
    for (const CheckedElement &element : elements) {
      llvm::Value *number = rowMajorNumber(layout, element.reg);
      llvm::Value *isFirst =
          builder.CreateAnd(element.isWrong, builder.CreateICmpULT(number, first));
      first = builder.CreateSelect(isFirst, number, first);
      address = builder.CreateSelect(isFirst, element.number, address);
    }
    emitIf(isLeast(first, count), [&] { reportTrap(site, address); });
  });
}

} // namespace sectile::gpu
