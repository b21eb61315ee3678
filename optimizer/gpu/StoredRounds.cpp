#include "optimizer/gpu/StoredRounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Memory barriers that rounds take in turn.
static constexpr int64_t kBarriers = 2;

Value StoredRounds::constant(OpBuilder &builder, int64_t number) {
  return arith::ConstantOp::create(builder, outer.getLoc(),
                                   builder.getI32IntegerAttr(int32_t(number)));
}

Value StoredRounds::add(OpBuilder &builder, Value number, int64_t more) {
  return arith::AddIOp::create(builder, outer.getLoc(), number, constant(builder, more));
}

void StoredRounds::makeBarriers(OpBuilder &builder, int64_t warps, int64_t teams) {
  this->teams = teams;
  Location place = outer.getLoc();
  auto atEntry =
      OpBuilder::atBlockBegin(&outer->getParentOfType<func::FuncOp>().getBody().front());
  stored = MBarrierAllocOp::create(atEntry, place,
                                   MBarriersType::get(builder.getContext(), kBarriers),
                                   /*of_block=*/true);
  MBarrierInitOp::create(builder, place, stored, builder.getI32IntegerAttr(int32_t(warps)));
}

Value StoredRounds::placeOf(OpBuilder &builder, Value number) {
  return arith::AndIOp::create(builder, outer.getLoc(), number, constant(builder, kBarriers - 1));
}

void StoredRounds::await(OpBuilder &builder, Value number, int64_t before) {
  Location place = outer.getLoc();
  Value which = add(builder, number, -before);
  // Of rounds before the first one the parity is 1, behind which a barrier is taken to be.
  Value turn = arith::ShRSIOp::create(builder, place, which, constant(builder, 1));
  Value parity = arith::AndIOp::create(builder, place, turn, constant(builder, 1));
  MBarrierWaitOp::create(builder, place, stored, placeOf(builder, which), parity,
                         /*of_copies=*/false);
}

void StoredRounds::awaitAllIf(OpBuilder &builder, Value reason, Value number) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, outer.getLoc(), reason, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  await(builder, number, 1);
  await(builder, number, 2);
  ProxyFenceOp::create(builder, outer.getLoc(), /*global=*/true);
}

//===-- In the producer ---------------------------------------------------------------------===//

void StoredRounds::begin(OpBuilder &builder, ProgramSlice::State &state) {
  Value nothing =
      arith::ConstantOp::create(builder, outer.getLoc(), builder.getI64IntegerAttr(0));
  state.append({constant(builder, 0), nothing, nothing});
}

void StoredRounds::addSteps(OpBuilder &builder, size_t first, ProgramSlice::Step enter,
                            ProgramSlice::Steps &steps) {
  // What the state has: the number of rounds gone through, and from where to where what those
  // behind the last entry of the loop store.
  using State = ProgramSlice::State;
  const size_t number = first, begin = first + 1, end = first + 2;
  auto bytes = [=](const State &state) {
    return ArraysApart::Bytes{state[begin], state[end]};
  };
  for (LoadOp load : guarded) {
    Value pointer = load.getPtr();
    steps[load].push_back([=, this, &builder](IRMapping &there, State &state) {
      const ArraysApart::Bytes read =
          ArraysApart::bytesOf(builder, there.lookupOrDefault(pointer));
      awaitAllIf(builder, ArraysApart::meet(builder, read, bytes(state)), state[number]);
    });
  }
  auto areApart = std::make_shared<Value>();
  steps[outer].push_back([=, this, &builder](IRMapping &there, State &state) {
    awaitAllIf(builder, apart.readsMeet(builder, there, bytes(state)), state[number]);
    *areApart = apart.emit(builder, there);
    enter(there, state);
    const ArraysApart::Bytes written = apart.written(builder, there);
    state[begin] = written.begin;
    state[end] = written.end;
  });
  steps[&outer.getBody()->front()].push_back(
      [=, this, &builder](IRMapping &there, State &state) {
        await(builder, state[number], 2);
        Value one = arith::ConstantOp::create(builder, outer.getLoc(), builder.getBoolAttr(true));
        Value areNot = arith::XOrIOp::create(builder, outer.getLoc(), *areApart, one);
        awaitAllIf(builder, areNot, state[number]);
      });
  steps[outer.getBody()->getTerminator()].push_back(
      [=, this, &builder](IRMapping &, State &state) {
        state[number] = add(builder, state[number], 1);
      });
  steps[outer->getNextNode()].push_back([=, this, &builder](IRMapping &, State &state) {
    state[number] = add(builder, state[number], teams);
  });
}

//===-- In the program ----------------------------------------------------------------------===//

void StoredRounds::enter(OpBuilder &builder, scf::ForOp loop) {
  outer = loop;
  outer->setAttr(kAwaitsStoresAttr, builder.getUnitAttr());
  areApart = apart.emit(builder);
}

void StoredRounds::arrive(OpBuilder &builder, Value number) {
  MBarrierArriveOp::create(builder, outer.getLoc(), stored, placeOf(builder, number), Value());
}

Value StoredRounds::endRound(OpBuilder &builder, Value number) {
  Location place = outer.getLoc();
  {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, place, areApart, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.elseBlock());
    TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
    ProxyFenceOp::create(builder, place, /*global=*/true);
  }
  arrive(builder, number);
  return add(builder, number, teams);
}

Value StoredRounds::leave(OpBuilder &builder, Value number) {
  Location place = outer.getLoc();
  TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
  ProxyFenceOp::create(builder, place, /*global=*/true);
  BarrierOp::create(builder, place, /*sharedOnly=*/false);
  arrive(builder, number);
  return add(builder, number, teams);
}

} // namespace sectile::optimizer
