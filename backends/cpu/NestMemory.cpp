// Loads, stores and buffers inside a nest: how addresses change from lane to lane decides between a
// vector access, one scalar for all lanes, and gather or scatter.
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

//===-- From lane to lane ---------------------------------------------------------------------===//

std::optional<int64_t> NestEmitter::runStep(Value value, const Coordinate &at) {
  const auto &facts = kernel.indexFacts().of(value).dimensions;
  if (facts.size() != at.size())
    return std::nullopt;
  std::optional<int64_t> step;
  for (auto [fact, index] : llvm::zip(facts, at)) {
    if (index.isScalar())
      continue;
    // A vector that starts at a multiple of its length stays inside one aligned run.
    if (step || !index.isRun() || fact.strideSymbol || fact.run % lanes || index.divisor % lanes)
      return std::nullopt;
    step = fact.stride;
  }
  return step;
}

std::optional<int64_t> NestEmitter::laneStep(Value value, const Coordinate &at, bool &isLocal) {
  if (!isa<RankedTensorType>(value.getType()) || isUniform(at))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto operandStep = [&](unsigned number) { return laneStep(op->getOperand(number), at, isLocal); };
  auto constantOf = [&](unsigned number) -> std::optional<int64_t> {
    APInt constant;
    Value operand = op->getOperand(number);
    if (auto splat = operand.getDefiningOp<SplatOp>())
      operand = splat.getSrc();
    if (matchPattern(operand, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    return std::nullopt;
  };
  // What may wrap goes on counting only as far as the index analysis says.
  auto byFacts = [&]() -> std::optional<int64_t> {
    if (llvm::all_of(llvm::seq(op->getNumOperands()),
                     [&](unsigned number) { return operandStep(number) == 0; }))
      return 0;
    auto step =
        isa<IntegerType>(elementTypeOf(value.getType())) ? runStep(value, at) : std::nullopt;
    isLocal |= step.has_value();
    return step;
  };
  auto integer = dyn_cast<IntegerType>(elementTypeOf(value.getType()));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) && integer && integer.getWidth() < 32)
    return byFacts();
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](arith::ConstantOp constant) -> std::optional<int64_t> {
        auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
        return elements && elements.isSplat() ? std::optional<int64_t>(0) : std::nullopt;
      })
      .Case([&](ArangeOp) -> std::optional<int64_t> {
        return at[0].vector ? std::nullopt : std::optional<int64_t>(at[0].step);
      })
      .Case([&](SplatOp) { return 0; })
      .Case<BroadcastOp, ExpandDimsOp, TransposeOp, ReshapeOp, FlipOp>([&](Operation *) {
        return laneStep(op->getOperand(0), sourceCoordinate(op, 0, at), isLocal);
      })
      .Case<arith::AddIOp, PtrAddOp>([&](Operation *) -> std::optional<int64_t> {
        auto lhs = operandStep(0), rhs = operandStep(1);
        return lhs && rhs ? std::optional(*lhs + *rhs) : std::nullopt;
      })
      .Case([&](arith::SubIOp) -> std::optional<int64_t> {
        auto lhs = operandStep(0), rhs = operandStep(1);
        return lhs && rhs ? std::optional(*lhs - *rhs) : std::nullopt;
      })
      .Case([&](arith::MulIOp) -> std::optional<int64_t> {
        auto lhs = operandStep(0), rhs = operandStep(1);
        if (!lhs || !rhs)
          return std::nullopt;
        if (*lhs == 0 && *rhs == 0)
          return 0;
        if (auto factor = constantOf(1); factor && *rhs == 0)
          return *lhs * *factor;
        if (auto factor = constantOf(0); factor && *lhs == 0)
          return *rhs * *factor;
        return std::nullopt;
      })
      .Case<arith::ExtSIOp, arith::IndexCastOp, HintOp, PtrCastOp>(
          [&](Operation *) -> std::optional<int64_t> {
            auto step = operandStep(0);
            // A cast pointer counts in other elements.
            if (isa<PtrCastOp>(op) && step != 0)
              return std::nullopt;
            return step;
          })
      .Case([&](arith::ExtUIOp extension) -> std::optional<int64_t> {
        // A number below zero is a large one as unsigned, and the next ones may be small.
        const optimizer::IndexFacts &facts = kernel.indexFacts().of(extension.getIn());
        return facts.isNonNegative || facts.low >= 0 ? operandStep(0) : byFacts();
      })
      .Case([&](arith::TruncIOp) { return byFacts(); })
      .Default([&](Operation *) -> std::optional<int64_t> {
        if (!KernelEmitter::isElementwise(op) && !isa<LoadOp>(op))
          return std::nullopt;
        return byFacts();
      });
}

