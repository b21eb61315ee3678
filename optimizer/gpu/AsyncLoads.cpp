#include "optimizer/gpu/AsyncLoads.h"

#include "optimizer/gpu/AccessWidth.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

std::optional<AsyncLoad> asAsyncLoad(LoadOp load, const GpuShape &shape,
                                     const IndexAnalysis &analysis, std::string &whyNot) {
  auto no = [&](std::string reason) {
    whyNot = std::move(reason);
    return std::nullopt;
  };
  auto type = dyn_cast<RankedTensorType>(load.getType());
  const layout::TileLayout *layout = type ? layoutOf(type) : nullptr;
  if (!layout)
    return no("it is no tile");
  if (load.getIsVolatile())
    return no("it is volatile");
  if (!isZeroOrNothing(load.getOther()))
    return no("what is masked off is not zero (other=), and asynchronous copies write zeros there");
  if (!type.getElementType().isIntOrFloat())
    return no("asynchronous copies are of numbers only");
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  if (bits < 8)
    return no("asynchronous copies are of whole bytes");
  const AccessWidth access =
      widestAccess(memoryOperandsOf(load), mostElements(load, shape), *layout, analysis,
                   /*mayBePartial=*/shape.asyncCopies == AsyncKind::PerLane);
  if (access.width * bits < 32)
    return no("a thread has " + std::to_string(access.width * bits / 8) +
              " neighbouring bytes at a time, and asynchronous copies take 4, 8 or 16");
  return AsyncLoad{load, access.axis, access.width, access.isPartial};
}

BufferType bufferOf(const AsyncLoad &ahead, int64_t stages) {
  LoadOp load = ahead.load;
  auto type = cast<RankedTensorType>(load.getType());
  auto ofStages = [&](SharedLayoutAttr shared) {
    return BufferType::get(load.getContext(), stages, type.getShape(), type.getElementType(),
                           shared);
  };
  for (Operation *user : load->getUsers())
    if (auto toBuffer = dyn_cast<ToBufferOp>(user))
      return ofStages(cast<BufferType>(toBuffer.getType()).getLayout());
  SmallVector<int, 3> order{ahead.axis};
  for (int axis = int(type.getRank()); axis-- > 0;)
    if (axis != ahead.axis)
      order.push_back(axis);
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  int64_t rowBytes = type.getDimSize(ahead.axis) * bits / 8;
  int64_t swizzle = rowBytes >= 128 ? 128 : rowBytes >= 64 ? 64 : 32;
  auto shared = layout::panelSwizzledShared(type.getShape(), order, bits, swizzle);
  return ofStages(SharedLayoutAttr::get(load.getContext(), shared));
}

void allocateBuffer(AsyncLoad &ahead, int64_t stages) {
  LoadOp load = ahead.load;
  auto function = load->getParentOfType<func::FuncOp>();
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  ahead.buffer = BufferAllocOp::create(builder, load.getLoc(), bufferOf(ahead, stages));
}

void describeToEngine(AsyncLoad &ahead) {
  LoadOp load = ahead.load;
  ahead.map =
      tensorMapOf(*ahead.block, cast<BufferType>(ahead.buffer.getType()), load->getParentOp());
}

void startCopy(OpBuilder &builder, const AsyncLoad &ahead, const IRMapping &there, Value stage,
               Value exists) {
  LoadOp load = ahead.load;
  Location place = load.getLoc();
  Value pointer = there.lookupOrDefault(load.getPtr());
  Value mask = load.getMask() ? there.lookupOrDefault(load.getMask()) : Value();
  if (exists) {
    Value ofRound = SplatOp::create(builder, place, maskOf(pointer.getType()), exists);
    mask = mask ? arith::AndIOp::create(builder, place, mask, ofRound).getResult() : ofRound;
  }
  AsyncCopyOp::create(builder, place, pointer, ahead.buffer, stage, mask,
                      builder.getI32IntegerAttr(ahead.axis), builder.getI32IntegerAttr(ahead.width),
                      ahead.isPartial ? builder.getUnitAttr() : UnitAttr());
}

LoadOp emitLoadAhead(OpBuilder &builder, LoadOp load, IRMapping &there, Value exists) {
  Location place = load.getLoc();
  Value mask = load.getMask() ? there.lookupOrDefault(load.getMask()) : Value();
  if (exists && isa<RankedTensorType>(load.getPtr().getType()))
    exists = SplatOp::create(builder, place, maskOf(load.getPtr().getType()), exists);
  if (exists)
    mask = mask ? arith::AndIOp::create(builder, place, mask, exists).getResult() : exists;
  auto ahead = cast<LoadOp>(builder.clone(*load, there));
  if (mask)
    ahead.getMaskMutable().assign(mask);
  // The block is of the round that the load stands in, and a masked load reads none.
  ahead.getBlockMutable().clear();
  return ahead;
}

} // namespace sectile::optimizer
