#include "optimizer/gpu/PipelineLoops.h"

#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/StageLoads.h"
#include "optimizer/gpu/StageRings.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Rewrites a loop as is planned.
class LoopPipeliner : StagePlan {
public:
  using StagePlan::StagePlan;

  /// Returns whether anything has changed.
  bool run() {
    if (!decide())
      return false;
    rewrite();
    return true;
  }

private:
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
    if (turns && isBeforeTurns)
      exists = arith::AndIOp::create(builder, loop.getLoc(), exists, turns->isFirst());
    const SmallVector<const AsyncLoad *, 2> all =
        llvm::map_to_vector<2>(loads, [](const AsyncLoad &ahead) { return &ahead; });
    if (full)
      announceBytes(builder, all, full, stages.all, exists);
    for (const AsyncLoad *ahead : all)
      if (ahead->block)
        startTensorCopy(builder, *ahead->block, ahead->map, there, ahead->buffer,
                        stages.of(ahead->buffer), full, stages.all, exists);
      else
        startCopy(builder, *ahead, there, stages.of(ahead->buffer), exists);
    if (chosen.areByThreads())
      AsyncCommitOp::create(builder, loop.getLoc());
  }

  /// Values that the loop carries for the next round that copies start of: the slice's, and what
  /// its addresses are given.
  struct Ahead {
    SmallVector<Value> slice;
    GivenLoads::State given;

    SmallVector<Value> all() const {
      SmallVector<Value> values(slice);
      llvm::append_range(values, given.all());
      return values;
    }
    /// As many values as `all` has.
    void setAll(ValueRange values) {
      slice.assign(values.begin(), values.begin() + slice.size());
      given.setAll(values.drop_front(slice.size()));
    }
  };

  /// Starts the copies of the loop's first iterations, and returns the values for those that
  /// follow.
  Ahead startFirst(LoopExtent &extent) {
    Location place = loop.getLoc();
    Value index = loop.getLowerBound(), exists = extent.hasFirst(builder);
    Ahead ahead{slice.initial(), given.initial()};
    loadGiven(index, exists, ahead);
    for (int64_t stage = 0; stage < distance(); ++stage) {
      IRMapping there = slice.clone(builder, index, ahead.slice, given.results(ahead.given));
      startCopies(there, sameStages(constant(builder.getI32Type(), stage)), exists);
      ahead.slice = slice.next(there);
      if (stage + 1 == distance() && given.isEmpty())
        break;
      exists = arith::AndIOp::create(builder, place, exists, extent.hasNext(builder, index));
      index = arith::AddIOp::create(builder, place, index, loop.getStep());
      loadGiven(index, exists, ahead);
    }
    return ahead;
  }

  void loadGiven(Value index, Value exists, Ahead &ahead) {
    if (!given.isEmpty())
      given.load(builder, index, exists, ahead.given);
  }

  /// Starts the copies of the nest's first iterations, and returns the position behind them. They
  /// are of the first round of the outer loop where that has more, which costs no branch for each.
  NestPosition startFirstOfNest(LoopExtent &extent) {
    Location place = loop.getLoc();
    NestPosition position = nest->first(builder);
    if (areApart)
      position = nest->onlyIf(builder, areApart, position);
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

  /// Returns the first position of the outer loop's next round.
  NestPosition behind(const NestPosition &position) {
    NestPosition next = nest->behind(builder, position);
    return areApart ? nest->onlyIf(builder, areApart, next) : next;
  }

  /// In a round of the outer loop, starts its first copies where none has been started before it,
  /// since they may read what the rounds before have stored. `running` is what the inner loop is to
  /// carry: the position, stages and a parity.
  void startAnew(SmallVectorImpl<Value> &running, const NestPosition &crossing, size_t aheadCount) {
    Location place = loop.getLoc();
    ArrayRef<Value> position = ArrayRef(running).take_front(aheadCount);
    auto begun = scf::IfOp::create(builder, place, ValueRange(position).getTypes(), areApart,
                                   /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(begun.thenBlock());
    scf::YieldOp::create(builder, place, position);
    builder.setInsertionPointToStart(begun.elseBlock());
    ProxyFenceOp::create(builder, place, /*global=*/true);
    BarrierOp::create(builder, place, /*sharedOnly=*/false);
    Stages stages{running[aheadCount], {}, stageCount};
    if (hasFewer())
      stages.fewer = running[aheadCount + 2];
    NestPosition ahead = nest->here(builder);
    for (int64_t stage = 0; stage < distance(); ++stage) {
      IRMapping there = nest->clone(builder, ahead);
      startCopies(there, stages, nest->exists(builder, ahead));
      ahead = nest->advance(builder, ahead, there, crossing);
      stages.all = nextStage(stages.all, stageCount);
      if (stages.fewer)
        stages.fewer = nextStage(stages.fewer, stageCount - 1);
    }
    scf::YieldOp::create(builder, place, ahead.ofInner());
    llvm::copy(begun.getResults(), running.begin());
  }

  /// Makes the memory barriers of the stages, at the builder's place.
  void makeBarriers() {
    Location place = loop.getLoc();
    auto function = loop->getParentOfType<func::FuncOp>();
    auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
    auto make = [&](int64_t count, IntegerAttr arrivals) {
      auto type = MBarriersType::get(builder.getContext(), count);
      Value made = MBarrierAllocOp::create(atEntry, place, type, /*of_block=*/turns.has_value());
      MBarrierInitOp::create(builder, place, made, arrivals);
      return made;
    };
    const bool isBehindStores = chosen.areBehindStores();
    if (producer) {
      rings.emplace(static_cast<StagePlan &>(*this));
      rings->makeBarriers(builder, shape.warpCount);
      if (isBehindStores || (turns && !isOfWorkers(outer))) {
        stored.emplace(outer, apart, guarded, turns ? kTeams : 1);
        stored->makeBarriers(builder, shape.warpCount);
      }
    } else {
      // Whatever the bytes of the stages held before is out of the engine's way, too.
      full = make(stageCount, IntegerAttr());
      if (countsRounds())
        over = make(stageCount, builder.getI32IntegerAttr(int32_t(shape.warpCount)));
    }
    if (turns)
      turns->make(builder, function, shape.warpCount);
    ProxyFenceOp::create(builder, place, /*global=*/isBehindStores);
    if (producer)
      rings->makeProducer(builder, stored ? &*stored : nullptr);
    else
      BarrierOp::create(builder, place, /*sharedOnly=*/!isBehindStores,
                        /*of_block=*/turns.has_value());
    if (turns)
      turns->begin(builder, overOfTurns());
  }
  /// The memory barriers that say that a round of either team is over.
  Value overOfTurns() const { return producer ? rings->rings.front().over : over; }

  /// Returns the operation that a producer may begin in front of: while it starts the first copies
  /// the program loads what else it needs. Stages take no bytes of scratch that is in use there.
  Operation *firstPlaceOfProducer() {
    Operation *place = producer->outermost();
    auto mayStandBehind = [&](Operation *op) {
      if (op->getNumRegions() || (shape.scratchBytes && shape.scratchBytes(op)) ||
          isa<TensorMapOp, BufferAllocOp, MBarrierAllocOp>(op))
        return false;
      auto load = dyn_cast<LoadOp>(op);
      return isPure(op) || (load && !load.getIsVolatile());
    };
    while (Operation *before = place->getPrevNode()) {
      if (!mayStandBehind(before))
        break;
      place = before;
    }
    return place;
  }

  /// Lets the products of a round of the loop around read what the producer copies for it; `parity`
  /// is of its phase, `made` the inner loop.
  void readAround(Value parity, scf::ForOp made) {
    StageRing &ring = *rings->around;
    builder.setInsertionPoint(around.front().load);
    ring.stage = constant(builder.getI32Type(), 0);
    ring.parity = parity;
    rings->awaitBytes(builder, ring);
    for (const AsyncLoad &ahead : around) {
      LoadOp load = ahead.load;
      auto toBuffer = cast<ToBufferOp>(*load->user_begin());
      builder.setInsertionPoint(toBuffer);
      toBuffer.replaceAllUsesWith(stageOf(toBuffer, ahead.buffer, ring.stage));
      toBuffer.erase();
      load.erase();
    }
    builder.setInsertionPointAfter(made);
    sayOver(ring.over, ring.stage, Value());
  }

  Value nextStage(Value stage, int64_t count) {
    return optimizer::nextStage(builder, loop.getLoc(), stage, count);
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

  /// Arrives at the memory barriers of stages that are free again, in the round of that stage;
  /// `now` is the loop's index.
  void sayOver(Value barriers, Value stage, Value now) {
    Value isNotFirst;
    if (turns) // whether the product before is done the other team knows
      isNotFirst = arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::ne, now,
                                         loop.getLowerBound());
    MBarrierArriveOp::create(builder, loop.getLoc(), barriers, stage, isNotFirst);
  }

  void rewrite() {
    Location place = loop.getLoc();
    Type i32 = builder.getI32Type();
    const bool hasFewer = this->hasFewer();
    for (AsyncLoad &ahead : loads) {
      allocateBuffer(ahead, stagesOf(ahead));
      ahead.buffer.getDefiningOp<BufferAllocOp>().setOfBlock(turns.has_value());
    }
    for (AsyncLoad &ahead : around)
      allocateBuffer(ahead, /*stages=*/1);
    for (AsyncLoad &ahead : llvm::concat<AsyncLoad>(loads, around))
      if (ahead.block && !(producer && ahead.block->isEdited)) // a producer does so itself
        describeToEngine(ahead);
    if (nest)
      builder.setInsertionPoint(outer);
    if (producer) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(firstPlaceOfProducer());
      makeBarriers();
    } else if (chosen.areByEngine()) {
      makeBarriers();
    }
    std::optional<LoopExtent> extent;
    if (!producer)
      extent.emplace(builder, loop, distance());
    NestPosition position, crossing;
    Ahead ahead;
    SmallVector<Value> running;
    if (producer) {
      builder.setInsertionPoint(producer->outermost());
      running = rings->first(builder);
    } else if (nest) {
      if (apart)
        areApart = apart->emit(builder);
      position = startFirstOfNest(*extent);
      isBeforeTurns = false;
      crossing = behind(position);
      running = position.ofInner();
    } else {
      ahead = startFirst(*extent);
      running = ahead.all();
    }
    const size_t aheadCount = producer ? 0 : running.size();
    // The stages that are read and written, and the parity of the phase that is read.
    for (int each = producer ? 0 : hasFewer ? 2 : 1; each > 0; --each) {
      running.push_back(constant(i32, 0));
      running.push_back(constant(i32, distance()));
    }
    if (full)
      running.push_back(constant(i32, 0));
    if (nest) {
      const size_t outerOwn = outer.getNumRegionIterArgs();
      SmallVector<Value> carried(running);
      if (!producer)
        llvm::append_range(carried, crossing.all());
      if (turns)
        carried.push_back(turns->firstParity(builder));
      else if (!around.empty())
        carried.push_back(constant(i32, 0));
      if (stored)
        carried.push_back(constant(i32, 0));
      if (producer) {
        SmallVector<Value> all(carried);
        if (stored && apart) // the number of the visit
          all.push_back(constant(i32, 0));
        throughNest.emplace(builder, outer, all);
        ValueRange entering = throughNest->entering().take_front(carried.size());
        carried.assign(entering.begin(), entering.end());
        builder.setInsertionPoint(outer);
      }
      if (turns) {
        Value number = turns->begin(builder, outer, stored ? carried.back() : Value());
        if (stored)
          carried.back() = number;
        skipOtherTeam(carried, position, crossing);
      }
      outer = carryMore(builder, outer, carried);
      nest.emplace(outer, loop, slice);
      if (stored) {
        builder.setInsertionPoint(outer);
        stored->enter(builder, outer);
      }
      ValueRange arguments = ValueRange(outer.getRegionIterArgs()).drop_front(outerOwn);
      if (stored)
        arguments = arguments.drop_back();
      builder.setInsertionPoint(loop);
      if (turns || !around.empty()) {
        outerParity = arguments.back();
        arguments = arguments.drop_back();
      }
      if (turns)
        turns->await(builder, outerParity);
      running.assign(arguments.begin(), arguments.begin() + running.size());
      if (!producer) {
        position.setOfInner(arguments.take_front(aheadCount));
        crossing.setAll(arguments.drop_front(running.size()));
      }
      if (areApart)
        startAnew(running, crossing, aheadCount);
    }

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, running);
    const unsigned ownCount = loop.getNumRegionIterArgs(), firstStage = ownCount + aheadCount;
    scf::ForOp made = rebuildLoop(builder, loop, initial);
    builder.setInsertionPointToStart(made.getBody());
    auto arguments = made.getRegionIterArgs();
    auto aheadArguments = arguments.slice(ownCount, aheadCount);
    Stages read{arguments[firstStage], {}, stageCount}, write = read;
    if (producer) {
      rings->enter(arguments.drop_front(firstStage));
      if (hasFewer)
        read = {rings->rings.front().stage, rings->rings.back().stage, stageCount};
    } else {
      write.all = arguments[firstStage + 1];
      read.fewer = hasFewer ? arguments[firstStage + 2] : Value();
      write.fewer = hasFewer ? arguments[firstStage + 3] : Value();
    }

    if (chosen.areByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(distance() - 1));
    if (llvm::any_of(loads, [](const AsyncLoad &ahead) {
          return !ahead.block && isReadByProduct(ahead.load);
        }))
      ProxyFenceOp::create(builder, place);
    if (full)
      MBarrierWaitOp::create(builder, place, full, read.all, arguments.back());
    Operation *earlyWait = nullptr;
    const bool hasRings = producer && rings->rings.size() > 1;
    if (producer)
      rings->awaitBytes(builder, rings->rings.back());
    if (hasRings)
      earlyWait = lastEarlyWait();
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
      Value later = extent->later(builder, now), exists = extent->hasLater(builder, now);
      ahead.setAll(at);
      IRMapping there = slice.clone(builder, later, ahead.slice, given.results(ahead.given));
      startCopies(there, write, exists);
      ahead.slice = slice.next(there);
      if (!given.isEmpty()) {
        exists = arith::AndIOp::create(builder, place, exists, extent->hasNext(builder, later));
        loadGiven(arith::AddIOp::create(builder, place, later, loop.getStep()), exists, ahead);
      }
      aheadNext = ahead.all();
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
      else {
        if (hasRings && &op == delayed->start)
          rings->awaitBytes(builder, rings->rings.front());
        if (auto product = dyn_cast<DotAsyncOp>(builder.clone(op, mapping))) {
          product.setDelayable(delayed && &op == delayed->start);
          product.setLasting(llvm::is_contained(lasting, &op));
        }
        if (&op == earlyWait)
          sayOver(rings->rings.back().over, rings->rings.back().stage, now);
      }
      if (first && &op == first && !meetsTwice && !producer) {
        if (over)
          waitForRoundBefore(read.all, arguments.back());
        else
          BarrierOp::create(builder, place, /*sharedOnly=*/true);
        startLater();
      }
    }
    if (producer)
      for (const StageRing &ring : rings->rings)
        if (!earlyWait || &ring != &rings->rings.back())
          sayOver(ring.over, ring.stage, now);
    if (over)
      sayOver(over, read.all, now);
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadNext);
    if (producer) {
      llvm::append_range(yielded, rings->next(builder));
    } else {
      yielded.push_back(nextStage(read.all, stageCount));
      yielded.push_back(nextStage(write.all, stageCount));
    }
    if (hasFewer && !producer) {
      yielded.push_back(nextStage(read.fewer, stageCount - 1));
      yielded.push_back(nextStage(write.fewer, stageCount - 1));
    }
    if (full)
      yielded.push_back(flipped(builder, place, arguments.back(),
                                isLastStage(builder, place, read.all, stageCount)));
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, place, yielded);
    // Copies of rounds that do not exist write zeros; behind them the buffers' bytes are free.
    builder.setInsertionPointAfter(made);
    SmallVector<Value> carried(made.getResults().drop_front(ownCount));
    if (turns)
      turns->pass(builder);
    if (nest) {
      // Under the last product, whose wait follows.
      if (!producer)
        llvm::append_range(carried, behind(crossing).all());
      if (turns)
        carried = behindOtherTeam(carried, position, crossing);
      if (outerParity)
        carried.push_back(arith::XOrIOp::create(builder, place, outerParity, constant(i32, 1)));
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
    if (turns)
      turns->endRounds(builder, overOfTurns(), made.getResult(firstStage));
    if (stored) {
      OpBuilder::InsertionGuard guard(builder);
      Value number = outer.getRegionIterArgs().back();
      stored->awaitOtherTeam(builder, number);
      Operation *end = outer.getBody()->getTerminator();
      builder.setInsertionPoint(end);
      end->insertOperands(end->getNumOperands(), stored->endRound(builder, number));
    }
    if (chosen.areByThreads())
      AsyncWaitOp::create(builder, place, builder.getI32IntegerAttr(0));
    if (nest)
      builder.setInsertionPointAfter(outer);
    if (throughNest)
      leaveNest();
    if (full && !turns) {
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
      MBarrierEndOp::create(builder, place, full);
      if (over)
        MBarrierEndOp::create(builder, place, over);
    }
    if (outerParity && !turns)
      readAround(outerParity, made);
    loop.replaceAllUsesWith(results);
    loop.erase();
    // What the round's own addresses were made of is not to be loaded again for nothing.
    if (!given.isEmpty())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*made.getBody())))
        if (isOpTriviallyDead(&op))
          op.erase();
    if (nest && !producer) {
      builder.setInsertionPointToStart(outer.getBody());
      nest->reuse(builder, position);
    }
    if (turns)
      turns->share(builder, outer);
  }

  /// Behind the outer loop, says what the loops around are to carry.
  void leaveNest() {
    ValueRange entering = throughNest->entering();
    const bool countsVisits = stored && apart;
    SmallVector<Value> leaving(outer.getResults().take_back(entering.size() - countsVisits));
    if (turns && stored) {
      auto [stage, parity] = turns->skipAll(builder, entering[0], entering[1]);
      leaving[0] = stage, leaving[1] = parity;
      leaving.back() = turns->numberBehind(builder);
    }
    if (countsVisits)
      leaving.push_back(stored->leave(builder, entering.back()));
    throughNest->leave(leaving);
  }

  /// The first team multiplies as soon as it can: in front of the outer loop, what that carries is
  /// a round later for the other one.
  void skipOtherTeam(SmallVectorImpl<Value> &carried, const NestPosition &position,
                     const NestPosition &crossing) {
    Location place = loop.getLoc();
    turns->countRounds(builder, loop);
    const size_t count = producer ? 2 : carried.size() - 1; // all but parity and number
    ArrayRef<Value> skipped = ArrayRef(carried).take_front(count);
    auto second = scf::IfOp::create(builder, place, ValueRange(skipped).getTypes(),
                                    turns->isBehind(), /*withElseRegion=*/true);
    builder.setInsertionPointToStart(second.thenBlock());
    scf::YieldOp::create(builder, place, behindOtherTeam(skipped, position, crossing));
    builder.setInsertionPointToStart(second.elseBlock());
    scf::YieldOp::create(builder, place, skipped);
    builder.setInsertionPointAfter(second);
    llvm::copy(second.getResults(), carried.begin());
  }

  /// Returns what the outer loop carries, an outer round later: position, stages and parity of the
  /// inner loop, and the crossing; beside a producer stage and parity. `position` and `crossing`
  /// are such.
  SmallVector<Value> behindOtherTeam(ValueRange state, NestPosition position,
                                     NestPosition crossing) {
    if (producer) {
      auto [stage, parity] = turns->skip(builder, state[0], state[1]);
      return {stage, parity};
    }
    const size_t aheadCount = position.ofInner().size();
    position.setOfInner(state.take_front(aheadCount));
    Value read = state[aheadCount], write = state[aheadCount + 1], parity = state[aheadCount + 2];
    crossing.setAll(state.drop_front(aheadCount + 3));
    SmallVector<Value> later = nest->skipRound(builder, position, crossing).ofInner();
    auto [laterRead, laterParity] = turns->skip(builder, read, parity);
    llvm::append_values(later, laterRead, turns->skip(builder, write, parity).first, laterParity);
    llvm::append_range(later, nest->behind(builder, crossing).all());
    return later;
  }

  Value stageOf(ToBufferOp toBuffer, Value ring, Value stage) {
    SmallVector<int32_t> order(cast<BufferType>(ring.getType()).getShape().size());
    std::iota(order.begin(), order.end(), 0);
    return BufferViewOp::create(builder, toBuffer.getLoc(), toBuffer.getType(), ring, stage,
                                builder.getDenseI32ArrayAttr(order));
  }

  OpBuilder builder{loop};
  Value over; // memory barriers that warps arrive at when a round is over; null: there are none
  std::optional<StageRings> rings;    // that a producer fills
  std::optional<StoredRounds> stored; // what it reads that the program may have stored
  std::optional<CarriedThrough>
      throughNest; // what counts rounds, in the loops around the outer one
  Value full;      // memory barriers of the stages that the engine fills; null: it fills none
  bool isBeforeTurns = true; // what is emitted now
  Value areApart;            // arrays that are read and written; null: they are known to be
  Value outerParity; // of the phase that a round of the loop around waits for; null: for none
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
    // It is of the loops as they were.
    if (pipeliner.run())
      analysis.reset();
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
