// Steps that look at one element after the other: functions of elements that loop, and histograms.
#include "backends/cpu/KernelEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

/// Calls `body` with the position and the row-major number of every element.
void KernelEmitter::forEachElement(
    ArrayRef<int64_t> shape,
    llvm::function_ref<void(ArrayRef<llvm::Value *> position, llvm::Value *number)> body) {
  SmallVector<EmittedLoop> loops;
  SmallVector<llvm::Value *, 4> position;
  llvm::Value *count = index(0);
  for (int64_t extent : shape) {
    loops.push_back(beginLoop(index(0), index(extent), index(1), {}, /*mayBeEmpty=*/false));
    position.push_back(loops.back().induction);
    count = builder.CreateAdd(builder.CreateMul(count, index(extent)), position.back());
  }
  body(position, count);
  for (EmittedLoop &loop : llvm::reverse(loops))
    endLoop(loop, {});
}

static llvm::Value *addressIn(llvm::IRBuilder<> &builder, TileBuffer *buffer,
                              ArrayRef<llvm::Value *> position) {
  llvm::Value *offset = builder.getInt64(0);
  for (auto [at, stride] : llvm::zip(position, buffer->strides))
    offset = builder.CreateAdd(offset, builder.CreateMul(at, builder.getInt64(stride)));
  return builder.CreateGEP(buffer->element, buffer->base, offset);
}

static llvm::Align alignOf(TileBuffer *buffer) {
  return llvm::Align(buffer->element->isPointerTy() ? 8
                                                    : buffer->element->getScalarSizeInBits() / 8);
}

llvm::Value *KernelEmitter::readElement(TileBuffer *buffer, ArrayRef<llvm::Value *> position,
                                        Type element) {
  auto *access = builder.CreateAlignedLoad(buffer->element, addressIn(builder, buffer, position),
                                           alignOf(buffer));
  mark(access, MemoryKind::Scratch);
  return element.isInteger(1) ? builder.CreateICmpNE(access, builder.getInt8(0))
                              : (llvm::Value *)access;
}

void KernelEmitter::writeElement(TileBuffer *buffer, ArrayRef<llvm::Value *> position,
                                 llvm::Value *value) {
  if (value->getType()->isIntegerTy(1))
    value = builder.CreateZExt(value, buffer->element);
  mark(builder.CreateAlignedStore(value, addressIn(builder, buffer, position), alignOf(buffer)),
       MemoryKind::Scratch);
}

/// A buffer with the elements of a value as registers hold them, truth values as bytes.
TileBuffer *KernelEmitter::elementBuffer(Value value) {
  llvm::Type *element = registerType(elementTypeOf(value.getType()));
  return operandBuffer(value, element->isIntegerTy(1) ? builder.getInt8Ty() : element);
}

LogicalResult KernelEmitter::emitMap(MapOp op) {
  SmallVector<TileBuffer *> sources, results;
  for (Value result : op.getResults()) {
    results.push_back(allocateFor(result));
    setBuffer(result, results.back());
  }
  int64_t frameAtEntry = frameBytes;
  for (Value source : op.getSrcs())
    sources.push_back(elementBuffer(source));
  Block &function = op.getFunction().front();
  LogicalResult emitted = success();
  forEachElement(shapeOf(op.getSrcs().front().getType()), [&](auto position, llvm::Value *) {
    for (auto [argument, source] : llvm::zip(function.getArguments(), sources))
      setScalar(argument, readElement(source, position, argument.getType()));
    emitted = emitBlock(function);
    if (mlir::failed(emitted))
      return;
    for (auto [result, value] : llvm::zip(results, function.getTerminator()->getOperands()))
      writeElement(result, position, scalar(value));
  });
  frameBytes = frameAtEntry;
  return success(succeeded(emitted) && !hasFailed);
}

LogicalResult KernelEmitter::emitHistogram(HistogramOp op) {
  TileBuffer *counts = allocateFor(op.getResult());
  setBuffer(op.getResult(), counts);
  int64_t frameAtEntry = frameBytes;
  int64_t bins = op.getType().getDimSize(0);
  TileBuffer *source = elementBuffer(op.getSrc());
  TileBuffer *mask = op.getMask() ? elementBuffer(op.getMask()) : nullptr;
  Type element = op.getSrc().getType().getElementType();

  // Neighbours are counted in different tables: a sum need not wait for the one before. One bin
  // more takes what is not counted.
  constexpr int64_t kMostTables = 4, kSmallTable = 4096;
  const int64_t tables = bins <= kSmallTable ? kMostTables : 1;
  TileBuffer *table = allocate({tables * (bins + 1)}, builder.getInt32Ty());
  auto entry = [&](llvm::Value *number) {
    return builder.CreateGEP(builder.getInt32Ty(), table->base, number);
  };
  auto load = [&](llvm::Value *address) {
    auto *access = builder.CreateAlignedLoad(builder.getInt32Ty(), address, llvm::Align(4));
    mark(access, MemoryKind::Scratch);
    return access;
  };
  // Vectors may run past the end of a buffer.
  auto *vector = llvm::FixedVectorType::get(builder.getInt32Ty(), lanesFor(table->shape[0]));
  EmittedLoop clear = beginLoop(index(0), index(table->shape[0]), index(vector->getNumElements()),
                                {}, /*mayBeEmpty=*/false);
  mark(builder.CreateAlignedStore(llvm::Constant::getNullValue(vector), entry(clear.induction),
                                  llvm::Align(4)),
       MemoryKind::Scratch);
  endLoop(clear, {});
  forEachElement(op.getSrc().getType().getShape(), [&](auto position, llvm::Value *elementNumber) {
    llvm::Value *bin = readElement(source, position, element);
    llvm::Value *isCounted =
        builder.CreateICmpULT(bin, llvm::ConstantInt::get(bin->getType(), bins));
    if (mask)
      isCounted = builder.CreateAnd(
          isCounted, readElement(mask, position, IntegerType::get(op.getContext(), 1)));
    llvm::Value *number = builder.CreateSelect(
        isCounted, builder.CreateZExtOrTrunc(bin, builder.getInt64Ty()), index(bins));
    llvm::Value *which = builder.CreateAnd(elementNumber, index(tables - 1));
    llvm::Value *address =
        entry(builder.CreateAdd(builder.CreateMul(which, index(bins + 1)), number));
    mark(builder.CreateAlignedStore(builder.CreateAdd(load(address), builder.getInt32(1)), address,
                                    llvm::Align(4)),
         MemoryKind::Scratch);
  });
  forEachElement({bins}, [&](auto position, llvm::Value *bin) {
    llvm::Value *sum = load(entry(bin));
    for (int64_t other = 1; other < tables; ++other)
      sum = builder.CreateAdd(sum, load(entry(builder.CreateAdd(bin, index(other * (bins + 1))))));
    writeElement(counts, position, sum);
  });
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

} // namespace sectile::cpu
