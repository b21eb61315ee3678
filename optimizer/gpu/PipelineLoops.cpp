#include "optimizer/gpu/PipelineLoops.h"

#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/AheadLoads.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/NestSlice.h"
#include "optimizer/gpu/OrderProducts.h"
#include "optimizer/gpu/OverlapProducts.h"
#include "optimizer/gpu/StageLoads.h"
#include "optimizer/gpu/StageRoom.h"
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

class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, const GpuShape &shape, int64_t stageCount,
                const IndexAnalysis &analysis, const LoopWrites &writes,
                const LoopWrites &allWrites, GpuAssumptions &assumed)
      : loop(loop), shape(shape), stageCount(stageCount), assumed(assumed), builder(loop),
        room(loop, shape, analysis), chosen(loop, shape, analysis, writes, allWrites, assumed),
        loads(chosen.loads), slice(chosen.slice) {}

  void run() {
    auto left = chosen.choose();
    if (!isRoomForPrograms())
      for (LoadOp load : chosen.dropBeside())
        left.push_back({load, "its stages would leave too little shared memory"});
    if (multiplies(loop))
      for (auto &[load, whyNot] : left)
        noteNotPipelined(assumed.remarks, load, whyNot);
    if (loads.empty())
      return;
    goOnAcrossRounds();
    keepProductInFlight();
    delayProduct();
    letProductsLast();
    for (const AsyncLoad &ahead : loads)
      notePipelined(ahead);
    rewrite();
  }

  bool hasChanged() const { return !loads.empty(); }

