#include "optimizer/gpu/PipelineLoops.h"

#include "optimizer/gpu/AsyncLoads.h"
#include "optimizer/gpu/LoopSlice.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

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
    if (!type || type.getRank() < 2 || load->use_empty())
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

    std::optional<AsyncLoad> ahead = asAsyncLoad(load, shape, analysis);
    if (ahead && writes.mayBePassedBy(load, apart) && slice.add({load.getPtr(), load.getMask()}))
      loads.push_back(*ahead);
  }

  Value constant(Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getIntegerAttr(type, number));
  }

  /// The slice of one iteration, `index` and `carried` in place of the loop's own; starts the
  /// copies where `exists`, and gives the carried values of the iteration after it.
  SmallVector<Value> startCopies(Value index, ValueRange carried, Value stage, Value exists) {
    IRMapping mapping = slice.clone(builder, index, carried);
    for (const AsyncLoad &ahead : loads)
      startCopy(builder, ahead, mapping, stage, exists);
    AsyncCommitOp::create(builder, loop.getLoc());
    return slice.next(mapping);
  }

  void rewrite() {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    for (AsyncLoad &ahead : loads)
      allocateBuffer(ahead, stageCount);
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
    for (AsyncLoad &each : loads)
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
  SmallVector<AsyncLoad, 2> loads;
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
