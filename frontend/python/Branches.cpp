// if/elif/else, conditional expressions, and early returns.
#include "frontend/python/Evaluator.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using ast::Stmt;

mlir::FailureOr<Exit> Evaluator::evaluateIf(const Stmt &stmt, bool hasRest, Rest rest,
                                            bool &restTaken) {
  Result condition = evaluate(*stmt.value);
  if (mlir::failed(condition))
    return mlir::failure();
  if (auto *constant = condition->constant()) {
    auto holds = truthOf(*constant, stmt.value->position);
    if (mlir::failed(holds))
      return mlir::failure();
    return evaluateBlock(*holds ? stmt.body : stmt.orelse);
  }
  if (auto items = tupleItems(*condition))
    return evaluateBlock(!items->empty() ? stmt.body : stmt.orelse);
  at(stmt.value->position);
  mlir::FailureOr<Value> flag = sema.condition(*condition, "if");
  if (mlir::failed(flag))
    return mlir::failure();

  at(stmt.position);
  auto op =
      mlir::scf::IfOp::create(sema.builder, sema.location(), flag->ir, /*withElseRegion=*/true);
  Scope before = scope;
  Branch then =
      evaluateBranch(op.getThenRegion(), before, [&] { return evaluateBlock(stmt.body); });
  Branch orelse =
      evaluateBranch(op.getElseRegion(), before, [&] { return evaluateBlock(stmt.orelse); });
  // One side returns for sure: what follows belongs to the other.
  bool thenReturns = then.exit.kind == Exit::Kind::Returns;
  bool elseReturns = orelse.exit.kind == Exit::Kind::Returns;
  bool thenFalls = then.exit.kind == Exit::Kind::Falls;
  bool elseFalls = orelse.exit.kind == Exit::Kind::Falls;
  if (hasRest && ((thenReturns && elseFalls) || (elseReturns && thenFalls))) {
    Branch &goesOn = thenReturns ? orelse : then;
    mlir::Region &region = thenReturns ? op.getElseRegion() : op.getThenRegion();
    goesOn = evaluateBranch(region, goesOn.scope, rest);
    restTaken = true;
  }
  return mergeBranches(op, std::move(then), std::move(orelse), before, stmt.position);
}

Evaluator::Branch Evaluator::evaluateBranch(mlir::Region &region, const Scope &before,
                                            llvm::function_ref<Exit()> body) {
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  mlir::Block &block = region.front();
  // scf.if without results comes with its terminators.
  if (!block.empty() && block.back().hasTrait<mlir::OpTrait::IsTerminator>())
    block.back().erase();
  sema.builder.setInsertionPointToEnd(&block);
  scope = before;
  Frame &frame = frames.back();
  ++frame.runtimeBranches;
  ++frame.runtimeSinceUnrolled;
  Exit exit = body();
  // `frame` may have moved: calls push frames.
  --frames.back().runtimeBranches;
  --frames.back().runtimeSinceUnrolled;
  return {&block, std::move(exit), std::move(scope)};
}

Exit Evaluator::guardRest(const Exit &exit, const ast::Position &position, Rest rest) {
  at(position);
  auto op = mlir::scf::IfOp::create(sema.builder, sema.location(), exit.hasReturned,
                                    /*withElseRegion=*/true);
  Scope before = scope;
  Branch then = evaluateBranch(op.getThenRegion(), before, [&] {
    Exit returns;
    returns.kind = Exit::Kind::Returns;
    returns.returned = exit.returned;
    returns.returnRange = exit.returnRange;
    return returns;
  });
  Branch orelse = evaluateBranch(op.getElseRegion(), before, rest);
  return mergeBranches(op, std::move(then), std::move(orelse), before, position);
}

static mlir::Value flagAt(Semantics &sema, const Exit &exit, mlir::Block *block) {
  if (exit.hasReturned)
    return exit.hasReturned;
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPointToEnd(block);
  bool returns = exit.kind == Exit::Kind::Returns;
  return mlir::arith::ConstantOp::create(sema.builder, sema.location(),
                                         sema.builder.getBoolAttr(returns));
}