private:
  int64_t distance() const { return stageCount - (isReadOn() ? 2 : 1); }

  /// Whether a stage is read for one round more.
  bool isReadOn() const { return (inFlight && !meetsTwice) || delayed || !lasting.empty(); }

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
    if (!isStageOrStill(inFlight->start.getLhs()) || !isStageOrStill(inFlight->start.getRhs())) {
      inFlight.reset();
      return;
    }
    const int64_t programs =
        std::clamp<int64_t>(programsWith(stageCount), 1,
                            room.programsByRegisters(wordsPerThread(inFlight->start.getType())));
    if (programsWith(stageCount + 1) >= programs && (!nest || isRoomFor(stageCount + 1)))
      ++stageCount;
    else
      meetsTwice = programs == 1 || stageCount < kStagesOfTwoAhead;
  }

  /// Decides whether the second of two products in a chain runs a round late (OverlapProducts.h).
  /// The stage that it reads is then free a round later: there is one stage more, or copies run one
  /// round less ahead where that leaves them one.
  void delayProduct() {
    const std::optional<DelayedProduct> chain = delayedProduct(loop);
    if (!chain)
      return;
    DotAsyncOp start = chain->start, before = chain->before;
    auto refuse = [&](const std::string &whyNot) {
      // One that only adds may go on into the next round instead.
      if (!llvm::is_contained(productsCarriedOn(loop), start))
        addRemark(assumed.remarks, start.getLoc(), "not-overlapped", whyNot);
      delayed.reset();
    };
    if (!isStageOrStill(start.getRhs()))
      return refuse("what it multiplies by is filled anew in each round");
    if (chosen.areByThreads())
      return refuse("threads copy what it multiplies by, and meet in each round");
    // The sums of both, and where the product runs late, what it takes from registers.
    const int64_t sums = wordsPerThread(start.getType()) + wordsPerThread(before.getType()),
                  words = sums + wordsPerThread(start.getLhs().getType());
    if (words + kOtherWords > shape.threadWords)
      return refuse("a thread would hold " + std::to_string(words) +
                    " registers of sums and operands at once, beside some " +
                    std::to_string(kOtherWords) + " others; it has " +
                    std::to_string(shape.threadWords) +
                    ": smaller tiles, or more warps, would fit");
    if (int64_t programs =
            std::min(room.programsByRegisters(sums, kOtherWordsOfChains), programsWith(stageCount));
        programs > 1)
      return refuse("there is room for " + std::to_string(programs) +
                    " programs on a multiprocessor, which hide each other's waits");
    delayed = chain;
    if (isRoomFor(stageCount + 1))
      ++stageCount;
    else if (stageCount < 3)
      return refuse("shared memory does not suffice for a third stage, " +
                    std::to_string(bytesOfStages(3)) + " bytes in all");
    addRemark(assumed.remarks, start.getLoc(), "overlapped",
              "runs under the next round's computation, one round late");
  }

  /// Decides whether those of several products that only add to what the loop carries are under way
  /// from one round to the next (OrderProducts.h). The stages that they read are then free a round
  /// later, as behind a single product.
  void letProductsLast() {
    if (delayed)
      return;
    for (DotAsyncOp product : productsCarriedOn(loop)) {
      const bool lhsIsThere =
          !isa<BufferType>(product.getLhs().getType()) || isStageOrStill(product.getLhs());
      if (lhsIsThere && isStageOrStill(product.getRhs()))
        lasting.push_back(product);
    }
    if (lasting.empty())
      return;
    const int64_t programs =
        std::clamp<int64_t>(programsWith(stageCount), 1, programsByRegisters());
    if (programsWith(stageCount + 1) >= programs && isRoomFor(stageCount + 1))
      ++stageCount;
    else if (stageCount < 3)
      lasting.clear();
  }

  /// Whether a product's operand is what this loop copies ahead, or lies still.
  bool isStageOrStill(Value operand) const {
    Operation *maker = bufferBehind(operand, loop).getDefiningOp();
    return maker && (!loop->isAncestor(maker) || chosen.has(loadBehind(operand)));
  }

  /// The load of the loop that fills the buffer of an operand; null where it is filled otherwise.
  Operation *loadBehind(Value operand) const {
    auto inLoop = bufferBehind(operand, loop).getDefiningOp<ToBufferOp>();
    return inLoop ? inLoop.getValue().getDefiningOp() : nullptr;
  }

  /// Returns the loop's first product where warps may start it before they meet: each has waited
  /// for the bytes that the engine has brought, and what the next copies overwrite it does not
  /// read. While the matrix units work none is kept from its products by a warp that comes later.
  DotAsyncOp firstBeforeCopies() {
    auto products = loop.getOps<DotAsyncOp>();
    return chosen.areByThreads() || products.empty() ? DotAsyncOp() : *products.begin();
  }

  /// Whether no warp waits for others in a round, but the one that starts copies: it waits until
  /// all are through with the round before. Then nothing but products may read the stages. Warps
  /// that all multiply together meet anyway, and a barrier is cheaper (1024 cubed on an H200,
  /// 64x128x64: 1.01 of cuBLAS, 0.94 so).
  bool countsRounds() {
    bool isReadElsewhere = false;
    for (const AsyncLoad &ahead : loads)
      isReadElsewhere |= !llvm::all_of(ahead.load->getUsers(), llvm::IsaPred<ToBufferOp>);
    DotAsyncOp first = firstBeforeCopies();
    const layout::MatrixInstruction *instruction =
        first && shape.bufferInstruction ? shape.bufferInstruction(first.getInstruction())
                                         : nullptr;
    return instruction && instruction->warpCount() < shape.warpCount && !meetsTwice &&
           !isReadElsewhere;
  }

  /// Programs on a multiprocessor whose loop has so many stages.
  int64_t programsWith(int64_t stages) {
    return room.programsWith(bytesOfStages(stages) + room.still() +
                             room.scratchBeside(besideStages(), StageRoom::Pieces::Least));
  }

  /// Whether shared memory suffices for the stages of two programs, or of one where registers do
  /// for no more.
  bool isRoomForPrograms() {
    return isRoomFor(stageCount) &&
           programsWith(stageCount) >= std::min<int64_t>(2, programsByRegisters());
  }

  /// Programs on a multiprocessor that registers suffice for if a thread holds the sums of all the
  /// loop's products at once.
  int64_t programsByRegisters() {
    int64_t words = 0;
    loop.getBody()->walk([&](Operation *op) {
      if (isa<DotOp, DotAsyncOp>(op))
        words += wordsPerThread(op->getResult(0).getType());
    });
    return room.programsByRegisters(words);
  }

  /// Decides whether copies go on into the next round of the loop around this one: all are the
  /// engine's, for which a round is a few numbers, and the stages may keep their bytes while the
  /// rest of the outer loop's body runs.
  void goOnAcrossRounds() {
    outer = dyn_cast<scf::ForOp>(loop->getParentOp());
    if (!outer || chosen.areByThreads())
      return;
    nest.emplace(outer, loop, slice);
    std::string whyNot = nest->whyNot();
    if (whyNot.empty() && chosen.areBehindStores())
      whyNot = "the engine is to see what is stored in front of it";
    if (whyNot.empty() && llvm::any_of(loads, [&](const AsyncLoad &ahead) {
          return ahead.block->isEdited && !isSameThroughout(*ahead.block, outer);
        }))
      whyNot = "it reads other arrays then, whose addresses are loaded";
    if (whyNot.empty() && hasOtherProductLoops())
      whyNot = "another loop there has products, too";
    if (whyNot.empty() && (!isRoomFor(stageCount) || leavesFewerPrograms()))
      whyNot = "shared memory does not suffice for its stages beside what follows the loop";
    if (whyNot.empty())
      return;
    nest.reset();
    addRemark(assumed.remarks, loop.getLoc(), "not-across-rounds",
              "its copies end with it, and begin anew in the next round of the loop around it: " +
                  whyNot);
  }

  /// Whether the outer loop has other loops with products, whose stages would want room beside.
  bool hasOtherProductLoops() {
    bool has = false;
    outer.getBody()->walk([&](scf::ForOp other) { has |= other != loop && multiplies(other); });
    return has;
  }

  /// Whether bytes of the stages that nothing else can take cost a program on each multiprocessor.
  bool leavesFewerPrograms() {
    int64_t most = INT64_MAX;
    loop.getBody()->walk([&](Operation *op) {
      if (isa<DotOp, DotAsyncOp>(op))
        most = std::min(most, room.programsByRegisters(wordsPerThread(op->getResult(0).getType())));
    });
    const int64_t bytes = bytesOfStages(stageCount),
                  later = room.scratchBeside(outer, StageRoom::Pieces::Least) + room.otherBuffers();
    return std::min(most, room.programsWith(bytes + later)) <
           std::min(most, room.programsWith(std::max(bytes, later)));
  }

  /// The loop beside whose body the stages keep their bytes.
  scf::ForOp besideStages() const { return nest ? outer : loop; }

  /// Shared memory of so many stages.
  int64_t bytesOfStages(int64_t stages) const {
    int64_t bytes = 0;
    for (const AsyncLoad &ahead : loads)
      bytes += bufferOf(ahead, 1).getStageBytes() * (isFreedEarly(ahead) ? stages - 1 : stages);
    return bytes;
  }

  /// Whether the stages of a load are free a round before those that a delayed product reads, so
  /// that one fewer suffices.
  bool isFreedEarly(const AsyncLoad &ahead) const {
    if (!delayed)
      return false;
    DotAsyncOp late = delayed->start;
    return ahead.load != loadBehind(late.getRhs());
  }

  int64_t stagesOf(const AsyncLoad &ahead) const {
    return isFreedEarly(ahead) ? stageCount - 1 : stageCount;
  }

  bool isRoomFor(int64_t stages) {
    // Two memory barriers for each stage.
    return room.otherBuffers() + bytesOfStages(stages) +
               room.scratchBeside(besideStages(), StageRoom::Pieces::Whole) +
               int64_t(2 * sizeof(int64_t)) * stages <=
           shape.sharedBytes;
  }

  void notePipelined(const AsyncLoad &ahead) {
    LoadOp load = ahead.load;
    const int64_t stages = stagesOf(ahead);
    auto type = cast<RankedTensorType>(load.getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    addRemark(assumed.remarks, load.getLoc(), "pipelined",
              std::to_string(distance()) +
                  (distance() == 1 ? " iteration ahead, through " : " iterations ahead, through ") +
                  std::to_string(stages) + " stages in shared memory" +
                  (ahead.block ? ", by the copy engine" : "") +
                  (nest ? ", on into the next round of the loop around" : ""),
              {{"iterations_ahead", distance()},
               {"stages", stages},
               {"through_shared_memory", 1},
               {"stage_bytes", bytes},
               {"by_copy_engine", ahead.block ? 1 : 0},
               {"across_rounds", nest ? 1 : 0}});
  }

  /// Numbers of the stages of a round: of buffers that have them all, and memory barriers, and of
  /// those that have one fewer.
  struct Stages {
    Value all, fewer;
    int64_t count;
    Value of(Value buffer) const {
      return cast<BufferType>(buffer.getType()).getStages() == count ? all : fewer;
    }
  };
  Stages sameStages(Value stage) const { return {stage, stage, stageCount}; }

  Value constant(Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getIntegerAttr(type, number));
  }

  /// Starts the copies of an iteration whose slice `there` has, if it exists, into those stages.
  void startCopies(const IRMapping &there, const Stages &stages, Value exists) {
    if (full) {
      int64_t bytes = 0;
      for (const AsyncLoad &ahead : loads) {
        auto tile = cast<BufferType>(ahead.buffer.getType());
        if (ahead.block)
          bytes += ShapedType::getNumElements(tile.getShape()) *
                   tile.getElement().getIntOrFloatBitWidth() / 8;
      }
      MBarrierExpectOp::create(builder, loop.getLoc(), full, stages.all,
                               builder.getI64IntegerAttr(bytes), exists);
    }
    for (const AsyncLoad &ahead : loads)
      if (ahead.block)
        startTensorCopy(builder, *ahead.block, ahead.map, there, ahead.buffer,
                        stages.of(ahead.buffer), full, stages.all, exists);
      else
        startCopy(builder, ahead, there, stages.of(ahead.buffer), exists);
    if (chosen.areByThreads())
      AsyncCommitOp::create(builder, loop.getLoc());
  }

  /// Starts the copies of the loop's first iterations, and returns the slice's values for those
  /// that follow.
  SmallVector<Value> startFirst(LoopExtent &extent) {
    Location place = loop.getLoc();
    Value index = loop.getLowerBound(), exists = extent.hasFirst(builder);
    SmallVector<Value> ahead = slice.initial();
    for (int64_t stage = 0; stage < distance(); ++stage) {
      IRMapping there = slice.clone(builder, index, ahead);
      startCopies(there, sameStages(constant(builder.getI32Type(), stage)), exists);
      ahead = slice.next(there);
      if (stage + 1 == distance())
        break;
      exists = arith::AndIOp::create(builder, place, exists, extent.hasNext(builder, index));
      index = arith::AddIOp::create(builder, place, index, loop.getStep());
    }
    return ahead;
  }

  /// Starts the copies of the nest's first iterations, and returns the position behind them. They
  /// are of the first round of the outer loop where that has more, which costs no branch for each.
  NestPosition startFirstOfNest(LoopExtent &extent) {
    Location place = loop.getLoc();
    NestPosition position = nest->first(builder);
    Value exists = nest->exists(builder, position);
    Value isLong = arith::AndIOp::create(builder, place, exists,
                                         extent.hasLater(builder, loop.getLowerBound()));
    auto branch = scf::IfOp::create(builder, place, ValueRange(position.all()).getTypes(), isLong,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    NestPosition ahead = position;
    for (int64_t stage = 0; stage < distance(); ++stage) {
      IRMapping there = nest->clone(builder, ahead);
      startCopies(there, sameStages(constant(builder.getI32Type(), stage)), exists);
      ahead = nest->nextInner(builder, ahead, there);
    }
    scf::YieldOp::create(builder, place, ahead.all());
    builder.setInsertionPointToStart(branch.elseBlock());
    Type i32 = builder.getI32Type();
    auto each = scf::ForOp::create(builder, place, constant(i32, 0), constant(i32, distance()),
                                   constant(i32, 1), position.all());
    builder.setInsertionPointAfter(each);
    scf::YieldOp::create(builder, place, each.getResults());
    builder.setInsertionPointToStart(each.getBody());
    ahead.setAll(each.getRegionIterArgs());
    IRMapping there = nest->clone(builder, ahead);
    startCopies(there, sameStages(each.getInductionVar()), nest->exists(builder, ahead));
    scf::YieldOp::create(builder, place, nest->next(builder, ahead, there).all());
    position.setAll(branch.getResults());
    return position;
  }

  /// Makes the memory barriers of the stages, at the builder's place.
  void makeBarriers() {
    Location place = loop.getLoc();
    auto function = loop->getParentOfType<func::FuncOp>();
    auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
    full = MBarrierAllocOp::create(atEntry, place,
                                   MBarriersType::get(builder.getContext(), stageCount));
    // Whatever the bytes of the stages held before is out of the engine's way, too.
    MBarrierInitOp::create(builder, place, full);
    if (countsRounds()) {
      over = MBarrierAllocOp::create(atEntry, place, full.getType());
      MBarrierInitOp::create(builder, place, over,
                             builder.getI32IntegerAttr(int32_t(shape.warpCount)));
    }
    const bool isBehindStores = chosen.areBehindStores();
    ProxyFenceOp::create(builder, place, /*global=*/isBehindStores);
    BarrierOp::create(builder, place, /*sharedOnly=*/!isBehindStores);
  }

  /// Lets the warp that starts copies wait until all are through with the round before that whose
  /// stage and phase these are. In front of the first round there is nothing to wait for: a barrier
  /// is taken to be behind a phase of parity 1.
  void waitForRoundBefore(Value stage, Value parity) {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    Value isFirst =
        arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, stage, constant(i32, 0));
    Value less = arith::SubIOp::create(builder, place, stage, constant(i32, 1));
    Value before =
        arith::SelectOp::create(builder, place, isFirst, constant(i32, stageCount - 1), less);
    Value phase = arith::XOrIOp::create(builder, place, parity,
                                        arith::ExtUIOp::create(builder, place, i32, isFirst));
    MBarrierWaitOp::create(builder, place, over, before, phase, /*of_copies=*/true);
  }

  void rewrite() {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    bool hasFewer = false; // stages of some buffer
    for (AsyncLoad &ahead : loads) {
      allocateBuffer(ahead, stagesOf(ahead));
      hasFewer |= isFreedEarly(ahead);
    }
    if (nest)
      builder.setInsertionPoint(outer);
    if (chosen.areByEngine())
      makeBarriers();
    LoopExtent extent(builder, loop, distance());
    NestPosition position, crossing;
    SmallVector<Value> running;
    if (nest) {
      position = startFirstOfNest(extent);
      crossing = nest->behind(builder, position);
      running = position.ofInner();
    } else {
      running = startFirst(extent);
    }
    const size_t aheadCount = running.size();
    // The stages that are read and written, and the parity of the phase that is read.
    for (int rings = hasFewer ? 2 : 1; rings > 0; --rings) {
      running.push_back(constant(i32, 0));
      running.push_back(constant(i32, distance()));
    }
    if (full)
      running.push_back(constant(i32, 0));
    if (nest) {
      const size_t outerOwn = outer.getNumRegionIterArgs();
      SmallVector<Value> carried(running);
      llvm::append_range(carried, crossing.all());
      outer = carryMore(builder, outer, carried);
      nest.emplace(outer, loop, slice);
      ValueRange arguments = ValueRange(outer.getRegionIterArgs()).drop_front(outerOwn);
      running.assign(arguments.begin(), arguments.begin() + running.size());
      position.setOfInner(arguments.take_front(aheadCount));
      crossing.setAll(arguments.drop_front(running.size()));
      builder.setInsertionPoint(loop);
    }

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, running);
    const unsigned ownCount = loop.getNumRegionIterArgs(), firstStage = ownCount + aheadCount;
    scf::ForOp made = rebuildLoop(builder, loop, initial);
    builder.setInsertionPointToStart(made.getBody());
    auto arguments = made.getRegionIterArgs();
    auto aheadArguments = arguments.slice(ownCount, aheadCount);
    Stages read{arguments[firstStage], {}, stageCount},
        write{arguments[firstStage + 1], {}, stageCount};
    if (hasFewer) {
      read.fewer = arguments[firstStage + 2];
      write.fewer = arguments[firstStage + 3];
    }

    if (chosen.areByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(distance() - 1));
    if (llvm::any_of(loads, [](const AsyncLoad &ahead) {
          return !ahead.block && isReadByProduct(ahead.load);
        }))
      ProxyFenceOp::create(builder, place);
    if (full)
      MBarrierWaitOp::create(builder, place, full, read.all, arguments.back());
    DotAsyncOp first = firstBeforeCopies();
    if (!first)
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
    Value now = made.getInductionVar();
    SmallVector<Value> aheadNext;
    auto startLater = [&] {
      SmallVector<Value> at(aheadArguments);
      if (nest) {
        NestPosition here = crossing;
        here.setOfInner(at);
        IRMapping there = nest->clone(builder, here);
        startCopies(there, write, nest->exists(builder, here));
        aheadNext = nest->advance(builder, here, there, crossing).ofInner();
        return;
      }
      Value later = extent.later(builder, now), exists = extent.hasLater(builder, now);
      IRMapping there = slice.clone(builder, later, at);
      startCopies(there, write, exists);
      aheadNext = slice.next(there);
    };
    // Before the product where that is possible: they have a round more to arrive.
    if (!meetsTwice && !first)
      startLater();

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), made.getInductionVar());
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), arguments))
      mapping.map(from, to);
    llvm::DenseMap<Operation *, Value> buffers;
    for (AsyncLoad &each : loads)
      buffers[each.load] = each.buffer;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (Value ring = buffers.lookup(&op)) {
        // Products and conversions read it at their own places.
        if (!llvm::all_of(op.getUsers(), llvm::IsaPred<ToBufferOp, ConvertLayoutOp>))
          mapping.map(op.getResult(0),
                      BufferLoadOp::create(builder, op.getLoc(), op.getResult(0).getType(), ring,
                                           read.of(ring))
                          .getResult());
        continue;
      }
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
          mapping.map(toBuffer.getResult(), stageOf(toBuffer, ring, read.of(ring)));
          continue;
        }
      auto convert = dyn_cast<ConvertLayoutOp>(op);
      Operation *source = convert ? convert.getSrc().getDefiningOp() : nullptr;
      if (auto found = buffers.find(source); source && found != buffers.end())
        mapping.map(convert.getResult(),
                    BufferLoadOp::create(builder, op.getLoc(), convert.getType(), found->second,
                                         read.of(found->second))
                        .getResult());
      else if (auto product = dyn_cast<DotAsyncOp>(builder.clone(op, mapping))) {
        product.setDelayable(delayed && &op == delayed->start);
        product.setLasting(llvm::is_contained(lasting, &op));
      }
      if (first && &op == first && !meetsTwice) {
        if (over)
          waitForRoundBefore(read.all, arguments.back());
        else
          BarrierOp::create(builder, place, /*sharedOnly=*/true);
        startLater();
      }
    }
    if (over)
      MBarrierArriveOp::create(builder, place, over, read.all);
    auto isLastStage = [&](Value stage, int64_t count) -> Value {
      return arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, stage,
                                   constant(i32, count - 1));
    };
    auto nextStage = [&](Value stage, int64_t count) -> Value {
      Value more = arith::AddIOp::create(builder, place, stage, constant(i32, 1));
      return arith::SelectOp::create(builder, place, isLastStage(stage, count), constant(i32, 0),
                                     more);
    };
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadNext);
    yielded.push_back(nextStage(read.all, stageCount));
    yielded.push_back(nextStage(write.all, stageCount));
    if (hasFewer) {
      yielded.push_back(nextStage(read.fewer, stageCount - 1));
      yielded.push_back(nextStage(write.fewer, stageCount - 1));
    }
    if (full)
      yielded.push_back(arith::XOrIOp::create(
          builder, place, arguments.back(),
          arith::ExtUIOp::create(builder, place, i32, isLastStage(read.all, stageCount))));
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, place, yielded);
    // Copies of rounds that do not exist write zeros; behind them the buffers' bytes are free.
    builder.setInsertionPointAfter(made);
    SmallVector<Value> carried(made.getResults().drop_front(ownCount));
    if (nest) {
      // Under the last product, whose wait follows.
      llvm::append_range(carried, nest->behind(builder, crossing).all());
      Operation *end = outer.getBody()->getTerminator();
      end->insertOperands(end->getNumOperands(), carried);
    }
    SmallVector<Value> results(made.getResults().take_front(ownCount));
    if (inFlight) {
      Value &product = results[inFlight->argument];
      product = DotWaitOp::create(builder, inFlight->wait.getLoc(), TypeRange{product.getType()},
                                  builder.getI32IntegerAttr(0), ValueRange{product})
                    .getResult(0);
    }
    if (chosen.areByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(0));
    if (nest)
      builder.setInsertionPointAfter(outer);
    if (full) {
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
      MBarrierEndOp::create(builder, place, full);
      if (over)
        MBarrierEndOp::create(builder, place, over);
    }
    loop.replaceAllUsesWith(results);
    loop.erase();
    if (nest) {
      builder.setInsertionPointToStart(outer.getBody());
      nest->reuse(builder, position);
    }
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
  GpuAssumptions &assumed;
  OpBuilder builder;
  StageRoom room;
  AheadLoads chosen;
  SmallVectorImpl<AsyncLoad> &loads;
  LoopSlice &slice;
  Value over; // memory barriers that warps arrive at when a round is over; null: there are none
  Value full; // memory barriers of the stages that the engine fills; null: it fills none
  std::optional<CarriedProduct> inFlight;
  std::optional<DelayedProduct> delayed;
  SmallVector<DotAsyncOp, 2> lasting; // products that go on into the next round
  bool meetsTwice = false;
  scf::ForOp outer;              // around the loop, if one is
  std::optional<NestSlice> nest; // of both, if copies go on from round to round of the outer one
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
  std::optional<IndexAnalysis> analysis;
  PointerProvenance provenance(function);
  const LoopWrites allWrites(function, provenance, options.argumentsOverlap);
  for (scf::ForOp loop : loops) {
    LoopWrites writes(loop, provenance, options.argumentsOverlap);
    if (shape().asyncCopies == AsyncKind::None) {
      if (multiplies(loop))
        stageLoads(loop, shape(), nullptr, writes, assumed());
      continue;
    }
    if (!analysis)
      analysis.emplace(function);
    if (shape().asyncCopies == AsyncKind::WholeWarps) {
      if (multiplies(loop)) {
        stageLoads(loop, shape(), &*analysis, writes, assumed());
        // It is of the loops as they were.
        analysis.reset();
      }
      continue;
    }
    LoopPipeliner pipeliner(loop, shape(), stagesOf(loop, options.stageCount), *analysis, writes,
                            allWrites, assumed());
    pipeliner.run();
    // It is of the loops as they were.
    if (pipeliner.hasChanged())
      analysis.reset();
  }
}

} // namespace

bool isFedByEngine(scf::ForOp loop, const GpuPipelineOptions &options) {
  const int64_t stages = stagesOf(loop, options.stageCount);
  auto function = loop->getParentOfType<func::FuncOp>();
  if (stages < 2 || !function)
    return false;
  const IndexAnalysis analysis(function);
  PointerProvenance provenance(function);
  const LoopWrites allWrites(function, provenance, options.argumentsOverlap),
      writes(loop, provenance, options.argumentsOverlap);
  GpuAssumptions dropped;
  return AheadLoads(loop, options.shape, analysis, writes, allWrites, dropped).areAllByEngine();
}

int64_t stagesOf(scf::ForOp loop, int64_t otherwise) {
  auto wished = loop->getAttrOfType<IntegerAttr>(kStagesAttr);
  return wished ? wished.getInt() : otherwise;
}

std::unique_ptr<Pass> createPipelineLoops(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<PipelineLoops>(options, assumed);
}

} // namespace sectile::optimizer
