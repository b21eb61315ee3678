// Buffers in shared memory: copies into their stages, tiles out of them.
#include "backends/gpu/SharedAddresses.h"

#include <set>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

/// Where a stage of a buffer begins.
llvm::Value *GpuEmitter::stageAddress(Value buffer, Value stage) {
  auto type = cast<BufferType>(buffer.getType());
  llvm::Value *start = sharedAddress(plan.scratchOf(buffer.getDefiningOp()));
  llvm::Value *offset =
      builder.CreateMul(scalar(stage), builder.getInt32(uint32_t(type.getStageBytes())));
  return builder.CreateGEP(builder.getInt8Ty(), start, offset);
}

LogicalResult GpuEmitter::emitAsyncCopy(AsyncCopyOp op) {
  const layout::TileLayout &layout = layoutOf(op.getPtr());
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  Type element = buffer.getElement();
  unsigned bytes = memoryBytes(element);
  SharedAddresses places(*this,
                         layout::accessShared(layout, buffer.getLayout().getLayout(), bytes * 8,
                                              op.getWidth() * bytes),
                         memoryType(element), stageAddress(op.getBuffer(), op.getStage()));
  const Registers &pointers = registers(op.getPtr());
  Registers masks = op.getMask() ? registers(op.getMask()) : Registers();
  emitIf(isFirstCopy(layout), [&] {
    std::set<std::pair<int64_t, int64_t>> written;
    for (auto [number, group] : llvm::enumerate(places.access().groups)) {
      int first = group.registers.front();
      if (layout.isPaddingRegister(first))
        continue;
      if (places.access().strides.empty() && !written.insert({group.xorPart, group.addPart}).second)
        continue;
      unsigned size = group.registers.size() * bytes;
      if (size < 4)
        return fail(op, "elements of less than four bytes cannot be copied one by one");
      llvm::Value *predicate = masks.empty() ? nullptr : masks[first];
      auto copy = [&] {
        target.asyncCopy(builder, places.address(number), pointers[first], size, predicate);
      };
      // Beyond the tile there is no place in the buffer.
      emitIf(isInside(layout, first), copy);
    }
  });
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitBufferLoad(BufferLoadOp op) {
  const layout::TileLayout &layout = layoutOf(op);
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  Type element = buffer.getElement();
  llvm::Type *type = registerType(element);
  unsigned bits = memoryBytes(element) * 8;
  llvm::Value *start = stageAddress(op.getBuffer(), op.getStage());
  Registers values(layout.registersPerThread(), llvm::PoisonValue::get(type));

  for (bool isTransposed : {false, true}) {
    if (isTransposed && bits != 16)
      continue;
    auto matrices = layout::accessSharedMatrices(layout, shared, bits, isTransposed);
    if (!matrices)
      continue;
    SharedAddresses rows(*this, matrices->rows, memoryType(element), start);
    bool isDone = true;
    for (auto [number, group] : llvm::enumerate(matrices->rows.groups)) {
      auto words =
          target.loadMatrices(builder, rows.address(number), matrices->matrices, isTransposed);
      isDone &= !words.empty();
      unsigned perWord = 32 / bits;
      for (auto [position, word] : llvm::enumerate(words)) {
        auto *vector = llvm::FixedVectorType::get(type, perWord);
        llvm::Value *elements =
            perWord == 1 ? builder.CreateBitCast(word, type) : builder.CreateBitCast(word, vector);
        for (unsigned lane = 0; lane < perWord; ++lane)
          values[group.registers[position * perWord + lane]] =
              perWord == 1 ? elements : builder.CreateExtractElement(elements, uint64_t(lane));
      }
    }
    if (isDone) {
      setRegisters(op, std::move(values));
      return success(!hasFailed);
    }
  }
  SharedAddresses places(*this, layout::accessShared(layout, shared, bits), memoryType(element),
                         start);
  places.loadAll(values);
  for (llvm::Value *&value : values)
    value = fromMemory(value, element);
  setRegisters(op, std::move(values));
  return success(!hasFailed);
}

} // namespace sectile::gpu
