#include "optimizer/gpu/PipelineLoops.h"

#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/AsyncLoads.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/LoopSlice.h"
#include "optimizer/gpu/StageLoads.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

bool multiplies(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](Operation *op) {
        return isa<DotOp, DotAsyncOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void noteNotPipelined(lang::Remarks &remarks, LoadOp load, const std::string &whyNot) {
  if (isa<RankedTensorType>(load.getType()))
    addRemark(remarks, load.getLoc(), "not-pipelined", whyNot);
}

/// Stages with which copies still run two rounds ahead where one stage is a product's.
constexpr int64_t kStagesOfTwoAhead = 4;

/// Registers of a thread besides those of the sums: addresses, and what is under way.
constexpr int64_t kOtherWords = 48;

class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, const GpuShape &shape, int64_t stageCount,
                const IndexAnalysis &analysis, const LoopWrites &writes,
                const LoopWrites &allWrites, GpuAssumptions &assumed)
      : loop(loop), shape(shape), stageCount(stageCount), analysis(analysis), writes(writes),
        allWrites(allWrites), assumed(assumed), builder(loop), slice(loop) {}

  void run() {
    const bool hasProducts = multiplies(loop);
    for (auto load : loop.getOps<LoadOp>())
      if (std::string whyNot = consider(load); hasProducts && !whyNot.empty())
        noteNotPipelined(assumed.remarks, load, whyNot);
    if (loads.empty())
      return;
    keepProductInFlight();
    for (const AsyncLoad &ahead : loads)
      notePipelined(ahead);
    rewrite();
  }

