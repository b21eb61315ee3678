// Loads and stores, as wide as AssignAccessWidths decided.
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/RegisterAddress.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

AccessAttr GpuEmitter::decided(Operation *op, AccessAttr access) {
  if (!access)
    fail(op, "has no width of accesses (--assign-access-widths)");
  return access;
}

llvm::Value *GpuEmitter::addressOf(Value pointers, unsigned reg) {
  unsigned bytes = memoryBytes(cast<PtrType>(elementTypeOf(pointers.getType())).getPointee());
  RegisterAddress relative =
      relativeAddress(layoutOf(pointers), indexFacts().of(pointers), bytes, int(reg));
  llvm::Value *address = registers(pointers)[relative.base];
  for (auto [symbol, factor] : relative.scaled) {
    llvm::Value *steps = builder.CreateSExtOrTrunc(scalar(symbol), builder.getInt64Ty());
    llvm::Value *offset = builder.CreateMul(steps, builder.getInt64(uint64_t(factor)));
    address = builder.CreatePtrAdd(address, offset);
  }
  if (relative.bytes)
    address = builder.CreatePtrAdd(address, builder.getInt64(uint64_t(relative.bytes)));
  return address;
}

void GpuEmitter::setPlace(GlobalAccess &access, Value pointers, unsigned reg) {
  auto add = pointers.getDefiningOp<PtrAddOp>();
  if (!add || !add.getInBuffer()) {
    access.address = addressOf(pointers, reg);
    return;
  }
  unsigned bytes = memoryBytes(cast<PtrType>(elementTypeOf(pointers.getType())).getPointee());
  RegisterAddress relative =
      relativeAddress(layoutOf(pointers), indexFacts().of(pointers), bytes, int(reg));
  access.buffer = scalar(add.getPtr().getDefiningOp<SplatOp>().getSrc());
  llvm::Value *offset =
      builder.CreateMul(registers(add.getOffset())[relative.base], builder.getInt32(bytes));
  for (auto [symbol, factor] : relative.scaled) {
    llvm::Value *steps = builder.CreateSExtOrTrunc(scalar(symbol), builder.getInt32Ty());
    offset = builder.CreateAdd(
        offset, builder.CreateMul(steps, builder.getInt32(uint32_t(uint64_t(factor)))));
  }
  // An instruction adds to an offset what is not negative, and far below what a buffer reaches.
  constexpr int64_t kMostConstant = 1 << 20;
  const bool isConstant = relative.bytes >= 0 && relative.bytes <= kMostConstant;
  access.constantOffset = isConstant ? int32_t(relative.bytes) : 0;
  if (!isConstant)
    offset = builder.CreateAdd(offset, builder.getInt32(uint32_t(uint64_t(relative.bytes))));
  access.offset = offset;
}

/// Returns the word of 32 bits that the value is a byte of, and which, as conversions within warps
/// leave them.
static std::optional<std::pair<llvm::Value *, int>> asByteOfWord(llvm::Value *value) {
  auto *byte = llvm::dyn_cast<llvm::TruncInst>(value);
  if (!byte || !byte->getType()->isIntegerTy(8) || !byte->getSrcTy()->isIntegerTy(32))
    return std::nullopt;
  llvm::Value *word = byte->getOperand(0);
  auto *shift = llvm::dyn_cast<llvm::BinaryOperator>(word);
  if (!shift || shift->getOpcode() != llvm::Instruction::LShr)
    return std::pair(word, 0);
  auto *bits = llvm::dyn_cast<llvm::ConstantInt>(shift->getOperand(1));
  if (!bits || bits->getZExtValue() % 8 != 0)
    return std::nullopt;
  return std::pair(shift->getOperand(0), int(bits->getZExtValue() / 8));
}

