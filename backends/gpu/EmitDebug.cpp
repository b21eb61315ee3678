// Prints: a record for each program, written by all of its threads (backends/plain/DeviceAbi.h);
// and the clock.
#include "backends/DebugSites.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/plain/DeviceAbi.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using backends::RecordBuffer;
using backends::RecordHeader;

/// Where elements of a new record go, as a number; 0 when there is no room. One thread.
llvm::Value *GpuEmitter::claimRecord(const backends::PrintLayout &print) {
  uint64_t bytes = sizeof(RecordHeader) + uint64_t(print.bytes);
  Type word = IntegerType::get(function.getContext(), 64);
  auto add = [&](uint64_t field, uint64_t amount) {
    AtomicAccess access;
    access.address = recordField(field);
    access.semantic = MemorySemantic::Relaxed;
    return target.atomicRmw(builder, access, RmwKind::Add, builder.getInt64(amount), word,
                            /*isUsed=*/true);
  };
  llvm::Value *place = add(offsetof(RecordBuffer, cursor), bytes);
  llvm::Value *capacity = builder.CreateAlignedLoad(
      builder.getInt64Ty(), recordField(offsetof(RecordBuffer, capacity)), llvm::Align(8));
  llvm::Value *fits =
      builder.CreateICmpULE(builder.CreateAdd(place, builder.getInt64(bytes)), capacity);
  llvm::Value *record =
      builder.CreateGEP(builder.getInt8Ty(), recordField(sizeof(RecordBuffer)), place);
  emitIf(fits, [&] {
    auto write = [&](uint64_t offset, llvm::Value *value) {
      builder.CreateAlignedStore(
          value, builder.CreateConstGEP1_64(builder.getInt8Ty(), record, offset), llvm::Align(4));
    };
    write(offsetof(RecordHeader, site), builder.getInt32(print.site));
    write(offsetof(RecordHeader, bytes), builder.getInt32(uint32_t(bytes)));
    write(offsetof(RecordHeader, program), linearProgram());
  });
  emitIf(builder.CreateNot(fits), [&] { add(offsetof(RecordBuffer, lost), 1); });
  llvm::Value *elements =
      builder.CreateConstGEP1_64(builder.getInt8Ty(), record, sizeof(RecordHeader));
  return builder.CreateSelect(fits, builder.CreatePtrToInt(elements, builder.getInt64Ty()),
                              builder.getInt64(0));
}

/// Every element once, from the bytes at `start` on.
void GpuEmitter::writeRowMajor(Value value, llvm::Value *start) {
  Type element = elementTypeOf(value.getType());
  GlobalAccess access;
  access.type = memoryType(element);
  if (!isa<RankedTensorType>(value.getType())) {
    access.address = start;
    access.predicate = isFirstThread();
    return target.store(builder, access, toMemory(scalar(value), element));
  }
  const layout::TileLayout &layout = layoutOf(value);
  const Registers &values = registers(value);
  llvm::Value *firstCopy = isFirstCopy(layout);
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    access.address = builder.CreateGEP(access.type, start, rowMajorNumber(layout, reg));
    access.predicate = both(firstCopy, isInside(layout, reg));
    target.store(builder, access, toMemory(values[reg], element));
  }
}

/// All threads get what one of them reads: a scalar is the same in all.
LogicalResult GpuEmitter::emitClock(ClockOp op) {
  llvm::Value *slot = sharedAddress(plan.scratchOf(op));
  emitIf(isFirstThread(),
         [&] { builder.CreateAlignedStore(target.clock(builder), slot, llvm::Align(8)); });
  barrier();
  setScalar(op, builder.CreateAlignedLoad(builder.getInt64Ty(), slot, llvm::Align(8)));
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitPrint(PrintOp op) {
  backends::PrintLayout print = backends::addPrintSite(image, op);
  llvm::Value *slot = sharedAddress(plan.scratchOf(op));
  emitIf(isFirstThread(),
         [&] { builder.CreateAlignedStore(claimRecord(print), slot, llvm::Align(8)); });
  barrier();
  llvm::Value *place = builder.CreateAlignedLoad(builder.getInt64Ty(), slot, llvm::Align(8));
  emitIf(builder.CreateICmpNE(place, builder.getInt64(0)), [&] {
    llvm::Value *elements =
        builder.CreateIntToPtr(place, llvm::PointerType::get(builder.getContext(), kGlobalSpace));
    for (auto [offset, value] : llvm::zip(print.offsets, op.getArgs()))
      writeRowMajor(value, builder.CreateConstGEP1_64(builder.getInt8Ty(), elements, offset));
  });
  return success(!hasFailed);
}

} // namespace sectile::gpu
