#include "optimizer/gpu/StageRings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

void announceBytes(OpBuilder &builder, ArrayRef<const AsyncLoad *> loads, Value barriers,
                   Value stage, Value exists) {
  int64_t bytes = 0;
  for (const AsyncLoad *ahead : loads) {
    auto tile = cast<BufferType>(ahead->buffer.getType());
    if (ahead->block)
      bytes += ShapedType::getNumElements(tile.getShape()) *
               tile.getElement().getIntOrFloatBitWidth() / 8;
  }
  MBarrierExpectOp::create(builder, stage.getLoc(), barriers, stage,
                           builder.getI64IntegerAttr(bytes), exists);
}

static Value number(OpBuilder &builder, Location place, int64_t value) {
  return arith::ConstantOp::create(builder, place, builder.getI32IntegerAttr(int32_t(value)));
}

Value isLastStage(OpBuilder &builder, Location place, Value stage, int64_t count) {
  return arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, stage,
                               number(builder, place, count - 1));
}

Value nextStage(OpBuilder &builder, Location place, Value stage, int64_t count) {
  Value more = arith::AddIOp::create(builder, place, stage, number(builder, place, 1));
  return arith::SelectOp::create(builder, place, isLastStage(builder, place, stage, count),
                                 number(builder, place, 0), more);
}

Value flipped(OpBuilder &builder, Location place, Value parity, Value condition) {
  Value word = arith::ExtUIOp::create(builder, place, builder.getI32Type(), condition);
  return arith::XOrIOp::create(builder, place, parity, word);
}

StageRings::StageRings(StagePlan &plan) : plan(plan) {
  for (bool isEarly : {false, true}) {
    StageRing ring;
    ring.count = isEarly ? plan.stageCount - 1 : plan.stageCount;
    ring.isReadOn = !isEarly && plan.isReadOn();
    for (AsyncLoad &ahead : plan.loads)
      if (plan.isFreedEarly(ahead) == isEarly)
        ring.loads.push_back(&ahead);
    if (!ring.loads.empty())
      rings.push_back(std::move(ring));
  }
  if (plan.around.empty())
    return;
  around.emplace();
  for (const AsyncLoad &ahead : plan.around)
    around->loads.push_back(&ahead);
}

Value StageRings::constant(OpBuilder &builder, int64_t value, bool isBit) {
  Location place = plan.loop.getLoc();
  if (isBit)
    return arith::ConstantOp::create(builder, place, builder.getBoolAttr(value));
  return number(builder, place, value);
}

void StageRings::makeBarriers(OpBuilder &builder, int64_t warps) {
  Location place = plan.loop.getLoc();
  auto function = plan.loop->getParentOfType<func::FuncOp>();
  auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
  auto make = [&](int64_t count, IntegerAttr arrivals) -> Value {
    auto type = MBarriersType::get(builder.getContext(), count);
    Value made = MBarrierAllocOp::create(atEntry, place, type, /*of_block=*/true);
    MBarrierInitOp::create(builder, place, made, arrivals);
    return made;
  };
  auto makeFor = [&](StageRing &ring) {
    ring.full = make(ring.count, IntegerAttr());
    ring.over = make(ring.count, builder.getI32IntegerAttr(int32_t(warps)));
  };
  llvm::for_each(rings, makeFor);
  if (around)
    makeFor(*around);
}

SmallVector<Value> StageRings::first(OpBuilder &builder) {
  return SmallVector<Value>(2 * rings.size(), constant(builder, 0));
}

void StageRings::enter(ValueRange state) {
  for (auto [number, ring] : llvm::enumerate(rings)) {
    ring.stage = state[2 * number];
    ring.parity = state[2 * number + 1];
  }
}

SmallVector<Value> StageRings::next(OpBuilder &builder) {
  Location place = plan.loop.getLoc();
  SmallVector<Value> next;
  for (StageRing &ring : rings) {
    next.push_back(nextStage(builder, place, ring.stage, ring.count));
    next.push_back(
        flipped(builder, place, ring.parity, isLastStage(builder, place, ring.stage, ring.count)));
  }
  return next;
}

void StageRings::awaitBytes(OpBuilder &builder, const StageRing &ring) {
  MBarrierWaitOp::create(builder, plan.loop.getLoc(), ring.full, ring.stage, ring.parity,
                         /*of_copies=*/false);
}

void StageRings::fill(OpBuilder &builder, const StageRing &ring, Value read, Value parity,
                      const IRMapping &there) {
  Value exists = constant(builder, 1, /*isBit=*/true);
  MBarrierWaitOp::create(builder, plan.loop.getLoc(), ring.over, read, parity,
                         /*of_copies=*/false);
  announceBytes(builder, ring.loads, ring.full, ring.stage, exists);
  for (const AsyncLoad *ahead : ring.loads)
    startTensorCopy(builder, *ahead->block, there.lookupOrDefault(ahead->map), there, ahead->buffer,
                    ring.stage, ring.full, ring.stage, exists);
}