/// Returns the word of these bytes where they come from two others: an instruction on most GPUs.
static llvm::Value *joinedFromWords(llvm::IRBuilderBase &builder,
                                    llvm::ArrayRef<llvm::Value *> bytes) {
  llvm::SmallSetVector<llvm::Value *, 2> words;
  llvm::SmallVector<int, 4> places;
  for (llvm::Value *byte : bytes) {
    auto found = asByteOfWord(byte);
    if (!found || (words.insert(found->first) && words.size() > 2))
      return nullptr;
    const int64_t number = llvm::find(words, found->first) - words.begin();
    places.push_back(int(4 * number) + found->second);
  }
  auto *type = llvm::FixedVectorType::get(builder.getInt8Ty(), 4);
  llvm::Value *first = builder.CreateBitCast(words.front(), type),
              *second = builder.CreateBitCast(words.back(), type);
  return builder.CreateBitCast(builder.CreateShuffleVector(first, second, places),
                               builder.getInt32Ty());
}

llvm::Value *wordOf(llvm::IRBuilderBase &builder, ArrayRef<llvm::Value *> elements) {
  if (elements.size() == 4)
    if (llvm::Value *joined = joinedFromWords(builder, elements))
      return joined;
  return builder.CreateBitCast(vectorOf(builder, elements), builder.getInt32Ty());
}

llvm::Value *vectorOf(llvm::IRBuilderBase &builder, ArrayRef<llvm::Value *> values) {
  if (values.size() == 1)
    return values.front();
  auto *type = llvm::FixedVectorType::get(values.front()->getType(), values.size());
  llvm::Value *vector = llvm::PoisonValue::get(type);
  for (auto [lane, value] : llvm::enumerate(values))
    vector = builder.CreateInsertElement(vector, value, uint64_t(lane));
  return vector;
}

llvm::Value *elementOf(llvm::IRBuilderBase &builder, llvm::Value *vector, unsigned lane) {
  if (!vector->getType()->isVectorTy())
    return vector;
  return builder.CreateExtractElement(vector, uint64_t(lane));
}

static bool isNever(llvm::Value *predicate) {
  auto *constant = dyn_cast_or_null<llvm::ConstantInt>(predicate);
  return constant && constant->isZero();
}
static llvm::Value *orAlways(llvm::Value *predicate) {
  auto *constant = dyn_cast_or_null<llvm::ConstantInt>(predicate);
  return constant && constant->isOne() ? nullptr : predicate;
}