private:
  int64_t distance() const { return stageCount - (inFlight && !meetsTwice ? 2 : 1); }

  /// Decides whether a product is under way from one round to the next: its operands are what this
  /// loop copies, or lie still. The stage that the product before reads is free when all warps have
  /// waited for it. Either they meet once more a round to know that, or copies run two stages short
  /// of all instead of one, and there is one more stage, unless that would leave room for fewer
  /// programs. Where it would, four stages are enough for copies to be two rounds ahead without
  /// it, if another program hides what copies still take.
  void keepProductInFlight() {
    inFlight = carriedProduct(loop);
    if (!inFlight)
      return;
    for (Value operand : {inFlight->start.getLhs(), Value(inFlight->start.getRhs())}) {
      Operation *maker = operand.getDefiningOp();
      while (auto view = dyn_cast_or_null<BufferViewOp>(maker))
        maker = view.getBuffer().getDefiningOp();
      bool isStill = maker && !loop->isAncestor(maker);
      auto inLoop = dyn_cast_or_null<ToBufferOp>(maker);
      if (!isStill && !(inLoop && isAhead(inLoop.getValue().getDefiningOp()))) {
        inFlight.reset();
        return;
      }
    }
    int64_t bytes = 0, rest = 0;
    for (const AsyncLoad &ahead : loads)
      bytes += bufferOf(ahead, 1).getStageBytes();
    if (shape.scratchBytes)
      loop.getBody()->walk([&](Operation *op) { rest = std::max(rest, shape.scratchBytes(op)); });
    // What lies still in shared memory while the loop runs.
    loop->getParentOfType<func::FuncOp>().walk([&](ToBufferOp op) {
      Operation *beside = op->getBlock()->findAncestorOpInBlock(*loop);
      if (beside && op->isBeforeInBlock(beside) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) { return isUsedFrom(user, beside); }))
        rest += cast<BufferType>(op.getType()).getStageBytes();
    });
    auto programsWith = [&](int64_t stages) {
      return shape.sharedBytes / std::max<int64_t>(1, bytes * stages + rest);
    };
    int64_t words = wordsPerThread(inFlight->start.getType()) + kOtherWords;
    int64_t most = std::max<int64_t>(1, shape.registerWords / (shape.threadCount() * words));
    const int64_t programs = std::clamp<int64_t>(programsWith(stageCount), 1, most);
    if (programsWith(stageCount + 1) >= programs)
      ++stageCount;
    else
      meetsTwice = programs == 1 || stageCount < kStagesOfTwoAhead;
  }

  /// Whether a user of a buffer, or one of a view, does not stand before `place`.
  static bool isUsedFrom(Operation *user, Operation *place) {
    if (isa<BufferViewOp>(user))
      return llvm::any_of(user->getUsers(),
                          [&](Operation *next) { return isUsedFrom(next, place); });
    Operation *here = place->getBlock()->findAncestorOpInBlock(*user);
    return !here || !here->isBeforeInBlock(place);
  }

  bool isAhead(Operation *load) const {
    return llvm::any_of(loads, [&](const AsyncLoad &ahead) { return ahead.load == load; });
  }

  /// Why it stays as it is; empty: it goes to `loads`.
  std::string consider(LoadOp load) {
    std::string whyNot = whyNotStaged(load, loop);
    if (!whyNot.empty())
      return whyNot;
    std::optional<AsyncLoad> ahead = asEngineLoad(load);
    if (!ahead)
      ahead = asAsyncLoad(load, shape, analysis, whyNot);
    if (!ahead)
      return whyNot;
    BufferType wanted;
    for (Operation *user : load->getUsers())
      if (auto toBuffer = dyn_cast<ToBufferOp>(user)) {
        auto type = cast<BufferType>(toBuffer.getType());
        if (wanted && wanted != type)
          return "products want it in shared memory in two ways";
        wanted = type;
        layout::Coordinates neighbour(type.getShape().size(), 0);
        neighbour[ahead->axis] = 1;
        if (type.getLayout().getLayout().offsetOf(neighbour) != 1)
          return "its neighbours in memory are not those that a product wants in shared memory";
      }
    if (!writes.mayBePassedBy(load, assumed.apart))
      return writes.whyNotPassedBy(load);
    if (!(ahead->block ? slice.add(SmallVector<Value>(ahead->block->at.getOffsets()))
                       : slice.add({load.getPtr(), load.getMask()})))
      return kAddressNeedsIteration;
    loads.push_back(*ahead);
    return {};
  }

  /// A load that the copy engine can do. A remark explains why it cannot read a block.
  std::optional<AsyncLoad> asEngineLoad(LoadOp load) {
    if (!shape.hasTensorCopy())
      return std::nullopt;
    std::string whyNot;
    AsyncLoad ahead{load};
    if (!load.getIsVolatile())
      ahead.block = arrayBlockOf(
          load.getBlock(), load.getType(), analysis, shape,
          llvm::count_if(loads, [](const AsyncLoad &other) { return other.block; }), whyNot);
    // The engine does not see what threads write, in this program or in others that it waits for.
    if (ahead.block && !allWrites.mayBePassedBy(load, assumed.apart)) {
      ahead.block.reset();
      whyNot = allWrites.whyNotPassedBy(load);
    }
    if (ahead.block) {
      ahead.axis = ahead.block->rowAxis;
      if (isOfEngine(bufferOf(ahead, 1), ahead.axis))
        return ahead;
    }
    if (ahead.block)
      whyNot = "it does not write tiles as products read this one";
    if (!whyNot.empty())
      addRemark(assumed.remarks, load.getLoc(), "not-by-copy-engine", whyNot);
    return std::nullopt;
  }

  bool isCopiedByEngine() const {
    return llvm::any_of(loads, [](const AsyncLoad &ahead) { return ahead.block.has_value(); });
  }
  bool isCopiedByThreads() const {
    return llvm::any_of(loads, [](const AsyncLoad &ahead) { return !ahead.block; });
  }

  void notePipelined(const AsyncLoad &ahead) {
    LoadOp load = ahead.load;
    auto type = cast<RankedTensorType>(load.getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    addRemark(assumed.remarks, load.getLoc(), "pipelined",
              std::to_string(distance()) +
                  (distance() == 1 ? " iteration ahead, through " : " iterations ahead, through ") +
                  std::to_string(stageCount) + " stages in shared memory" +
                  (ahead.block ? ", by the copy engine" : ""),
              {{"iterations_ahead", distance()},
               {"stages", stageCount},
               {"through_shared_memory", 1},
               {"stage_bytes", bytes},
               {"by_copy_engine", ahead.block ? 1 : 0}});
  }

  Value constant(Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getIntegerAttr(type, number));
  }

  /// The slice of one iteration, `index` and `carried` in place of the loop's own; starts the
  /// copies where `exists`, and gives the carried values of the iteration after it.
  SmallVector<Value> startCopies(Value index, ValueRange carried, Value stage, Value exists) {
    IRMapping mapping = slice.clone(builder, index, carried);
    if (full) {
      int64_t bytes = 0;
      for (const AsyncLoad &ahead : loads) {
        auto tile = cast<BufferType>(ahead.buffer.getType());
        if (ahead.block)
          bytes += ShapedType::getNumElements(tile.getShape()) *
                   tile.getElement().getIntOrFloatBitWidth() / 8;
      }
      MBarrierExpectOp::create(builder, loop.getLoc(), full, stage,
                               builder.getI64IntegerAttr(bytes), exists);
    }
    for (const AsyncLoad &ahead : loads)
      if (ahead.block)
        startTensorCopy(builder, *ahead.block, ahead.map, mapping, ahead.buffer, stage, full,
                        exists);
      else
        startCopy(builder, ahead, mapping, stage, exists);
    if (isCopiedByThreads())
      AsyncCommitOp::create(builder, loop.getLoc());
    return slice.next(mapping);
  }

  void rewrite() {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    for (AsyncLoad &ahead : loads)
      allocateBuffer(ahead, stageCount);
    if (isCopiedByEngine()) {
      auto function = loop->getParentOfType<func::FuncOp>();
      auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
      full = MBarrierAllocOp::create(atEntry, place,
                                     MBarriersType::get(builder.getContext(), stageCount));
      // Whatever the bytes of the stages held before is out of the engine's way, too.
      MBarrierInitOp::create(builder, place, full);
      ProxyFenceOp::create(builder, place);
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
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
    // The stages that are read and written, and the parity of the phase that is read.
    const unsigned ownCount = loop.getNumRegionIterArgs(), firstStage = initial.size();
    initial.push_back(constant(i32, 0));
    initial.push_back(constant(i32, distance()));
    if (full)
      initial.push_back(constant(i32, 0));
    scf::ForOp made = rebuildLoop(builder, loop, initial);
    builder.setInsertionPointToStart(made.getBody());
    auto arguments = made.getRegionIterArgs();
    auto aheadArguments = arguments.slice(ownCount, firstStage - ownCount);
    Value readStage = arguments[firstStage], writeStage = arguments[firstStage + 1];

    if (isCopiedByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(distance() - 1));
    if (llvm::any_of(loads, [](const AsyncLoad &ahead) {
          return !ahead.block && isReadByProduct(ahead.load);
        }))
      ProxyFenceOp::create(builder, place);
    if (full)
      MBarrierWaitOp::create(builder, place, full, readStage, arguments.back());
    BarrierOp::create(builder, place, /*sharedOnly=*/true);
    Value now = made.getInductionVar();
    SmallVector<Value> aheadNext;
    auto startLater = [&] {
      aheadNext = startCopies(extent.later(builder, now), SmallVector<Value>(aheadArguments),
                              writeStage, extent.hasLater(builder, now));
    };
    // Before the product where that is possible: they have a round more to arrive.
    if (!meetsTwice)
      startLater();

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
      if (inFlight && &op == inFlight->wait) {
        mapping.map(op.getResult(0), mapping.lookup(inFlight->start.getResult()));
        DotWaitOp::create(builder, op.getLoc(), TypeRange(), builder.getI32IntegerAttr(1),
                          ValueRange());
        if (meetsTwice) {
          BarrierOp::create(builder, place, /*sharedOnly=*/true);
          startLater();
        }
        continue;
      }
      if (auto toBuffer = dyn_cast<ToBufferOp>(op))
        if (Value ring = buffers.lookup(toBuffer.getValue().getDefiningOp())) {
          mapping.map(toBuffer.getResult(), stageOf(toBuffer, ring, readStage));
          continue;
        }
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
    auto isLastStage = [&](Value stage) -> Value {
      return arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, stage,
                                   constant(i32, stageCount - 1));
    };
    auto nextStage = [&](Value stage) -> Value {
      Value more = arith::AddIOp::create(builder, place, stage, constant(i32, 1));
      return arith::SelectOp::create(builder, place, isLastStage(stage), constant(i32, 0), more);
    };
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadNext);
    yielded.push_back(nextStage(readStage));
    yielded.push_back(nextStage(writeStage));
    if (full)
      yielded.push_back(arith::XOrIOp::create(
          builder, place, arguments.back(),
          arith::ExtUIOp::create(builder, place, i32, isLastStage(readStage))));
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, place, yielded);
    // Copies of rounds that do not exist write zeros; behind them the buffers' bytes are free.
    builder.setInsertionPointAfter(made);
    SmallVector<Value> results(made.getResults().take_front(ownCount));
    if (inFlight) {
      Value &product = results[inFlight->argument];
      product = DotWaitOp::create(builder, inFlight->wait.getLoc(), TypeRange{product.getType()},
                                  builder.getI32IntegerAttr(0), ValueRange{product})
                    .getResult(0);
    }
    if (isCopiedByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(0));
    if (full) {
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
      MBarrierEndOp::create(builder, place, full);
    }
    loop.replaceAllUsesWith(results);
    loop.erase();
  }

  static bool isReadByProduct(LoadOp load) {
    return llvm::any_of(load->getUsers(), llvm::IsaPred<ToBufferOp>);
  }

  Value stageOf(ToBufferOp toBuffer, Value ring, Value stage) {
    SmallVector<int32_t> order(cast<BufferType>(ring.getType()).getShape().size());
    std::iota(order.begin(), order.end(), 0);
    return BufferViewOp::create(builder, toBuffer.getLoc(), toBuffer.getType(), ring, stage,
                                builder.getDenseI32ArrayAttr(order));
  }

  scf::ForOp loop;
  const GpuShape &shape;
  int64_t stageCount;
  const IndexAnalysis &analysis;
  const LoopWrites &writes, &allWrites; // of the loop and of the kernel
  GpuAssumptions &assumed;
  OpBuilder builder;
  SmallVector<AsyncLoad, 2> loads;
  Value full; // memory barriers of the stages that the engine fills; null: it fills none
  std::optional<CarriedProduct> inFlight;
  bool meetsTwice = false;
  LoopSlice slice;
};

