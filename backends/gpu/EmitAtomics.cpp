// Atomics: each element once, by the first of the threads that hold copies of it; what was there
// goes to the others by way of shared memory.
#include "backends/gpu/GpuEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

static bool isOneOf(MemorySemantic semantic, MemorySemantic one, MemorySemantic other) {
  return semantic == one || semantic == other;
}

/// Whether the launch promises that the memory is the GPU's own. Where that would give other code,
/// the image says so.
bool GpuEmitter::isDeviceMemory(AtomicRmwOp op) {
  if (!provenance)
    provenance.emplace(function);
  std::optional<unsigned> argument = provenance->argumentOf(op.getPtr());
  if (!argument) // from anywhere
    return false;
  if (options.deviceMemory)
    return true;
  Type element = elementTypeOf(op.getResult().getType());
  if (!target.wantsDeviceMemory(op.getKind(), element, op.getScope()))
    return false;
  std::vector<uint32_t> &wanted = image.atomicArguments;
  if (!llvm::is_contained(wanted, *argument))
    wanted.push_back(*argument);
  addRemark(image.remarks, op->getLoc(), "atomic-loop",
            "a loop of compare and swap; launches whose arrays lie in the GPU's own memory run a "
            "variant with an instruction",
            {{"argument", int64_t(*argument)}});
  return false;
}

LogicalResult GpuEmitter::emitAtomic(Operation *op) {
  Value pointer = op->getOperand(0), result = op->getResult(0);
  Type element = elementTypeOf(result.getType());
  auto rmw = dyn_cast<AtomicRmwOp>(op);
  auto cas = dyn_cast<AtomicCasOp>(op);
  const MemorySemantic semantic = rmw ? rmw.getSemantic() : cas.getSemantic();
  AtomicAccess access;
  access.semantic = semantic;
  access.scope = rmw ? rmw.getScope() : cas.getScope();
  Registers values = valuesOf(op->getOperand(1));
  Registers desired = cas ? valuesOf(cas.getDesired()) : Registers();
  Value mask = rmw ? rmw.getMask() : Value();
  Registers masks = mask ? valuesOf(mask) : Registers();
  bool isTile = isa<RankedTensorType>(result.getType()), isUsed = !result.use_empty();
  checkAccess(op, backends::TrapSite::Kind::Atomic, pointer, mask);
  if (rmw)
    access.isDeviceMemory = isDeviceMemory(rmw);

  /// What was in memory at neighbouring elements; null if nobody asks.
  auto atomic = [&](ArrayRef<int> group, llvm::Value *predicate) {
    llvm::BasicBlock *start = builder.GetInsertBlock();
    llvm::Value *old = nullptr;
    llvm::BasicBlock *end = nullptr;
    emitIf(predicate, [&] {
      int first = group.front();
      access.address = isTile ? addressOf(pointer, first) : scalar(pointer);
      if (rmw) {
        SmallVector<llvm::Value *, 8> operands;
        for (int reg : group)
          operands.push_back(values[reg]);
        old = target.atomicRmw(builder, access, rmw.getKind(), vectorOf(builder, operands), element,
                               isUsed);
      } else {
        old = target.atomicCas(builder, access, values[first], desired[first], element);
      }
      end = builder.GetInsertBlock();
    });
    if (!predicate || !isUsed)
      return isUsed ? old : nullptr;
    auto *merged = builder.CreatePHI(old->getType(), 2);
    merged->addIncoming(llvm::Constant::getNullValue(old->getType()), start);
    merged->addIncoming(old, end);
    return static_cast<llvm::Value *>(merged);
  };

  if (!isTile) {
    noteAccess(op, "atomic", 1, memoryBytes(element));
    llvm::Value *first = isFirstThread();
    llvm::Value *old = atomic({0}, both(masks.empty() ? nullptr : masks[0], first));
    if (isUsed) {
      llvm::Value *slot = sharedAddress(plan.scratchOf(op));
      llvm::Align align(memoryBytes(element));
      emitIf(first, [&] { builder.CreateAlignedStore(toMemory(old, element), slot, align); });
      barrierOfAllMemory(); // other threads' accesses follow the atomic
      old = fromMemory(builder.CreateAlignedLoad(memoryType(element), slot, align), element);
      setScalar(result, old);
    }
    return success(!hasFailed);
  }

  const TileLayout &layout = layoutOf(result);
  unsigned bytes = memoryBytes(element);
  unsigned mostElements = rmw ? target.atomicWidth(rmw.getKind(), element) : 1;
  // One element is compared and swapped at a time.
  AccessAttr decision = rmw ? decided(op, rmw.getAccessAttr())
                            : AccessAttr::get(op->getContext(), /*axis=*/0, /*width=*/1);
  if (!decision)
    return failure();
  const int64_t width = decision.getWidth();
  noteAccess(op, "atomic", width, mostElements * bytes);
  llvm::SmallDenseSet<int> unique;
  for (int reg : layout.uniqueRegisters())
    unique.insert(reg);
  SmallVector<layout::RegisterGroup> groups;
  for (const layout::RegisterGroup &group : layout.accessGroups(decision.getAxis(), width))
    if (!layout.isPaddingRegister(group.front()) && unique.contains(group.front()))
      groups.push_back(group);

  // One fence on either side of several is as good as an order for each of them.
  const bool isFenced = groups.size() > 1;
  if (isFenced)
    access.semantic = MemorySemantic::Relaxed;
  if (isFenced && isOneOf(semantic, MemorySemantic::Release, MemorySemantic::AcquireRelease))
    target.fence(builder, access.scope);
  llvm::Value *firstCopy = isFirstCopy(layout);
  llvm::Type *type = registerType(element);
  Registers olds(layout.registersPerThread(), paddingOf(type));
  for (const layout::RegisterGroup &group : groups) {
    llvm::Value *predicate = both(masks.empty() ? nullptr : masks[group.front()], firstCopy);
    llvm::Value *old = atomic(group, both(predicate, isInside(layout, group.front())));
    if (isUsed)
      for (auto [lane, reg] : llvm::enumerate(group))
        olds[reg] = elementOf(builder, old, lane);
  }
  if (isFenced && isOneOf(semantic, MemorySemantic::Acquire, MemorySemantic::AcquireRelease))
    target.fence(builder, access.scope);

  // Registers that are copies within the thread.
  if (isUsed)
    for (int reg = 0; reg < layout.registersPerThread(); ++reg)
      if (auto same = layout.registerHolding(layout.constantOf(reg)))
        olds[reg] = olds[*same];
  setRegisters(result, std::move(olds));
  if (int64_t scratch = plan.scratchOf(op); isUsed && scratch >= 0) {
    storeRowMajor(result, scratch);
    barrierOfAllMemory();
    loadRowMajor(result, scratch);
  }
  return success(!hasFailed);
}

} // namespace sectile::gpu