llvm::Value *NestEmitter::firstAddress(Value pointer, const Coordinate &at, int64_t step,
                                       bool isLocal) {
  // One address for the whole row, computed outside the vector loop, plus the distance along it.
  int runs = 0;
  Coordinate start(at);
  llvm::Value *distance = nullptr;
  for (LaneIndex &index : start) {
    if (index.isScalar())
      continue;
    ++runs;
    distance = index.isRun() ? index.base : nullptr;
    index = {kernel.index(0), 0, nullptr, 1 << 16};
  }
  if (runs == 1 && distance && step && !isLocal) {
    llvm::Value *row = evaluate(pointer, start);
    Type pointee = cast<PtrType>(elementTypeOf(pointer.getType())).getPointee();
    unsigned level = std::max(levelOf(row), levelOf(distance));
    return emitAt(level, [&] {
      llvm::Value *offset = step == 1 ? distance : builder.CreateMul(distance, kernel.index(step));
      return builder.CreateGEP(kernel.memoryType(pointee), row, offset);
    });
  }
  Coordinate first(at);
  for (LaneIndex &index : first) {
    if (index.vector)
      return nullptr;
    index.step = 0;
  }
  return evaluate(pointer, first);
}

llvm::Value *NestEmitter::accessMask(Value mask, const Coordinate &at) {
  llvm::Value *active = mask ? evaluate(mask, at) : nullptr;
  if (active)
    if (auto *constant = dyn_cast<llvm::ConstantInt>(active); constant && constant->isOne())
      active = nullptr;
  if (!body.laneMask || isUniform(at))
    return active;
  if (!active)
    return body.laneMask;
  return arithmetic(llvm::Instruction::And, active, body.laneMask);
}

//===-- Loads and stores ----------------------------------------------------------------------===//