struct PipelineLoops : GpuPass<PipelineLoops> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PipelineLoops)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "pipeline-loops"; }
  StringRef getDescription() const override {
    return "copy what matrix products of later turns read to shared memory ahead "
           "(warps=4,lanes=32,async=false,maps=0,bytes=16,registers=65536,each=255,"
           "shared=49152,matrix=false,stages=3,overlap=false)";
  }
  void runOnOperation() override;
};

void PipelineLoops::runOnOperation() {
  func::FuncOp function = getOperation();
  auto noteAll = [&](scf::ForOp loop, const std::string &whyNot) {
    if (multiplies(loop))
      for (auto load : loop.getOps<LoadOp>())
        noteNotPipelined(assumed().remarks, load, whyNot);
  };
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    bool isInnermost = true;
    loop.getBody()->walk([&](Operation *op) { isInnermost &= !isa<scf::ForOp, scf::WhileOp>(op); });
    if (int64_t stages = stagesOf(loop, options.stageCount); stages < 2)
      noteAll(loop, "num_stages is " + std::to_string(stages));
    else if (!isInnermost)
      noteAll(loop, "there is another loop in this one");
    else
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  IndexAnalysis analysis(function);
  PointerProvenance provenance(function);
  const LoopWrites allWrites(function, provenance, options.argumentsOverlap);
  for (scf::ForOp loop : loops) {
    LoopWrites writes(loop, provenance, options.argumentsOverlap);
    if (!shape().hasAsyncCopy) {
      if (multiplies(loop))
        stageLoads(loop, shape(), writes, assumed());
      continue;
    }
    LoopPipeliner(loop, shape(), stagesOf(loop, options.stageCount), analysis, writes, allWrites,
                  assumed())
        .run();
  }
}

} // namespace

int64_t stagesOf(scf::ForOp loop, int64_t otherwise) {
  auto wished = loop->getAttrOfType<IntegerAttr>(kStagesAttr);
  return wished ? wished.getInt() : otherwise;
}

std::unique_ptr<Pass> createPipelineLoops(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<PipelineLoops>(options, assumed);
}

} // namespace sectile::optimizer
