//===-- TraceExits.cpp - turns of a loop that end early: break_if, continue_if ------------===//
// What follows break_if in a body is recorded into the other branch of an open scf.if, which is
// rebuilt with results when the body ends:
//
//   loop(range(n), s, [&](i32 i, auto s) {      %s2, %breaks = scf.if %s > limit {
//     break_if(s > limit, s);                     scf.yield %s, true
//     return s + i;                       ==>   } else {
//   });                                           scf.yield %s + %i, false
//                                               }
//
// The results are those that Python's `break` and `continue` make: the values that differ, whether
// the loop is left, and whether the turn goes on with the next one, each where the branch knows.
#include "frontend/cpp/ScopeGuard.h"

using mlir::failed;
using mlir::FailureOr;

namespace sectile::cpp {

void TracerImpl::leaveTurn(TurnEnd end, const Argument &condition,
                           std::span<const Argument> values) {
  if (failed())
    return;
  const std::string name = end == TurnEnd::Loop ? "break_if" : "continue_if";
  if (turns.empty() || turns.back().scope != scopes.back().id) {
    error(name + ": stands in the body of " + std::string(scopes.back().what) + ", not of a loop",
          "write it in the body of the loop itself; the condition may be what an if_ returns");
    return;
  }
  Turn &turn = turns.back();
  if (values.size() != turn.carried.size()) {
    error(name + ": the loop carries " + std::to_string(turn.carried.size()) + " values, and " +
              std::to_string(values.size()) + " are given",
          "after the condition, give what each carried value is when the turn ends, in order");
    return;
  }
  FailureOr<lang::Operand> operand = operandOf(condition, name);
  FailureOr<lang::Value> truth = mlir::failure();
  if (mlir::succeeded(operand)) {
    FailureOr<lang::Value> value = sema.toValue(*operand, name);
    if (mlir::succeeded(value))
      truth = sema.condition(*value, name);
  }
  if (mlir::failed(truth)) {
    hasFailed = true;
    return;
  }
  auto branch = mlir::scf::IfOp::create(sema.builder, sema.location(), mlir::TypeRange(), truth->ir,
                                        /*withElseRegion=*/true);
  for (mlir::Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
    region->front().getTerminator()->erase();
  sema.builder.setInsertionPointToEnd(branch.thenBlock());
  auto next = yielded(std::vector<Argument>(values.begin(), values.end()), turn.carried, name);
  if (mlir::failed(next)) {
    hasFailed = true;
    return;
  }
  turn.exits.push_back({end, branch, *next});
  sema.builder.setInsertionPointToEnd(branch.elseBlock());
}

void TracerImpl::closeExit(TurnExit &exit, TurnResult &result) {
  mlir::OpBuilder &builder = sema.builder;
  mlir::Location place = exit.branch.getLoc();
  const bool ends = exit.end == TurnEnd::Loop;
  auto truth = [&](bool value) -> mlir::Value {
    return mlir::arith::ConstantOp::create(builder, place, builder.getBoolAttr(value));
  };
  // What both branches hand on unchanged is no result.
  llvm::SmallVector<mlir::Value> then, orelse;
  llvm::SmallVector<size_t> differing;
  for (size_t i = 0; i < result.next.size(); ++i)
    if (exit.next[i] != result.next[i]) {
      differing.push_back(i);
      then.push_back(exit.next[i]);
      orelse.push_back(result.next[i]);
    }
  auto addFlag = [&](mlir::Value &flag, bool isThen) {
    if (!flag && !isThen)
      return false;
    orelse.push_back(flag ? flag : truth(false));
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(exit.branch.thenBlock());
    then.push_back(truth(isThen));
    return true;
  };
  const bool mayBreak = addFlag(result.breaks, ends);
  const bool mayContinue = addFlag(result.continues, !ends);
  mlir::scf::YieldOp::create(builder, place, orelse);
  builder.setInsertionPointToEnd(exit.branch.thenBlock());
  mlir::scf::YieldOp::create(builder, place, then);

  builder.setInsertionPoint(exit.branch);
  auto made = mlir::scf::IfOp::create(builder, place, mlir::ValueRange(then).getTypes(),
                                      exit.branch.getCondition(), /*addThenBlock=*/false,
                                      /*addElseBlock=*/false);
  made.getThenRegion().takeBody(exit.branch.getThenRegion());
  made.getElseRegion().takeBody(exit.branch.getElseRegion());
  exit.branch->erase();
  size_t taken = 0;
  for (size_t i : differing)
    result.next[i] = made.getResult(taken++);
  result.breaks = mayBreak ? made.getResult(taken++) : mlir::Value();
  result.continues = mayContinue ? made.getResult(taken++) : mlir::Value();
  builder.setInsertionPointAfter(made);
}

FailureOr<TracerImpl::TurnResult> TracerImpl::recordTurn(llvm::ArrayRef<lang::Value> carried,
                                                         std::string_view user,
                                                         llvm::function_ref<BodyResult()> body) {
  turns.push_back({scopes.back().id, llvm::SmallVector<lang::Value>(carried), {}});
  auto next = yielded(body(), carried, user);
  Turn turn = std::move(turns.back());
  turns.pop_back();
  if (mlir::failed(next)) {
    hasFailed = true;
    return mlir::failure();
  }
  TurnResult result{*next, {}, {}};
  for (TurnExit &exit : llvm::reverse(turn.exits))
    closeExit(exit, result);
  return result;
}

} // namespace sectile::cpp