LogicalResult GpuEmitter::emitLoad(LoadOp op) {
  Type element = elementTypeOf(op.getType());
  llvm::Type *memory = memoryType(element);
  GlobalAccess access;
  access.cache = op.getCache();
  access.eviction = op.getEviction();
  access.isVolatile = op.getIsVolatile();
  checkAccess(op, backends::TrapSite::Kind::Load, op.getPtr(), op.getMask());
  if (!isa<RankedTensorType>(op.getType())) {
    noteAccess(op, "load", 1, target.maxAccessBytes);
    access.address = scalar(op.getPtr());
    access.type = memory;
    access.predicate = op.getMask() ? orAlways(scalar(op.getMask())) : nullptr;
    llvm::Value *other = op.getOther() ? toMemory(scalar(op.getOther()), element) : nullptr;
    setScalar(op, fromMemory(target.load(builder, access, other), element));
    return success();
  }

  const TileLayout &layout = layoutOf(op);
  AccessAttr decision = decided(op, op.getAccessAttr());
  if (!decision)
    return failure();
  const int64_t width = decision.getWidth();
  noteAccess(op, "load", width, target.maxAccessBytes);
  Registers masks = op.getMask() ? registers(op.getMask()) : Registers();
  Registers others = op.getOther() ? registers(op.getOther()) : Registers();
  Registers loaded(layout.registersPerThread(), paddingOf(registerType(element)));
  for (const layout::RegisterGroup &group : layout.accessGroups(decision.getAxis(), width)) {
    int first = group.front();
    if (layout.isPaddingRegister(first))
      continue;
    setPlace(access, op.getPtr(), first);
    access.type = width == 1 ? memory : llvm::FixedVectorType::get(memory, width);
    llvm::Value *mask = masks.empty() ? nullptr : orAlways(masks[first]);
    access.predicate = both(mask, isInside(layout, first));
    llvm::Value *other = nullptr;
    if (!others.empty() && access.predicate) {
      SmallVector<llvm::Value *, 8> values;
      for (int reg : group)
        values.push_back(toMemory(others[reg], element));
      other = vectorOf(builder, values);
    }
    llvm::Value *value =
        isNever(access.predicate) && other ? other : target.load(builder, access, other);
    for (auto [lane, reg] : llvm::enumerate(group))
      loaded[reg] = fromMemory(elementOf(builder, value, lane), element);
  }
  setRegisters(op, std::move(loaded));
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitStore(StoreOp op) {
  Type element = elementTypeOf(op.getValue().getType());
  llvm::Type *memory = memoryType(element);
  GlobalAccess access;
  access.cache = op.getCache();
  access.eviction = op.getEviction();
  checkAccess(op, backends::TrapSite::Kind::Store, op.getPtr(), op.getMask());
  if (!isa<RankedTensorType>(op.getValue().getType())) {
    noteAccess(op, "store", 1, target.maxAccessBytes);
    access.address = scalar(op.getPtr());
    access.type = memory;
    llvm::Value *mask = op.getMask() ? orAlways(scalar(op.getMask())) : nullptr;
    access.predicate = both(mask, isFirstThread());
    target.store(builder, access, toMemory(scalar(op.getValue()), element));
    return success();
  }

  const TileLayout &layout = layoutOf(op.getValue());
  AccessAttr decision = decided(op, op.getAccessAttr());
  if (!decision)
    return failure();
  const int64_t width = decision.getWidth();
  noteAccess(op, "store", width, target.maxAccessBytes);
  const Registers &values = registers(op.getValue());
  Registers masks = op.getMask() ? registers(op.getMask()) : Registers();
  llvm::Value *firstCopy = isFirstCopy(layout);
  llvm::SmallDenseSet<int> unique;
  for (int reg : layout.uniqueRegisters())
    unique.insert(reg);
  auto storeAll = [&](int64_t elements) {
    for (const layout::RegisterGroup &group : layout.accessGroups(decision.getAxis(), elements)) {
      int first = group.front();
      if (layout.isPaddingRegister(first) || !unique.contains(first))
        continue;
      setPlace(access, op.getPtr(), first);
      access.type = elements == 1 ? memory : llvm::FixedVectorType::get(memory, elements);
      llvm::Value *mask = masks.empty() ? nullptr : orAlways(masks[first]);
      access.predicate = both(both(mask, firstCopy), isInside(layout, first));
      if (isNever(access.predicate))
        continue;
      SmallVector<llvm::Value *, 8> stored;
      for (int reg : group)
        stored.push_back(toMemory(values[reg], element));
      target.store(builder, access, vectorOf(builder, stored));
    }
  };
  if (!decision.getPartial()) {
    storeAll(width);
    return success(!hasFailed);
  }
  // One branch for all of a thread's accesses: few tiles of a kernel lie where rows end.
  llvm::Value *isCut = builder.getFalse();
  for (const layout::RegisterGroup &group : layout.accessGroups(decision.getAxis(), width))
    if (!layout.isPaddingRegister(group.front()))
      isCut = builder.CreateOr(isCut, builder.CreateXor(masks[group.front()], masks[group.back()]));
  llvm::BasicBlock *apart = newBlock("apart"), *whole = newBlock("whole"),
                   *after = newBlock("stored");
  builder.CreateCondBr(isCut, apart, whole);
  builder.SetInsertPoint(apart);
  storeAll(1);
  builder.CreateBr(after);
  builder.SetInsertPoint(whole);
  storeAll(width);
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  return success(!hasFailed);
}

} // namespace sectile::gpu
