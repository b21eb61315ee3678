// Atomics: each element once, by the first of the threads that hold copies of it; what was there
// goes to the others by way of shared memory.
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/SharedMemoryPlan.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

int64_t atomicScratchBytes(Operation *op) {
  Value result = op->getResult(0);
  if (result.use_empty())
    return 0;
  Type element = elementTypeOf(result.getType());
  int64_t bytes = isa<PtrType>(element) ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
  auto tile = dyn_cast<RankedTensorType>(result.getType());
  if (!tile)
    return bytes;
  const TileLayout *layout = tile::layoutOf(tile);
  return layout && layout->threadsHoldCopies() ? bytes * tile.getNumElements() : 0;
}

LogicalResult GpuEmitter::emitAtomic(Operation *op) {
  Value pointer = op->getOperand(0), result = op->getResult(0);
  Type element = elementTypeOf(result.getType());
  auto rmw = dyn_cast<AtomicRmwOp>(op);
  auto cas = dyn_cast<AtomicCasOp>(op);
  AtomicAccess access;
  access.semantic = rmw ? rmw.getSemantic() : cas.getSemantic();
  access.scope = rmw ? rmw.getScope() : cas.getScope();
  Registers values = valuesOf(op->getOperand(1));
  Registers desired = cas ? valuesOf(cas.getDesired()) : Registers();
  Registers masks = rmw && rmw.getMask() ? valuesOf(rmw.getMask()) : Registers();
  bool isTile = isa<RankedTensorType>(result.getType()), isUsed = !result.use_empty();
  llvm::Type *type = registerType(element);
  checkAccess(op, backends::TrapSite::Kind::Atomic, pointer, rmw ? rmw.getMask() : Value());

  auto one = [&](unsigned reg, llvm::Value *predicate) {
    llvm::BasicBlock *start = builder.GetInsertBlock();
    llvm::Value *old = nullptr;
    llvm::BasicBlock *end = nullptr;
    emitIf(predicate, [&] {
      access.address = isTile ? addressOf(pointer, reg) : scalar(pointer);
      old = rmw ? target.atomicRmw(builder, access, rmw.getKind(), values[reg], element, isUsed)
                : target.atomicCas(builder, access, values[reg], desired[reg], element);
      end = builder.GetInsertBlock();
    });
    if (!predicate)
      return old;
    auto *merged = builder.CreatePHI(type, 2);
    merged->addIncoming(llvm::Constant::getNullValue(type), start);
    merged->addIncoming(old, end);
    return static_cast<llvm::Value *>(merged);
  };

  if (!isTile) {
    llvm::Value *first = isFirstThread();
    llvm::Value *old = one(0, both(masks.empty() ? nullptr : masks[0], first));
    if (isUsed) {
      llvm::Value *slot = sharedAddress(plan.scratchOf(op));
      llvm::Align align(memoryBytes(element));
      emitIf(first, [&] { builder.CreateAlignedStore(toMemory(old, element), slot, align); });
      barrier();
      old = fromMemory(builder.CreateAlignedLoad(memoryType(element), slot, align), element);
    }
    setScalar(result, old);
    return success(!hasFailed);
  }

  const TileLayout &layout = layoutOf(result);
  llvm::Value *firstCopy = isFirstCopy(layout);
  Registers olds(layout.registersPerThread(), llvm::PoisonValue::get(type));
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    llvm::Value *predicate = both(masks.empty() ? nullptr : masks[reg], firstCopy);
    olds[reg] = one(reg, both(predicate, isInside(layout, reg)));
  }
  // Registers that are copies within the thread.
  if (isUsed)
    for (int reg = 0; reg < layout.registersPerThread(); ++reg)
      if (auto same = layout.registerHolding(layout.constantOf(reg)))
        olds[reg] = olds[*same];
  setRegisters(result, std::move(olds));
  if (int64_t scratch = plan.scratchOf(op); isUsed && scratch >= 0) {
    storeRowMajor(result, scratch);
    barrier();
    loadRowMajor(result, scratch);
  }
  return success(!hasFailed);
}

} // namespace sectile::gpu