void StageRings::fillAll(OpBuilder &builder, const IRMapping &there) {
  Location place = plan.loop.getLoc();
  Value isOver = constant(builder, 1, /*isBit=*/true);
  // The rings that are free first.
  for (StageRing &ring : llvm::reverse(rings)) {
    // The round that had the stage last ended a phase of the other parity, and so did the one
    // behind it, unless that had the first stage again.
    Value stage = ring.stage, parity = flipped(builder, place, ring.parity, isOver);
    if (ring.isReadOn) {
      parity = flipped(builder, place, parity, isLastStage(builder, place, stage, ring.count));
      stage = nextStage(builder, place, stage, ring.count);
    }
    fill(builder, ring, stage, parity, there);
  }
}

void StageRings::awaitAll(OpBuilder &builder) {
  Location place = plan.loop.getLoc();
  for (const StageRing &ring : rings)
    for (int64_t stage = 0; stage < ring.count; ++stage) {
      // The last round that had the stage was one of this time around where it lies in front.
      Value which = constant(builder, stage);
      Value isBefore =
          arith::CmpIOp::create(builder, place, arith::CmpIPredicate::sge, which, ring.stage);
      MBarrierWaitOp::create(builder, place, ring.full, which,
                             flipped(builder, place, ring.parity, isBefore),
                             /*of_copies=*/false);
    }
}

void StageRings::describe(OpBuilder &builder, IRMapping &there, Value turn, Value rounds) {
  Location place = plan.loop.getLoc();
  // No copy goes by the map then that was made the time before the last: all stages have been
  // filled since, or they are waited for.
  int64_t most = 0;
  for (const StageRing &ring : rings)
    most = std::max(most, ring.count);
  Value areFew = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ult, rounds,
                                       constant(builder, most));
  {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, place, areFew, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    awaitAll(builder);
  }
  for (AsyncLoad &ahead : plan.loads)
    if (ahead.block->isEdited)
      ahead.map = describeArray(builder, *ahead.block, cast<BufferType>(ahead.buffer.getType()),
                                there, turn);
}

void StageRings::makeProducer(OpBuilder &builder, StoredRounds *stored) {
  ProgramSlice::Steps steps;
  const bool areEdited =
      llvm::any_of(plan.loads, [](const AsyncLoad &ahead) { return ahead.block->isEdited; });
  // Of the state: the rings', the parity of that around, the number of times that maps were made
  // and of rounds since, and what was stored.
  const size_t ofRings = 2 * rings.size(), turn = ofRings + size_t(around.has_value()),
               rounds = turn + 1, ofStored = turn + (areEdited ? 2 : 0);
  auto enterDescribed = [&](IRMapping &there, ProgramSlice::State &state) {
    if (!areEdited)
      return;
    enter(ValueRange(state).take_front(ofRings));
    describe(builder, there, state[turn], state[rounds]);
    state[turn] =
        arith::AddIOp::create(builder, plan.loop.getLoc(), state[turn], constant(builder, 1));
    state[rounds] = constant(builder, 0);
  };
  if (stored)
    stored->addSteps(builder, ofStored, enterDescribed, steps);
  else if (areEdited)
    steps[plan.outer].push_back(enterDescribed);
  if (around)
    steps[plan.around.front().load].push_back([&](IRMapping &there, ProgramSlice::State &state) {
      Value &parity = state[ofRings];
      Value isOver = constant(builder, 1, /*isBit=*/true);
      around->stage = constant(builder, 0);
      parity = flipped(builder, plan.loop.getLoc(), parity, isOver);
      fill(builder, *around, around->stage, parity, there);
    });
  steps[plan.loop.getBody()->getTerminator()].push_back([&](IRMapping &there,
                                                            ProgramSlice::State &state) {
    enter(ValueRange(state).take_front(ofRings));
    fillAll(builder, there);
    llvm::copy(next(builder), state.begin());
    if (areEdited)
      state[rounds] =
          arith::AddIOp::create(builder, plan.loop.getLoc(), state[rounds], constant(builder, 1));
  });
  auto begin = [&] {
    ProgramSlice::State state(first(builder));
    if (around)
      state.push_back(constant(builder, 0));
    if (areEdited)
      state.append(2, constant(builder, 0));
    if (stored)
      stored->begin(builder, state);
    return state;
  };
  plan.producer->make(builder, plan.wordsWanted(), begin, steps,
                      [&](const ProgramSlice::State &state) {
                        if (!areEdited)
                          return;
                        enter(ValueRange(state).take_front(ofRings));
                        awaitAll(builder);
                      });
}

} // namespace sectile::optimizer