Exit Evaluator::mergeBranches(mlir::scf::IfOp op, Branch then, Branch orelse, const Scope &before,
                              const ast::Position &position) {
  using Kind = Exit::Kind;
  at(position);
  BranchEnd endOfThen{then.block, {}}, endOfElse{orelse.block, {}};
  bool thenFalls = then.exit.kind != Kind::Returns, elseFalls = orelse.exit.kind != Kind::Returns;
  bool thenReturns = then.exit.kind != Kind::Falls, elseReturns = orelse.exit.kind != Kind::Falls;

  std::vector<std::pair<std::string, ValueShape>> merged;
  if (thenFalls || elseFalls)
    mergeNames(then, orelse, before, position, endOfThen, endOfElse, merged);
  else
    scope = before;

  Exit exit;
  std::optional<ValueShape> returned;
  if (thenReturns || elseReturns) {
    exit.kind = thenFalls || elseFalls ? Kind::MayReturn : Kind::Returns;
    exit.returnRange = thenReturns ? then.exit.returnRange : orelse.exit.returnRange;
    if (!thenReturns)
      returned = mergeWithNothing(sema, orelse.exit.returned, endOfElse, endOfThen);
    else if (!elseReturns)
      returned = mergeWithNothing(sema, then.exit.returned, endOfThen, endOfElse);
    else
      returned =
          mergeOperands(sema, then.exit.returned, orelse.exit.returned, endOfThen, endOfElse);
    if (!returned && !sink.hasErrors()) {
      std::string help = "return the same types on every path; a cast or tl.full makes them equal";
      if (then.exit.returned.isNone() || orelse.exit.returned.isNone())
        help = "return a value on every path, the end of the function among them";
      sema.at(orelse.exit.returnRange.isKnown() ? orelse.exit.returnRange : exit.returnRange);
      (void)sema.error("returned values differ: " + describeOperand(then.exit.returned) +
                           " on line " + std::to_string(then.exit.returnRange.line) + ", " +
                           describeOperand(orelse.exit.returned) + " otherwise",
                       help);
    }
  }
  if (exit.kind == Kind::MayReturn) {
    endOfThen.values.push_back(flagAt(sema, then.exit, then.block));
    endOfElse.values.push_back(flagAt(sema, orelse.exit, orelse.block));
  }
  // A merge that failed may have appended to one side only; its module is never used.
  if (endOfThen.values.size() != endOfElse.values.size())
    return exit.kind == Kind::MayReturn ? Exit::falls() : exit;

  mlir::OpBuilder &builder = sema.builder;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : endOfThen.values)
    types.push_back(value.getType());
  for (const BranchEnd *end : {&endOfThen, &endOfElse}) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(end->block);
    mlir::scf::YieldOp::create(builder, op.getLoc(), end->values);
  }
  bool needsElse = !types.empty() || orelse.block->getOperations().size() > 1;
  builder.setInsertionPoint(op);
  auto result = mlir::scf::IfOp::create(builder, op.getLoc(), types, op.getCondition(),
                                        /*addThenBlock=*/false, /*addElseBlock=*/false);
  result.getThenRegion().takeBody(op.getThenRegion());
  if (needsElse)
    result.getElseRegion().takeBody(op.getElseRegion());
  op.erase();
  builder.setInsertionPointAfter(result);

  size_t next = 0;
  for (auto &[name, shape] : merged)
    assign(name, shape.rebuild(result.getResults(), next), position);
  if (returned)
    exit.returned = returned->rebuild(result.getResults(), next);
  if (exit.kind == Kind::MayReturn)
    exit.hasReturned = result.getResults().back();
  return exit;
}