llvm::Value *NestEmitter::evaluateLoad(LoadOp op, const Coordinate &at) {
  Type element = elementTypeOf(op.getType());
  llvm::Type *memory = kernel.memoryType(element);
  llvm::Align align(kernel.memoryBytes(element));
  bool isLocal = false;
  if (body.masks == Masks::Fail && accessMasks.contains(op.getMask()))
    return op.getOther() ? evaluate(op.getOther(), at)
                         : llvm::Constant::getNullValue(kernel.registerType(element));
  auto step = isUniform(at) ? std::optional<int64_t>(0) : laneStep(op.getPtr(), at, isLocal);

  if (step == 0) {
    // One address for all lanes. The masks of the vector loop say nothing about it.
    Coordinate first(at);
    llvm::Value *address = firstAddress(op.getPtr(), first, 0, isLocal);
    Masks known = std::exchange(body.masks, Masks::Evaluated);
    llvm::Value *mask = op.getMask() ? evaluate(op.getMask(), at) : nullptr;
    body.masks = known;
    if (address) {
      noteAccess(op, "load", op.getPtr(), Access::Single, step, mask != nullptr);
      if (auto *constant = dyn_cast_or_null<llvm::ConstantInt>(mask); constant && constant->isOne())
        mask = nullptr;
      llvm::Value *other = op.getOther() ? evaluate(op.getOther(), at) : nullptr;
      llvm::Value *any = mask;
      if (mask && mask->getType()->isVectorTy()) {
        // Lanes past the extent may find the mask true, but are no reason to read.
        llvm::Value *active =
            body.laneMask ? arithmetic(llvm::Instruction::And, mask, body.laneMask) : mask;
        any = emitAt(levelOf(active), [&] { return builder.CreateOrReduce(active); });
      }
      unsigned level = std::max(levelOf(address), any ? levelOf(any) : 0);
      checkAccess(op, backends::TrapSite::Kind::Load, op.getPtr(), address, 1, any, align.value());
      llvm::Value *value = emitAt(level, [&] {
        llvm::Value *from = any ? builder.CreateSelect(any, address, kernel.dummyAddress) : address;
        auto *load = builder.CreateAlignedLoad(memory, from, align);
        load->setVolatile(op.getIsVolatile());
        if (!any)
          kernel.mark(load, KernelEmitter::MemoryKind::Arrays);
        return kernel.fromMemory(load, element);
      });
      if (!mask)
        return value;
      if (!other) // what is not read is zero
        other = llvm::Constant::getNullValue(value->getType());
      level = std::max({level, levelOf(mask), levelOf(other)});
      return emitAt(level, [&] {
        llvm::Value *yes = value;
        if (mask->getType()->isVectorTy() || other->getType()->isVectorTy()) {
          yes = splat(yes);
          other = splat(other);
        }
        return builder.CreateSelect(mask, yes, other);
      });
    }
  }

  llvm::Value *mask = accessMask(op.getMask(), at);
  if (mask)
    mask = splat(mask);
  llvm::Value *other = mask && op.getOther() ? evaluate(op.getOther(), at) : nullptr;
  llvm::Value *address = step == 1 ? firstAddress(op.getPtr(), at, 1, isLocal) : nullptr;
  llvm::Value *pointers = address ? address : evaluate(op.getPtr(), at);
  noteAccess(op, "load", op.getPtr(), address ? Access::Vector : Access::EachLane, step,
             op.getMask() && mask);
  unsigned level = std::max(levelOf(pointers), mask ? levelOf(mask) : 0);
  if (!address)
    pointers = splat(pointers);
  checkAccess(op, backends::TrapSite::Kind::Load, op.getPtr(), pointers, lanes, mask,
              align.value());
  auto *type = vectorOf(memory);
  llvm::Value *value = emitAt(level, [&] {
    llvm::Instruction *load;
    if (address && !mask)
      prefetchAhead(address, type, /*isWrite=*/false);
    if (address && !mask)
      load = builder.CreateAlignedLoad(type, address, align);
    else if (address)
      load =
          builder.CreateMaskedLoad(type, address, align, mask, llvm::Constant::getNullValue(type));
    else
      load = builder.CreateMaskedGather(
          type, pointers, align, mask ? mask : builder.CreateVectorSplat(lanes, builder.getTrue()),
          llvm::Constant::getNullValue(type));
    kernel.mark(load, KernelEmitter::MemoryKind::Arrays);
    return kernel.fromMemory(load, element);
  });
  if (!other)
    return value;
  level = std::max(level, levelOf(other));
  return emitAt(level, [&] { return builder.CreateSelect(mask, value, splat(other)); });
}

/// A kernel that passes over a row several times starts its next row with memory idle, and a page's
/// end stops the processor's own prefetching: layer norm ran at half the rate of a copy. Asking for
/// the line one page ahead on every access keeps memory busy; it cannot fault.
void NestEmitter::prefetchAhead(llvm::Value *address, llvm::Type *accessed, bool isWrite) {
  constexpr int64_t kDistance = 4096, kLeastRowBytes = 1024, kLeastVectorBytes = 32;
  int64_t vectorBytes = accessed->getPrimitiveSizeInBits().getFixedValue() / 8;
  int64_t rowBytes = nest.shape[vectorDimension] * (vectorBytes / lanes);
  // The rows of a block of a matrix do not follow each other in memory.
  bool isOneRow = llvm::count(nest.shape, 1) + 1 == int64_t(nest.shape.size());
  if (!isOneRow || rowBytes < kLeastRowBytes || vectorBytes < kLeastVectorBytes)
    return;
  constexpr int kKeepInAllCaches = 3, kData = 1;
  builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder.getPtrTy()},
                          {builder.CreateConstGEP1_64(builder.getInt8Ty(), address, kDistance),
                           builder.getInt32(isWrite), builder.getInt32(kKeepInAllCaches),
                           builder.getInt32(kData)});
}

