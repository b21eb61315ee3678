#include "optimizer/gpu/TeamTurns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

bool isOfWorkers(scf::ForOp loop) {
  return loop.getLowerBound().getDefiningOp<WorkerIdOp>() &&
         loop.getStep().getDefiningOp<NumWorkersOp>() && loop.getInitArgs().empty();
}

/// Whether what the loop carries there is its index, and nothing asks for it but what is behind the
/// loop.
static bool isCounter(scf::ForOp loop, unsigned number) {
  auto more = loop.getYieldedValues()[number].getDefiningOp<arith::AddIOp>();
  auto adds = [&](Value one, Value other) {
    return one == loop.getInductionVar() && other == loop.getStep();
  };
  return loop.getInitArgs()[number] == loop.getLowerBound() &&
         loop.getRegionIterArg(number).use_empty() && more &&
         (adds(more.getLhs(), more.getRhs()) || adds(more.getRhs(), more.getLhs()));
}

bool isSharedByRounds(scf::ForOp loop, scf::ForOp inner) {
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (!isCounter(loop, number))
      return false;
  return !loop->getParentOfType<func::FuncOp>()
              .getBody()
              .walk([&](Operation *op) {
                if (isMemoryEffectFree(op) || touchesOnlySharedMemory(op) || isa<LoadOp>(op) ||
                    op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
                  return WalkResult::advance();
                Operation *behind = loop.getBody()->findAncestorOpInBlock(*op);
                const bool mayShare = isa<StoreOp, AtomicRmwOp, AssumeOp>(op) && behind &&
                                      inner->isBeforeInBlock(behind);
                return mayShare ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
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

Value TeamTurns::roundsOf(OpBuilder &builder, scf::ForOp loop) {
  Type type = loop.getStep().getType();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getIntegerAttr(type, value));
  };
  auto before = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value has =
      arith::CmpIOp::create(builder, place, before, loop.getLowerBound(), loop.getUpperBound());
  // As unsigned numbers, which the distance is exact in.
  Value step = arith::MaxUIOp::create(builder, place, loop.getStep(), number(1));
  Value last = arith::SubIOp::create(builder, place, loop.getUpperBound(), loop.getLowerBound());
  last = arith::SubIOp::create(builder, place, last, number(1));
  Value behindFirst = arith::DivUIOp::create(builder, place, last, step);
  Value all = arith::AddIOp::create(builder, place, behindFirst, number(1));
  return arith::SelectOp::create(builder, place, has, all, number(0));
}

Value TeamTurns::modulo(OpBuilder &builder, Value number, int64_t most) {
  Type type = number.getType(), i32 = builder.getI32Type();
  Value rest = arith::RemUIOp::create(
      builder, place, number,
      arith::ConstantOp::create(builder, place, builder.getIntegerAttr(type, most)));
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, place, i32, rest);
  if (type.getIntOrFloatBitWidth() > 32)
    return arith::TruncIOp::create(builder, place, i32, rest);
  return type == i32 ? rest : arith::ExtUIOp::create(builder, place, i32, rest).getResult();
}

void TeamTurns::countRounds(OpBuilder &builder, scf::ForOp inner) {
  auto before = inner.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  hasRounds =
      arith::CmpIOp::create(builder, place, before, inner.getLowerBound(), inner.getUpperBound());
  rounds = modulo(builder, roundsOf(builder, inner), 2 * stageCount);
}

Value TeamTurns::begin(OpBuilder &builder, scf::ForOp programs, Value number) {
  first = number;
  if (!number) {
    isOfOther = isSecondTeam;
    return team;
  }
  tiles = roundsOf(builder, programs);
  Value differs = arith::AndIOp::create(
      builder, place, arith::XOrIOp::create(builder, place, number, team), constant(builder, 1));
  isOfOther = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ne, differs,
                                    constant(builder, 0));
  return arith::AddIOp::create(builder, place, number, differs);
}

Value TeamTurns::numberBehind(OpBuilder &builder) {
  // Only the last bits of it count.
  return arith::AddIOp::create(builder, place, first, modulo(builder, tiles, 2 * kTeams));
}

std::pair<Value, Value> TeamTurns::skipAll(OpBuilder &builder, Value stage, Value parity) {
  Value product =
      arith::MulIOp::create(builder, place, rounds, modulo(builder, tiles, 2 * stageCount));
  return skip(builder, stage, parity, modulo(builder, product, 2 * stageCount));
}

void TeamTurns::endRounds(OpBuilder &builder, Value over, Value stage) {
  MBarrierArriveOp::create(builder, place, over, stage, hasRounds);
}

std::pair<Value, Value> TeamTurns::skip(OpBuilder &builder, Value stage, Value parity) {
  return skip(builder, stage, parity, rounds);
}

std::pair<Value, Value> TeamTurns::skip(OpBuilder &builder, Value stage, Value parity,
                                        Value rounds) {
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
  Value step = programs.getStep(), lower = programs.getLowerBound();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getIntegerAttr(step.getType(), value));
  };
  if (tiles) // the loop's results that count its rounds
    for (unsigned each = 0; each < programs.getNumRegionIterArgs(); ++each)
      if (isCounter(programs, each)) {
        Value behind = arith::AddIOp::create(builder, place, lower,
                                             arith::MulIOp::create(builder, place, tiles, step));
        programs.getResult(each).replaceAllUsesWith(behind);
      }
  Value next = arith::AddIOp::create(builder, place, lower, step);
  programs.getLowerBoundMutable().assign(
      arith::SelectOp::create(builder, place, isOfOther, next, lower));
  programs.getStepMutable().assign(arith::MulIOp::create(builder, place, step, number(kTeams)));
}

} // namespace sectile::optimizer
