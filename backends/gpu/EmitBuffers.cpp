// Buffers in shared memory: copies and tiles into their stages, tiles out of them.
#include "backends/gpu/BufferReader.h"

#include <set>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

llvm::Value *GpuEmitter::bufferAddress(Value buffer) {
  auto view = buffer.getDefiningOp<BufferViewOp>();
  if (!view)
    return sharedAddress(plan.scratchOf(buffer.getDefiningOp()));
  return view.getStage() ? stageAddress(view.getBuffer(), view.getStage())
                         : bufferAddress(view.getBuffer());
}

/// Where a stage of a buffer begins.
llvm::Value *GpuEmitter::stageAddress(Value buffer, Value stage) {
  auto type = cast<BufferType>(buffer.getType());
  llvm::Value *start = bufferAddress(buffer);
  llvm::Value *offset =
      builder.CreateMul(scalar(stage), builder.getInt32(uint32_t(type.getStageBytes())));
  return builder.CreateGEP(builder.getInt8Ty(), start, offset);
}

LogicalResult GpuEmitter::emitAsync(Operation *op) {
  const AsyncCopies *copies = target.asyncCopies();
  if (!copies)
    return fail(op, "this GPU has no asynchronous copies"), failure();
  if (auto copy = dyn_cast<AsyncCopyOp>(op))
    return emitAsyncCopy(*copies, copy);
  if (auto wait = dyn_cast<AsyncWaitOp>(op))
    copies->wait(builder, wait.getPending());
  else
    copies->commit(builder);
  return success();
}

/// Whether lane i accesses what lies i accesses behind lane 0's place.
static bool areInLaneOrder(const layout::SharedAccess &access) {
  for (auto [bit, basis] : llvm::enumerate(access.laneBases))
    if (basis != access.width << bit)
      return false;
  return access.strides.empty() && !access.padding.interval;
}

/// How many elements of a group a mask is on for, which are its first ones: i32. Of several that
/// have to hold it is the fewest; so what rows have in common is computed once for all of them.
llvm::Value *GpuEmitter::countOn(Value mask, ArrayRef<int> group) {
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, countOn(both.getLhs(), group),
                                         countOn(both.getRhs(), group));
  const Registers &truths = registers(mask);
  const auto areOne = [&](int reg) { return truths[reg] == truths[group.front()]; };
  if (llvm::all_of(group, areOne))
    return builder.CreateSelect(truths[group.front()], builder.getInt32(uint32_t(group.size())),
                                builder.getInt32(0));
  llvm::Value *count = builder.getInt32(0);
  for (int reg : group)
    count = builder.CreateAdd(count, builder.CreateZExt(truths[reg], builder.getInt32Ty()));
  return count;
}

LogicalResult GpuEmitter::emitAsyncCopy(const AsyncCopies &copies, AsyncCopyOp op) {
  const layout::TileLayout &layout = layoutOf(op.getPtr());
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  Type element = buffer.getElement();
  unsigned bytes = memoryBytes(element);
  noteAccess(op, "async-copy", op.getWidth(), target.maxAccessBytes);
  layout::SharedAccess access = layout::accessShared(layout, buffer.getLayout().getLayout(),
                                                     bytes * 8, op.getWidth() * bytes);
  const bool areOfWarps = copies.kind() == optimizer::AsyncKind::WholeWarps;
  if (areOfWarps && !areInLaneOrder(access))
    return fail(op, "copies of whole warps fill neighbouring places lane by lane"), failure();
  SharedAddresses places(
      *this, std::move(access), memoryType(element), stageAddress(op.getBuffer(), op.getStage()),
      areOfWarps ? SharedAddresses::Of::FirstLanes : SharedAddresses::Of::EachLane);
  Registers masks = op.getMask() ? registers(op.getMask()) : Registers();
  emitIf(isFirstCopy(layout), [&] {
    places.prepare(); // copies stand in branches of their own
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
      auto copy = [&] {
        GlobalAccess global;
        setPlace(global, op.getPtr(), unsigned(first));
        global.type = memoryType(element);
        llvm::Value *validBytes = nullptr;
        if (op.getPartial() && op.getMask())
          validBytes =
              builder.CreateMul(countOn(op.getMask(), group.registers), builder.getInt32(bytes));
        else
          global.predicate = masks.empty() ? nullptr : masks[first];
        copies.copy(builder, places.address(number), global, size, validBytes);
      };
      // Beyond the tile there is no place in the buffer.
      emitIf(isInside(layout, first), copy);
    }
  });
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitBufferLoad(BufferLoadOp op) {
  if (isReadByProduct(op.getResult()))
    return success();
  BufferReader reader(*this, op);
  Registers values(layoutOf(op).registersPerThread(),
                   paddingOf(registerType(elementTypeOf(op.getType()))));
  for (unsigned group = 0; group < reader.groupCount(); ++group)
    reader.read(group, values);
  setRegisters(op, std::move(values));
  return success(!hasFailed);
}

/// Whether the buffer has a place for what lies beyond the tile's extents, too.
static bool hasRoomForPadding(const layout::TileLayout &tile, const layout::SharedLayout &shared) {
  for (int axis = 0; axis < tile.rank(); ++axis)
    if (tile.paddedExtent(axis) > shared.blockExtent(axis) * shared.repetitions()[axis])
      return false;
  return true;
}

LogicalResult GpuEmitter::emitBufferStore(BufferStoreOp op) {
  Value tile = op.getValue();
  const layout::TileLayout &layout = layoutOf(tile);
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  Type element = buffer.getElement();
  unsigned bytes = memoryBytes(element);
  const bool hasRoom = hasRoomForPadding(layout, shared);
  SharedAddresses places(*this,
                         layout::accessShared(layout, shared, bytes * 8, hasRoom ? 16 : bytes),
                         memoryType(element), stageAddress(op.getBuffer(), op.getStage()));
  const Registers &values = registers(tile);
  emitIf(isFirstCopy(layout), [&] {
    if (hasRoom)
      return places.storeAll(values);
    places.prepare(); // stores stand in branches of their own
    for (auto [number, group] : llvm::enumerate(places.access().groups)) {
      int reg = group.registers.front();
      if (!layout.isPaddingRegister(reg))
        emitIf(isInside(layout, reg), [&] { places.store(number, values); });
    }
  });
  return success(!hasFailed);
}

} // namespace sectile::gpu