void NestEmitter::emitStore(StoreOp op, const Coordinate &at, llvm::Value *value,
                            llvm::Value *mask) {
  Type element = elementTypeOf(op.getValue().getType());
  llvm::Align align(kernel.memoryBytes(element));
  if (isUniform(at)) {
    llvm::Value *address = evaluate(op.getPtr(), at);
    noteAccess(op, "store", op.getPtr(), Access::Single, 0, mask != nullptr);
    checkAccess(op, backends::TrapSite::Kind::Store, op.getPtr(), address, 1, mask, align.value());
    llvm::Value *bits = kernel.toMemory(value, element);
    llvm::Value *to = mask ? builder.CreateSelect(mask, address, kernel.dummyAddress) : address;
    auto *store = builder.CreateAlignedStore(bits, to, align);
    if (!mask)
      kernel.mark(store, KernelEmitter::MemoryKind::Arrays);
    return;
  }
  bool isLocal = false;
  auto step = laneStep(op.getPtr(), at, isLocal);
  llvm::Value *bits = kernel.toMemory(splat(value), element);
  if (mask)
    mask = splat(mask);
  llvm::Value *address = step == 1 ? firstAddress(op.getPtr(), at, 1, isLocal) : nullptr;
  llvm::Value *pointers = address ? address : splat(evaluate(op.getPtr(), at));
  noteAccess(op, "store", op.getPtr(), address ? Access::Vector : Access::EachLane, step,
             op.getMask() && mask);
  checkAccess(op, backends::TrapSite::Kind::Store, op.getPtr(), pointers, lanes, mask,
              align.value());
  llvm::Instruction *store;
  if (address && !mask)
    prefetchAhead(address, bits->getType(), /*isWrite=*/true);
  if (address && !mask)
    store = builder.CreateAlignedStore(bits, address, align);
  else if (address)
    store = builder.CreateMaskedStore(bits, address, align, mask);
  else
    store = builder.CreateMaskedScatter(bits, pointers, align, mask);
  kernel.mark(store, KernelEmitter::MemoryKind::Arrays);
}

//===-- Buffers -------------------------------------------------------------------------------===//

NestEmitter::BufferAddress NestEmitter::addressIn(TileBuffer &buffer, const Coordinate &at) {
  llvm::Value *offset = kernel.index(0), *offsets = nullptr;
  std::optional<int64_t> step = 0;
  for (auto [index, stride] : llvm::zip(at, buffer.strides)) {
    llvm::Value *factor = kernel.index(stride);
    if (index.vector) {
      step = std::nullopt;
      llvm::Value *part =
          stride == 1 ? index.vector : arithmetic(llvm::Instruction::Mul, index.vector, factor);
      offsets = offsets ? arithmetic(llvm::Instruction::Add, offsets, part) : part;
      continue;
    }
    llvm::Value *part =
        stride == 1 ? index.base : arithmetic(llvm::Instruction::Mul, index.base, factor);
    offset = arithmetic(llvm::Instruction::Add, offset, part);
    if (step)
      *step += index.step * stride;
  }
  if (!step) {
    // Lane steps of the other dimensions join the vector of offsets.
    int64_t rest = 0;
    for (auto [index, stride] : llvm::zip(at, buffer.strides))
      if (!index.vector)
        rest += index.step * stride;
    LaneIndex tail{offset, rest, nullptr, 1};
    offsets = arithmetic(llvm::Instruction::Add, offsets, rest ? indexVector(tail) : offset);
    llvm::Value *pointers = emitAt(
        levelOf(offsets), [&] { return builder.CreateGEP(buffer.element, buffer.base, offsets); });
    return {pointers, std::nullopt, offsets};
  }
  llvm::Value *first = emitAt(
      levelOf(offset), [&] { return builder.CreateGEP(buffer.element, buffer.base, offset); });
  return {first, step};
}