void Evaluator::mergeNames(Branch &then, Branch &orelse, const Scope &before,
                           const ast::Position &position, BranchEnd &endOfThen,
                           BranchEnd &endOfElse,
                           std::vector<std::pair<std::string, ValueShape>> &merged) {
  std::string line = std::to_string(position.line);
  auto isChanged = [&](const Scope &after, llvm::StringRef name) {
    const Binding *now = after.find(name), *was = before.find(name);
    return now && (!was || was->version != now->version);
  };
  std::vector<std::string> changed;
  for (const Scope *after : {&then.scope, &orelse.scope})
    for (std::string &name : after->names())
      if (isChanged(*after, name) && !llvm::is_contained(changed, name))
        changed.push_back(std::move(name));
  bool thenFalls = then.exit.kind != Exit::Kind::Returns;
  bool elseFalls = orelse.exit.kind != Exit::Kind::Returns;

  scope = before;
  for (const std::string &name : changed) {
    const Binding *a = thenFalls ? then.scope.find(name) : nullptr;
    const Binding *b = elseFalls ? orelse.scope.find(name) : nullptr;
    // The side that has returned does not go on from here: the other's value is the value.
    if (!thenFalls || !elseFalls) {
      const Binding *only = thenFalls ? a : b;
      if (only && only->state == Binding::State::Defined)
        merged.emplace_back(
            name, thenFalls ? mergeWithNothing(sema, only->operand, endOfThen, endOfElse)
                            : mergeWithNothing(sema, only->operand, endOfElse, endOfThen));
      else if (only)
        scope.set(name, *only);
      continue;
    }
    if ((a && a->state == Binding::State::Poisoned) ||
        (b && b->state == Binding::State::Poisoned)) {
      poison(name);
      continue;
    }
    if (!a || !b) {
      const Binding *only = a ? a : b;
      if (only->state == Binding::State::Unknown)
        scope.set(name, *only);
      else
        forget(name,
               std::string("is assigned only ") + (a ? "if" : "unless") +
                   " the condition on line " + line + " holds",
               "assign it before that line too");
      continue;
    }
    if (a->state == Binding::State::Unknown || b->state == Binding::State::Unknown) {
      scope.set(name, a->state == Binding::State::Unknown ? *a : *b);
      continue;
    }
    size_t sizeOfThen = endOfThen.values.size(), sizeOfElse = endOfElse.values.size();
    auto shape = mergeOperands(sema, a->operand, b->operand, endOfThen, endOfElse);
    if (shape) {
      merged.emplace_back(name, std::move(*shape));
      continue;
    }
    endOfThen.values.truncate(sizeOfThen);
    endOfElse.values.truncate(sizeOfElse);
    forget(name,
           "is " + describeOperand(a->operand) + " if the condition on line " + line +
               " holds, and " + describeOperand(b->operand) + " otherwise",
           "give it the same type on both paths, or two names");
  }
}

Evaluator::Result Evaluator::evaluateConditional(const Expr &expr) {
  Result condition = evaluate(*expr.children[0]);
  if (mlir::failed(condition))
    return mlir::failure();
  if (auto *constant = condition->constant()) {
    auto holds = truthOf(*constant, expr.children[0]->position);
    if (mlir::failed(holds))
      return mlir::failure();
    return evaluate(*expr.children[*holds ? 1 : 2]);
  }
  if (auto items = tupleItems(*condition))
    return evaluate(*expr.children[!items->empty() ? 1 : 2]);
  at(expr.children[0]->position);
  mlir::FailureOr<Value> flag = sema.condition(*condition, "conditional expression");
  if (mlir::failed(flag))
    return mlir::failure();

  at(expr.position);
  auto op =
      mlir::scf::IfOp::create(sema.builder, sema.location(), flag->ir, /*withElseRegion=*/true);
  Scope before = scope;
  bool isBad = false;
  // The two sides are two returns of a function of their own.
  auto side = [&](const Expr &child) {
    return [&] {
      Exit exit;
      exit.kind = Exit::Kind::Returns;
      Result value = evaluate(child);
      if (mlir::succeeded(value))
        value = decay(*value, child.position);
      isBad |= mlir::failed(value);
      if (mlir::succeeded(value))
        exit.returned = *value;
      return exit;
    };
  };
  Branch then = evaluateBranch(op.getThenRegion(), before, side(*expr.children[1]));
  Branch orelse = evaluateBranch(op.getElseRegion(), before, side(*expr.children[2]));
  scope = before;
  if (isBad)
    return mlir::failure();
  BranchEnd endOfThen{then.block, {}}, endOfElse{orelse.block, {}};
  at(expr.position);
  Operand valueOfThen = then.exit.returned, valueOfElse = orelse.exit.returned;
  if (!mergeOperands(sema, valueOfThen, valueOfElse, endOfThen, endOfElse))
    return error(expr.position,
                 "conditional expression: types differ: " + describeOperand(valueOfThen) +
                     " if the condition holds, " + describeOperand(valueOfElse) + " otherwise",
                 "cast one side, or use tl.where, which converts both to one type");
  return mergeBranches(op, std::move(then), std::move(orelse), before, expr.position).returned;
}

} // namespace sectile::python
