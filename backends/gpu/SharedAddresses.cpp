#include "backends/gpu/SharedAddresses.h"

#include "backends/gpu/IndexBits.h"

#include <set>

namespace sectile::gpu {

llvm::Type *scratchType(llvm::Type *type) {
  if (type->isPointerTy())
    return llvm::Type::getInt64Ty(type->getContext());
  if (type->isIntegerTy(1))
    return llvm::Type::getInt8Ty(type->getContext());
  return type;
}

unsigned scratchBytesOf(llvm::Type *type) {
  return scratchType(type)->getScalarSizeInBits() / 8;
}

static llvm::Value *toScratch(llvm::IRBuilderBase &builder, llvm::Value *value) {
  llvm::Type *type = scratchType(value->getType());
  if (value->getType()->isPointerTy())
    return builder.CreatePtrToInt(value, type);
  return value->getType() == type ? value : builder.CreateZExt(value, type);
}

static llvm::Value *fromScratch(llvm::IRBuilderBase &builder, llvm::Value *value,
                                llvm::Type *type) {
  if (type->isPointerTy())
    return builder.CreateIntToPtr(value, type);
  return value->getType() == type ? value : builder.CreateTrunc(value, type);
}

SharedAddresses::SharedAddresses(GpuEmitter &emitter, layout::SharedAccess access, llvm::Type *type,
                                 int64_t offset)
    : SharedAddresses(emitter, std::move(access), type, emitter.sharedAddress(offset)) {}

SharedAddresses::SharedAddresses(GpuEmitter &emitter, layout::SharedAccess access, llvm::Type *type,
                                 llvm::Value *start, Of of)
    : emitter(emitter), builder(emitter.builder), accesses(std::move(access)), type(type),
      start(start), of(of), elementBytes(scratchBytesOf(type)) {
  if (of == Of::FirstLanes)
    accesses.laneBases.assign(accesses.laneBases.size(), 0);
  for (const auto *bases : {&accesses.laneBases, &accesses.warpBases})
    for (int64_t basis : *bases)
      threadBits |= basis;
}

llvm::Value *SharedAddresses::emitIndexed(llvm::ArrayRef<int64_t> laneBases,
                                          llvm::ArrayRef<int64_t> warpBases) {
  llvm::Value *sum = nullptr;
  if (llvm::any_of(laneBases, [](int64_t basis) { return basis != 0; }))
    sum = emitXorOfBases(builder, emitter.laneIndex(), laneBases);
  if (llvm::any_of(warpBases, [](int64_t basis) { return basis != 0; }))
    sum = emitXor(
        builder, sum,
        emitXorOfBases(builder,
                       of == Of::FirstLanes ? emitter.uniformWarpIndex() : emitter.warpIndex(),
                       warpBases));
  return sum;
}

/// In bytes, when nothing is padded: shifting the bases scales without a multiplication.
llvm::Value *SharedAddresses::threadOffset() {
  if (!hasThread) {
    int64_t scale = accesses.padding.interval ? 1 : elementBytes;
    auto scaled = [&](llvm::ArrayRef<int64_t> bases) {
      llvm::SmallVector<int64_t, 8> all;
      for (int64_t basis : bases)
        all.push_back(basis * scale);
      return all;
    };
    thread = emitIndexed(scaled(accesses.laneBases), scaled(accesses.warpBases));
    hasThread = true;
  }
  return thread;
}

/// Bits of a group's xor part that the thread's offset lacks are added, not exchanged.
int64_t SharedAddresses::swizzleOf(const layout::SharedAccessGroup &group) const {
  return accesses.padding.interval ? group.xorPart : group.xorPart & threadBits;
}

llvm::Value *SharedAddresses::base(int64_t swizzle) {
  llvm::Value *&made = byXor[swizzle];
  if (made)
    return made;
  llvm::Value *bytes = threadOffset();
  if (accesses.padding.interval) {
    if (swizzle)
      bytes = emitXor(builder, bytes, builder.getInt32(swizzle));
    if (bytes) {
      llvm::Value *rows = builder.CreateLShr(bytes, llvm::Log2_64(accesses.padding.interval));
      bytes = builder.CreateAdd(bytes,
                                builder.CreateMul(rows, builder.getInt32(accesses.padding.amount)));
      bytes = builder.CreateMul(bytes, builder.getInt32(elementBytes));
    }
  } else if (swizzle) {
    bytes = builder.CreateXor(bytes, builder.getInt32(swizzle * elementBytes));
  }
  made = bytes ? builder.CreateGEP(builder.getInt8Ty(), start, bytes) : start;
  return made;
}

void SharedAddresses::prepare() {
  for (const layout::SharedAccessGroup &group : accesses.groups)
    base(swizzleOf(group));
}

llvm::Value *SharedAddresses::address(unsigned number, llvm::Value *more) {
  const layout::SharedAccessGroup &group = accesses.groups[number];
  int64_t swizzle = swizzleOf(group);
  int64_t constant = (group.addPart + (group.xorPart ^ swizzle)) * elementBytes;
  llvm::Value *pointer = base(swizzle);
  for (const layout::SharedStride &stride : accesses.strides) {
    llvm::Value *steps = emitIndexed(stride.laneBases, stride.warpBases);
    if (stride.groupBases[number])
      steps = emitXor(builder, steps, builder.getInt32(stride.groupBases[number]));
    if (steps && !stride.groupLimits.empty())
      steps = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, steps,
                                            builder.getInt32(stride.groupLimits[number]));
    if (steps)
      pointer = builder.CreateGEP(
          builder.getInt8Ty(), pointer,
          builder.CreateMul(steps, builder.getInt32(stride.stride * elementBytes)));
  }
  if (more)
    pointer = builder.CreateGEP(builder.getInt8Ty(), pointer, more);
  if (constant)
    pointer = builder.CreateConstGEP1_32(builder.getInt8Ty(), pointer, constant);
  return pointer;
}

