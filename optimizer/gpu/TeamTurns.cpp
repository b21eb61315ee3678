#include "optimizer/gpu/TeamTurns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

bool isOfWorkers(scf::ForOp loop) {
  return loop.getLowerBound().getDefiningOp<WorkerIdOp>() &&
         loop.getStep().getDefiningOp<NumWorkersOp>() && loop.getInitArgs().empty();
}

Value TeamTurns::constant(OpBuilder &builder, int64_t number) {
  return arith::ConstantOp::create(builder, place, builder.getI32IntegerAttr(int32_t(number)));
}

void TeamTurns::make(OpBuilder &builder, func::FuncOp function, int64_t warps) {
  function->setAttr(kTeamsAttr, builder.getI32IntegerAttr(kTeams));
  auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
  barriers =
      MBarrierAllocOp::create(atEntry, place, MBarriersType::get(builder.getContext(), kTeams),
                              /*of_block=*/true);
  MBarrierInitOp::create(builder, place, barriers, builder.getI32IntegerAttr(int32_t(warps)));
  team = TeamIdOp::create(builder, place);
  auto is = [&](int64_t number) -> Value {
    return arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, team,
                                 constant(builder, number));
  };
  isFirstTeam = is(0);
  isSecondTeam = is(1);
}

void TeamTurns::begin(OpBuilder &builder, Value over) {
  MBarrierArriveOp::create(builder, place, over, constant(builder, 0), isSecondTeam);
}

/// The first team has the first turn at once: a barrier is taken to be behind a phase of parity 1.
Value TeamTurns::firstParity(OpBuilder &builder) {
  return arith::ExtUIOp::create(builder, place, builder.getI32Type(), isFirstTeam);
}

void TeamTurns::await(OpBuilder &builder, Value parity) {
  MBarrierWaitOp::create(builder, place, barriers, team, parity, /*of_copies=*/false);
}

void TeamTurns::pass(OpBuilder &builder) {
  Value other = arith::SubIOp::create(builder, place, constant(builder, kTeams - 1), team);
  MBarrierArriveOp::create(builder, place, barriers, other, Value());
}

void TeamTurns::countRounds(OpBuilder &builder, scf::ForOp inner) {
  Type type = inner.getStep().getType(), i32 = builder.getI32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getIntegerAttr(type, value));
  };
  auto before = inner.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  hasRounds =
      arith::CmpIOp::create(builder, place, before, inner.getLowerBound(), inner.getUpperBound());
  // As unsigned numbers, which the distance is exact in.
  Value step = arith::MaxUIOp::create(builder, place, inner.getStep(), number(1));
  Value last = arith::SubIOp::create(builder, place, inner.getUpperBound(), inner.getLowerBound());
  last = arith::SubIOp::create(builder, place, last, number(1));
  Value behindFirst = arith::DivUIOp::create(builder, place, last, step);
  Value ring = number(2 * stageCount);
  Value rest = arith::RemUIOp::create(builder, place, behindFirst, ring);
  rest = type.isIndex()                      ? arith::IndexCastOp::create(builder, place, i32, rest)
         : type.getIntOrFloatBitWidth() > 32 ? arith::TruncIOp::create(builder, place, i32, rest)
                                             : rest;
  if (rest.getType() != i32)
    rest = arith::ExtUIOp::create(builder, place, i32, rest);
  rest = arith::AddIOp::create(builder, place, rest, constant(builder, 1));
  rounds = arith::SelectOp::create(builder, place, hasRounds, rest, constant(builder, 0));
}

void TeamTurns::endRounds(OpBuilder &builder, Value over, Value stage) {
  MBarrierArriveOp::create(builder, place, over, stage, hasRounds);
}

std::pair<Value, Value> TeamTurns::skip(OpBuilder &builder, Value stage, Value parity) {
  Value sum = arith::AddIOp::create(builder, place, stage, rounds);
  Value count = constant(builder, stageCount);
  Value later = arith::RemUIOp::create(builder, place, sum, count);
  Value turns = arith::DivUIOp::create(builder, place, sum, count);
  Value odd = arith::AndIOp::create(builder, place, turns, constant(builder, 1));
  return {later, arith::XOrIOp::create(builder, place, parity, odd)};
}

void TeamTurns::share(OpBuilder &builder, scf::ForOp programs) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(programs);
  Value workers = programs.getStep();
  Value first = arith::AddIOp::create(builder, place, programs.getLowerBound(),
                                      arith::MulIOp::create(builder, place, team, workers));
  Value step = arith::MulIOp::create(builder, place, workers, constant(builder, kTeams));
  programs.getLowerBoundMutable().assign(first);
  programs.getStepMutable().assign(step);
}

} // namespace sectile::optimizer
