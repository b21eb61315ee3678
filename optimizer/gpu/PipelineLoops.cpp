#include "optimizer/gpu/PipelineLoops.h"

#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/LoopSlice.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// A load to be made asynchronous.
struct AheadLoad {
  LoadOp load;
  int axis = 0;
  int64_t width = 1;
  Value buffer;
};

bool isZeroOrNothing(Value other) {
  if (!other)
    return true;
  SplatElementsAttr splat;
  if (!matchPattern(other, m_Constant(&splat)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(splat.getSplatValue<Attribute>());
  return number && number.getValue().isZero();
}

class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, const GpuShape &shape, int64_t stageCount,
                const IndexAnalysis &analysis, const LoopWrites &writes,
                SmallVectorImpl<ApartArguments> &apart)
      : loop(loop), shape(shape), stageCount(stageCount), analysis(analysis), writes(writes),
        apart(apart), builder(loop), slice(loop) {}

  void run() {
    for (Operation &op : *loop.getBody())
      if (auto load = dyn_cast<LoadOp>(op))
        consider(load);
    if (!loads.empty())
      rewrite();
  }

private:
  int64_t distance() const { return stageCount - 1; }

  void consider(LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    const layout::TileLayout *layout = type ? layoutOf(type) : nullptr;
    if (!layout || type.getRank() < 2 || load.getIsVolatile() ||
        !isZeroOrNothing(load.getOther()) || !type.getElementType().isIntOrFloat() ||
        load->use_empty())
      return;
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    if (bits < 8)
      return;
    bool feedsProducts = false;
    for (Operation *user : load->getUsers()) {
      auto convert = dyn_cast<ConvertLayoutOp>(user);
      if (!convert || convert->getBlock() != loop.getBody())
        return;
      feedsProducts |= llvm::any_of(convert->getUsers(), llvm::IsaPred<DotOp>);
    }
    if (!feedsProducts)
      return;

    AheadLoad ahead;
    ahead.load = load;
    for (int axis = 0; axis < layout->rank(); ++axis) {
      int64_t width = std::min<int64_t>({layout->contiguousRegisters(axis),
                                         analysis.accessRun(load.getPtr(), axis, load.getMask()),
                                         analysis.alignment(load.getPtr(), axis) * 8 / bits,
                                         shape.maxAccessBytes * 8 / bits});
      width = width > 1 ? int64_t(llvm::bit_floor(uint64_t(width))) : 1;
      if (layout->isPadded(axis))
        width = std::min(width, type.getDimSize(axis) & -type.getDimSize(axis));
      if (width > ahead.width) {
        ahead.width = width;
        ahead.axis = axis;
      }
    }
    // The instruction copies 4, 8 or 16 bytes.
    if (ahead.width * bits < 32)
      return;
    if (writes.mayBePassedBy(load, apart) && slice.add({load.getPtr(), load.getMask()}))
      loads.push_back(ahead);
  }

  BufferType bufferOf(AheadLoad &ahead) {
    auto type = cast<RankedTensorType>(ahead.load.getType());
    SmallVector<int, 3> order{ahead.axis};
    for (int axis = int(type.getRank()); axis-- > 0;)
      if (axis != ahead.axis)
        order.push_back(axis);
    unsigned bits = type.getElementType().getIntOrFloatBitWidth();
    int64_t rowBytes = type.getDimSize(ahead.axis) * bits / 8;
    int64_t swizzle = rowBytes >= 128 ? 128 : rowBytes >= 64 ? 64 : 32;
    auto shared = layout::panelSwizzledShared(type.getShape(), order, bits, swizzle);
    return BufferType::get(loop.getContext(), stageCount, type.getShape(), type.getElementType(),
                           SharedLayoutAttr::get(loop.getContext(), shared));
  }

  Value constant(Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getIntegerAttr(type, number));
  }

  /// The slice of one iteration, `index` and `carried` in place of the loop's own; starts the
  /// copies where `exists`, and gives the carried values of the iteration after it.
  SmallVector<Value> startCopies(Value index, ValueRange carried, Value stage, Value exists) {
    IRMapping mapping = slice.clone(builder, index, carried);
    for (AheadLoad &ahead : loads) {
      Location place = ahead.load.getLoc();
      Value pointer = mapping.lookupOrDefault(ahead.load.getPtr());
      Type maskType = maskOf(pointer.getType());
      Value mask = SplatOp::create(builder, place, maskType, exists);
      if (Value own = ahead.load.getMask())
        mask = arith::AndIOp::create(builder, place, mapping.lookupOrDefault(own), mask);
      AsyncCopyOp::create(builder, place, pointer, ahead.buffer, stage, mask,
                          builder.getI32IntegerAttr(ahead.axis),
                          builder.getI32IntegerAttr(ahead.width));
    }
    AsyncCommitOp::create(builder, loop.getLoc());
    return slice.next(mapping);
  }

  void rewrite() {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    {
      OpBuilder::InsertionGuard guard(builder);
      auto function = loop->getParentOfType<func::FuncOp>();
      builder.setInsertionPointToStart(&function.getBody().front());
      for (AheadLoad &ahead : loads)
        ahead.buffer = BufferAllocOp::create(builder, ahead.load.getLoc(), bufferOf(ahead));
    }
    LoopExtent extent(builder, loop, distance());
    Value index = loop.getLowerBound(), step = loop.getStep(), exists = extent.hasFirst(builder);
    SmallVector<Value> ahead = slice.initial();
    for (int64_t stage = 0; stage < distance(); ++stage) {
      ahead = startCopies(index, ahead, constant(i32, stage), exists);
      if (stage + 1 == distance())
        break;
      exists = arith::AndIOp::create(builder, place, exists, extent.hasNext(builder, index));
      index = arith::AddIOp::create(builder, place, index, step);
    }

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, ahead);
    initial.push_back(constant(i32, 0));
    initial.push_back(constant(i32, distance()));
    auto made = scf::ForOp::create(builder, place, loop.getLowerBound(), loop.getUpperBound(), step,
                                   initial, nullptr, loop.getUnsignedCmp());
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    builder.setInsertionPointToStart(made.getBody());
    unsigned ownCount = loop.getNumRegionIterArgs();
    auto arguments = made.getRegionIterArgs();
    auto aheadArguments = arguments.drop_front(ownCount).drop_back(2);
    Value readStage = arguments[arguments.size() - 2], writeStage = arguments.back();

    AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(distance() - 1));
    BarrierOp::create(builder, place);
    Value now = made.getInductionVar();
    SmallVector<Value> aheadNext =
        startCopies(extent.later(builder, now), SmallVector<Value>(aheadArguments), writeStage,
                    extent.hasLater(builder, now));

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), made.getInductionVar());
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), arguments))
      mapping.map(from, to);
    llvm::DenseMap<Operation *, Value> buffers;
    for (AheadLoad &each : loads)
      buffers[each.load] = each.buffer;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (buffers.contains(&op))
        continue;
      auto convert = dyn_cast<ConvertLayoutOp>(op);
      Operation *source = convert ? convert.getSrc().getDefiningOp() : nullptr;
      if (auto found = buffers.find(source); source && found != buffers.end())
        mapping.map(
            convert.getResult(),
            BufferLoadOp::create(builder, op.getLoc(), convert.getType(), found->second, readStage)
                .getResult());
      else
        builder.clone(op, mapping);
    }
    auto nextStage = [&](Value stage) -> Value {
      Value more = arith::AddIOp::create(builder, place, stage, constant(i32, 1));
      Value isLast = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, more,
                                           constant(i32, stageCount));
      return arith::SelectOp::create(builder, place, isLast, constant(i32, 0), more);
    };
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadNext);
    yielded.push_back(nextStage(readStage));
    yielded.push_back(nextStage(writeStage));
    if (!made.getBody()->empty() && made.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      made.getBody()->back().erase();
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, place, yielded);
    // Copies of rounds that do not exist write zeros; behind them the buffers' bytes are free.
    builder.setInsertionPointAfter(made);
    AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(0));
    loop.replaceAllUsesWith(made.getResults().take_front(ownCount));
    loop.erase();
  }

  scf::ForOp loop;
  const GpuShape &shape;
  const int64_t stageCount;
  const IndexAnalysis &analysis;
  const LoopWrites &writes;
  SmallVectorImpl<ApartArguments> &apart;
  OpBuilder builder;
  SmallVector<AheadLoad, 2> loads;
  LoopSlice slice;
};

} // namespace

void pipelineLoops(func::FuncOp function, const GpuShape &shape, int64_t stageCount,
                   bool argumentsOverlap, SmallVectorImpl<ApartArguments> &apart) {
  if (stageCount < 2 || !shape.hasAsyncCopy)
    return;
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    bool isInnermost = true;
    loop.getBody()->walk([&](Operation *op) { isInnermost &= !isa<scf::ForOp, scf::WhileOp>(op); });
    if (isInnermost)
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  IndexAnalysis analysis(function, Remainders::AreIndices);
  PointerProvenance provenance(function);
  for (scf::ForOp loop : loops) {
    LoopWrites writes(loop, provenance, argumentsOverlap);
    LoopPipeliner(loop, shape, stageCount, analysis, writes, apart).run();
  }
}

} // namespace sectile::optimizer