/// Several narrow elements are moved as words of 32 bits.
static llvm::Type *wordsOf(llvm::FixedVectorType *type) {
  unsigned bits = type->getScalarSizeInBits(), total = bits * type->getNumElements();
  llvm::Type *word = llvm::Type::getInt32Ty(type->getContext());
  if (bits >= 32)
    return type;
  if (total < 32)
    return llvm::Type::getIntNTy(type->getContext(), total);
  return total == 32 ? word : llvm::FixedVectorType::get(word, total / 32);
}

void SharedAddresses::store(unsigned number, const Registers &values, llvm::Value *more) {
  const layout::RegisterGroup &group = accesses.groups[number].registers;
  llvm::Align align(group.size() * elementBytes);
  llvm::Value *where = address(number, more);
  if (group.size() == 1) {
    builder.CreateAlignedStore(toScratch(builder, values[group.front()]), where, align);
    return;
  }
  auto *vectorType = llvm::FixedVectorType::get(scratchType(type), group.size());
  llvm::Value *vector = llvm::PoisonValue::get(vectorType);
  for (auto [index, reg] : llvm::enumerate(group))
    vector = builder.CreateInsertElement(vector, toScratch(builder, values[reg]), index);
  builder.CreateAlignedStore(builder.CreateBitCast(vector, wordsOf(vectorType)), where, align);
}

llvm::SmallVector<llvm::Value *, 4> SharedAddresses::loadWords(unsigned number) {
  return emitter.target.matrixLoads()->load(builder, address(number), *matrix);
}

void SharedAddresses::load(unsigned number, Registers &values, llvm::Value *more) {
  const layout::RegisterGroup &group = accesses.groups[number].registers;
  if (areMatrices()) {
    assert(!more);
    const unsigned perWord = 32 / matrix->elementBits;
    llvm::Type *held = scratchType(type);
    if (perWord > 1)
      held = llvm::FixedVectorType::get(held, perWord);
    for (auto [position, word] : llvm::enumerate(loadWords(number))) {
      llvm::Value *elements = builder.CreateBitCast(word, held);
      for (unsigned i = 0; i < perWord; ++i)
        values[group[position * perWord + i]] = fromScratch(
            builder, perWord > 1 ? builder.CreateExtractElement(elements, uint64_t(i)) : elements,
            type);
    }
    return;
  }
  llvm::Align align(group.size() * elementBytes);
  llvm::Value *where = address(number, more);
  auto read = [&](llvm::Type *read) {
    llvm::LoadInst *load = builder.CreateAlignedLoad(read, where, align);
    load->setAAMetadata(aliasing);
    return load;
  };
  if (group.size() == 1) {
    values[group.front()] = fromScratch(builder, read(scratchType(type)), type);
    return;
  }
  auto *vectorType = llvm::FixedVectorType::get(scratchType(type), group.size());
  llvm::Value *loaded = builder.CreateBitCast(read(wordsOf(vectorType)), vectorType);
  for (auto [index, reg] : llvm::enumerate(group))
    values[reg] = fromScratch(builder, builder.CreateExtractElement(loaded, index), type);
}

void SharedAddresses::storeAll(const Registers &values, llvm::Value *more) {
  std::set<std::pair<int64_t, int64_t>> written;
  for (auto [number, group] : llvm::enumerate(accesses.groups))
    if (!accesses.strides.empty() || written.insert({group.xorPart, group.addPart}).second)
      store(number, values, more);
}

void SharedAddresses::loadAll(Registers &values, llvm::Value *more) {
  for (unsigned number = 0; number < accesses.groups.size(); ++number)
    load(number, values, more);
}

} // namespace sectile::gpu