static llvm::Align elementAlign(llvm::Type *type) {
  return llvm::Align(type->isPointerTy() ? 8 : std::max(1u, type->getScalarSizeInBits() / 8));
}

llvm::Value *NestEmitter::readBuffer(TileBuffer &buffer, Type element, const Coordinate &at) {
  BufferAddress address = addressIn(buffer, at);
  llvm::Align align = elementAlign(buffer.element);
  bool isTruth = element.isInteger(1);
  // A buffer this level's loops write to is not read above them: see rule (Order) for kept values.
  unsigned level = levelOf(address.first);
  auto finish = [&](llvm::Instruction *load) -> llvm::Value * {
    kernel.mark(load, KernelEmitter::MemoryKind::Scratch);
    return isTruth ? builder.CreateICmpNE(load, llvm::Constant::getNullValue(load->getType()))
                   : load;
  };
  if (address.step == 0)
    return emitAt(level, [&] {
      return finish(builder.CreateAlignedLoad(buffer.element, address.first, align));
    });
  auto *type = vectorOf(buffer.element);
  if (address.step == 1)
    return emitAt(level,
                  [&] { return finish(builder.CreateAlignedLoad(type, address.first, align)); });
  llvm::Value *mask = body.laneMask;
  if (mask)
    level = std::max(level, levelOf(mask));
  return emitAt(level, [&] {
    llvm::Value *pointers = address.first;
    if (address.step) {
      LaneIndex offsets{kernel.index(0), *address.step, nullptr, 1};
      pointers = builder.CreateGEP(buffer.element, address.first, indexVector(offsets));
    }
    return finish(builder.CreateMaskedGather(
        type, pointers, align, mask ? mask : builder.CreateVectorSplat(lanes, builder.getTrue()),
        llvm::Constant::getNullValue(type)));
  });
}

void NestEmitter::writeBuffer(TileBuffer &buffer, const Coordinate &at, llvm::Value *value) {
  BufferAddress address = addressIn(buffer, at);
  llvm::Align align = elementAlign(buffer.element);
  if (!isUniform(at))
    value = splat(value);
  if (value->getType()->getScalarType()->isIntegerTy() &&
      value->getType()->getScalarType() != buffer.element) {
    llvm::Type *type =
        value->getType()->isVectorTy() ? (llvm::Type *)vectorOf(buffer.element) : buffer.element;
    // Truth values become bytes; narrow integers are widened for a product.
    value = value->getType()->getScalarSizeInBits() == 1 ? builder.CreateZExt(value, type)
                                                         : builder.CreateSExt(value, type);
  }
  // An operand of a product keeps the bits that it has in memory.
  if (value->getType()->isFPOrFPVectorTy() && buffer.element->isIntegerTy())
    value = kernel.toMemory(value, buffer.narrow);
  if (value->getType()->isFPOrFPVectorTy() && value->getType()->getScalarType() != buffer.element)
    value = builder.CreateFPCast(value, value->getType()->isVectorTy()
                                            ? (llvm::Type *)vectorOf(buffer.element)
                                            : buffer.element);
  llvm::Instruction *store;
  if (address.step == 0 || address.step == 1) {
    // A step of 1 is along a row, and rows end in padding: lanes past the end may be written. In
    // the next row they would count an element of a carried tile twice.
    store = builder.CreateAlignedStore(value, address.first, align);
  } else {
    LaneIndex offsets{kernel.index(0), *address.step, nullptr, 1};
    llvm::Value *pointers = builder.CreateGEP(buffer.element, address.first, indexVector(offsets));
    store = builder.CreateMaskedScatter(value, pointers, align, body.laneMask);
  }
  kernel.mark(store, KernelEmitter::MemoryKind::Scratch);
}

} // namespace sectile::cpu
