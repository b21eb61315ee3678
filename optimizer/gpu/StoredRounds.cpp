#include "optimizer/gpu/StoredRounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Memory barriers that phases take in turn.
static constexpr int64_t kBarriers = 2;

Value StoredRounds::constant(OpBuilder &builder, int64_t number) {
  return arith::ConstantOp::create(builder, outer.getLoc(),
                                   builder.getI32IntegerAttr(int32_t(number)));
}

Value StoredRounds::add(OpBuilder &builder, Value number, int64_t more) {
  return arith::AddIOp::create(builder, outer.getLoc(), number, constant(builder, more));
}

void StoredRounds::makeBarriers(OpBuilder &builder, int64_t warps) {
  auto atEntry = OpBuilder::atBlockBegin(&outer->getParentOfType<func::FuncOp>().getBody().front());
  auto make = [&](int64_t arrivals) -> Value {
    Value made = MBarrierAllocOp::create(atEntry, outer.getLoc(),
                                         MBarriersType::get(builder.getContext(), kBarriers),
                                         /*of_block=*/true);
    MBarrierInitOp::create(builder, outer.getLoc(), made,
                           builder.getI32IntegerAttr(int32_t(arrivals)));
    return made;
  };
  stored = make(warps);
  if (apart)
    left = make(warps * teams);
}

Value StoredRounds::placeOf(OpBuilder &builder, Value number) {
  return arith::AndIOp::create(builder, outer.getLoc(), number, constant(builder, kBarriers - 1));
}

void StoredRounds::await(OpBuilder &builder, Value barriers, Value number, int64_t before) {
  Location place = outer.getLoc();
  Value which = add(builder, number, -before);
  // Of those before the first one the parity is 1, behind which a barrier is taken to be.
  Value turn = arith::ShRSIOp::create(builder, place, which, constant(builder, 1));
  Value parity = arith::AndIOp::create(builder, place, turn, constant(builder, 1));
  MBarrierWaitOp::create(builder, place, barriers, placeOf(builder, which), parity,
                         /*of_copies=*/false);
}

void StoredRounds::awaitIf(OpBuilder &builder, Value reason, Value barriers, Value number,
                           int64_t before) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, outer.getLoc(), reason, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  await(builder, barriers, number, before);
  ProxyFenceOp::create(builder, outer.getLoc(), /*global=*/true);
}

//===-- In the producer ---------------------------------------------------------------------===//

void StoredRounds::begin(OpBuilder &builder, ProgramSlice::State &state) {
  if (!apart)
    return;
  Value nothing = arith::ConstantOp::create(builder, outer.getLoc(), builder.getI64IntegerAttr(0));
  state.append({constant(builder, 0), constant(builder, 0), nothing, nothing});
}

void StoredRounds::addSteps(OpBuilder &builder, size_t first, ProgramSlice::Step enter,
                            ProgramSlice::Steps &steps) {
  using State = ProgramSlice::State;
  if (!apart) {
    steps[outer].push_back(std::move(enter));
    return;
  }
  // The numbers of the next round and visit, and from where to where the last visit stores.
  const size_t round = first, visit = first + 1, begin = first + 2, end = first + 3;
  auto bytes = [=](const State &state) { return ArraysApart::Bytes{state[begin], state[end]}; };
  for (LoadOp load : guarded) {
    Value pointer = load.getPtr();
    steps[load].push_back([=, this, &builder](IRMapping &there, State &state) {
      const ArraysApart::Bytes read = ArraysApart::bytesOf(builder, there.lookupOrDefault(pointer));
      awaitIf(builder, ArraysApart::meet(builder, read, bytes(state)), left, state[visit], 1);
    });
  }
  auto meet = std::make_shared<Value>();
  steps[outer].push_back([=, this, &builder](IRMapping &there, State &state) {
    const ArraysApart::Comparison found = apart->compare(builder, there, bytes(state));
    awaitIf(builder, found.meetOthers, left, state[visit], 1);
    *meet = found.meetWritten;
    state[begin] = found.written.begin;
    state[end] = found.written.end;
    enter(there, state);
  });
  steps[&outer.getBody()->front()].push_back([=, this, &builder](IRMapping &, State &state) {
    await(builder, stored, state[round], 2);
    awaitIf(builder, *meet, stored, state[round], 1);
  });
  steps[outer.getBody()->getTerminator()].push_back([=, this, &builder](IRMapping &, State &state) {
    state[round] = add(builder, state[round], 1);
  });
  if (isa<func::FuncOp>(outer->getParentOp())) // there is one visit
    return;
  steps[outer->getNextNode()].push_back([=, this, &builder](IRMapping &, State &state) {
    await(builder, left, state[visit], 1);
    state[visit] = add(builder, state[visit], 1);
  });
}

//===-- In the program ----------------------------------------------------------------------===//

void StoredRounds::enter(OpBuilder &builder, scf::ForOp loop) {
  outer = loop;
  if (!apart)
    return;
  outer->setAttr(kAwaitsStoresAttr, builder.getUnitAttr());
  areApart = apart->emit(builder);
}

void StoredRounds::awaitOtherTeam(OpBuilder &builder, Value number) {
  if (teams > 1)
    await(builder, stored, number, 1);
}

Value StoredRounds::endRound(OpBuilder &builder, Value number) {
  Location place = outer.getLoc();
  // The team that waits for it stores to the same places, for all that is known.
  if (teams > 1)
    TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
  if (areApart) {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, place, areApart, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.elseBlock());
    if (teams == 1)
      TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
    ProxyFenceOp::create(builder, place, /*global=*/true);
  }
  MBarrierArriveOp::create(builder, place, stored, placeOf(builder, number), Value());
  return add(builder, number, teams);
}

Value StoredRounds::leave(OpBuilder &builder, Value visit) {
  Location place = outer.getLoc();
  TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
  ProxyFenceOp::create(builder, place, /*global=*/true);
  BarrierOp::create(builder, place, /*sharedOnly=*/false);
  MBarrierArriveOp::create(builder, place, left, placeOf(builder, visit), Value());
  return add(builder, visit, 1);
}

} // namespace sectile::optimizer
