// if/elif/else, conditional expressions, and what follows a statement that may leave its block.
#include "frontend/python/Evaluator.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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
  // One side leaves for sure: what follows belongs to the other.
  if (hasRest && then.exit.may(kFalls) != orelse.exit.may(kFalls)) {
    bool thenFalls = then.exit.may(kFalls);
    Branch &goesOn = thenFalls ? then : orelse;
    mlir::Region &region = thenFalls ? op.getThenRegion() : op.getElseRegion();
    Exit reached = goesOn.exit;
    goesOn = evaluateBranch(region, goesOn.scope, [&] {
      return reached.surely(kFalls) ? rest() : guardRest(reached, stmt.position, rest);
    });
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
  Exit exit = body();
  return {&block, std::move(exit), std::move(scope)};
}

//-- ways of leaving -------------------------------------------------------------------------------

Exit Exit::where(unsigned some) const {
  Exit exit = *this;
  exit.ways &= some;
  for (Way way : {kBreaks, kContinues, kReturns})
    if (!exit.may(way) || exit.surely(way))
      exit.flag(way) = {};
  if (!exit.may(kReturns))
    exit.returned = {}, exit.returnRange = {};
  return exit;
}

Scope Evaluator::namesWhere(const Scope &scope, unsigned ways) {
  Scope there = scope;
  ways &= ~kReturns;
  for (const std::string &name : scope.names()) {
    Binding binding = *scope.find(name);
    if (binding.knownWays == 0)
      continue;
    binding.version = nextVersion++;
    binding.knownWays &= ways;
    if (binding.knownWays == ways) {
      binding.state = Binding::State::Defined;
      binding.knownWays = 0;
    }
    there.set(name, std::move(binding));
  }
  return there;
}

void Evaluator::catchExit(Exit &exit, Way way) {
  if (!exit.may(way))
    return;
  unsigned joined = exit.ways & (way | kFalls), ways = (exit.ways | kFalls) & ~way;
  for (const std::string &name : scope.names()) {
    Binding binding = *scope.find(name);
    if (binding.knownWays == 0)
      continue;
    bool isKnown = (binding.knownWays & joined) == joined;
    binding.knownWays = (binding.knownWays & ~joined) | (isKnown ? kFalls : 0);
    if (binding.knownWays == (ways & ~kReturns)) {
      binding.state = Binding::State::Defined;
      binding.knownWays = 0;
    }
    binding.version = nextVersion++;
    scope.set(name, std::move(binding));
  }
  exit.ways |= kFalls;
  exit = exit.where(ways);
}

mlir::Value Evaluator::leavingFlag(const Exit &exit) {
  mlir::Value leaves;
  for (mlir::Value flag : {exit.breaks, exit.continues, exit.returns})
    if (flag)
      leaves =
          leaves
              ? mlir::arith::OrIOp::create(sema.builder, sema.location(), leaves, flag).getResult()
              : flag;
  return leaves;
}

Exit Evaluator::guardRest(const Exit &exit, const ast::Position &position, Rest rest,
                          std::optional<Way> caught) {
  // The rest nests deeper with each statement that may leave.
  ++depth;
  DepthGuard guard{depth};
  if (mlir::failed(enter(position)))
    return Exit::falls();
  at(position);
  auto op = mlir::scf::IfOp::create(sema.builder, sema.location(), leavingFlag(exit),
                                    /*withElseRegion=*/true);
  Scope before = scope;
  Branch then = evaluateBranch(op.getThenRegion(), namesWhere(before, exit.ways & ~kFalls), [&] {
    Exit leaves = exit.where(~kFalls);
    if (caught)
      catchExit(leaves, *caught);
    return leaves;
  });
  Branch orelse = evaluateBranch(op.getElseRegion(), namesWhere(before, kFalls), rest);
  return mergeBranches(op, std::move(then), std::move(orelse), before, position);
}

/// Whether control leaves in that way, as a value at the end of a block.
static mlir::Value flagAt(Semantics &sema, Exit &exit, Way way, mlir::Block *block) {
  if (exit.may(way) && !exit.surely(way))
    return exit.flag(way);
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPointToEnd(block);
  return mlir::arith::ConstantOp::create(sema.builder, sema.location(),
                                         sema.builder.getBoolAttr(exit.surely(way)));
}

Exit Evaluator::mergeBranches(mlir::scf::IfOp op, Branch then, Branch orelse, const Scope &before,
                              const ast::Position &position) {
  at(position);
  BranchEnd endOfThen{then.block, {}}, endOfElse{orelse.block, {}};
  bool thenReturns = then.exit.may(kReturns), elseReturns = orelse.exit.may(kReturns);

  Exit exit;
  exit.ways = then.exit.ways | orelse.exit.ways;
  std::vector<std::pair<std::string, ValueShape>> merged;
  if (!exit.surely(kReturns))
    mergeNames(then, orelse, before, position, endOfThen, endOfElse, merged);
  else
    scope = before;

  std::optional<ValueShape> returned;
  if (thenReturns || elseReturns) {
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
  // In the order of `Way`, so that IR does not depend on the side.
  llvm::SmallVector<Way, 3> flags;
  for (Way way : {kBreaks, kContinues, kReturns})
    if (exit.may(way) && !exit.surely(way)) {
      flags.push_back(way);
      endOfThen.values.push_back(flagAt(sema, then.exit, way, then.block));
      endOfElse.values.push_back(flagAt(sema, orelse.exit, way, orelse.block));
    }
  // A merge that failed may have appended to one side only; its module is never used.
  if (endOfThen.values.size() != endOfElse.values.size())
    return exit.may(kFalls) || !exit.may(kReturns) ? Exit::falls() : Exit::by(kReturns);

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
  for (auto &[name, shape] : merged) {
    Operand operand = shape.rebuild(result.getResults(), next);
    const Binding *binding = scope.find(name);
    if (!binding || binding->knownWays == 0) {
      assign(name, std::move(operand), position);
      continue;
    }
    Binding known = *binding;
    known.operand = std::move(operand);
    scope.set(name, std::move(known));
  }
  if (returned)
    exit.returned = returned->rebuild(result.getResults(), next);
  for (Way way : flags)
    exit.flag(way) = result.getResults()[next++];
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
  unsigned waysOfThen = then.exit.ways & ~kReturns, waysOfElse = orelse.exit.ways & ~kReturns;
  auto knownWays = [](const Binding *binding, unsigned ways) -> unsigned {
    if (!binding || ways == 0)
      return 0;
    return binding->state == Binding::State::Defined ? ways : binding->knownWays & ways;
  };

  scope = before;
  for (const std::string &name : changed) {
    // The side that has returned does not go on from here: the other's value is the value.
    const Binding *a = waysOfThen ? then.scope.find(name) : nullptr;
    const Binding *b = waysOfElse ? orelse.scope.find(name) : nullptr;
    if (!a && !b)
      continue;
    if ((a && a->state == Binding::State::Poisoned) ||
        (b && b->state == Binding::State::Poisoned)) {
      poison(name);
      continue;
    }
    unsigned knownToThen = knownWays(a, waysOfThen), knownToElse = knownWays(b, waysOfElse);
    unsigned all = waysOfThen | waysOfElse, known = 0;
    std::optional<ValueShape> shape;
    if (knownToThen && knownToElse) {
      known = (knownToThen | ~waysOfThen) & (knownToElse | ~waysOfElse) & all;
      size_t sizeOfThen = endOfThen.values.size(), sizeOfElse = endOfElse.values.size();
      if (known)
        shape = mergeOperands(sema, a->operand, b->operand, endOfThen, endOfElse);
      if (!shape) {
        endOfThen.values.truncate(sizeOfThen);
        endOfElse.values.truncate(sizeOfElse);
      }
    }
    if (!shape) {
      // In the ways that only one side takes, the name is what it is on that side.
      unsigned onlyThen = knownToThen & ~waysOfElse, onlyElse = knownToElse & ~waysOfThen;
      bool isOfThen = onlyThen && !(onlyElse & kFalls);
      known = isOfThen ? onlyThen : onlyElse;
      if (known)
        shape = isOfThen ? mergeWithNothing(sema, a->operand, endOfThen, endOfElse)
                         : mergeWithNothing(sema, b->operand, endOfElse, endOfThen);
    }
    if (known == all) {
      merged.emplace_back(name, std::move(*shape));
      scope.erase(name);
      continue;
    }
    // Why it is not known in all ways.
    if (waysOfThen && waysOfElse && (!a || !b)) {
      const Binding *only = a ? a : b;
      if (only->state == Binding::State::Unknown)
        scope.set(name, *only);
      else
        forget(name,
               std::string("is assigned only ") + (a ? "if" : "unless") +
                   " the condition on line " + line + " holds",
               "assign it before that line too");
    } else if (!a || a->state == Binding::State::Unknown || !b ||
               b->state == Binding::State::Unknown) {
      scope.set(name, a && a->state == Binding::State::Unknown ? *a : *b);
    } else {
      forget(name,
             "is " + describeOperand(a->operand) + " if the condition on line " + line +
                 " holds, and " + describeOperand(b->operand) + " otherwise",
             "give it the same type on both paths, or two names");
    }
    Binding binding = *scope.find(name);
    binding.knownWays = known;
    scope.set(name, std::move(binding));
    if (known)
      merged.emplace_back(name, std::move(*shape));
  }
}

Evaluator::Result Evaluator::shortCircuit(const std::string &op, const Operand &lhs,
                                          const ast::Position &position,
                                          llvm::function_ref<Result()> rhs) {
  mlir::OpBuilder &builder = sema.builder;
  mlir::Block *block = builder.getInsertionBlock();
  bool isAtStart = builder.getInsertionPoint() == block->begin();
  mlir::Operation *last = isAtStart ? nullptr : &*std::prev(builder.getInsertionPoint());
  Scope before = scope;
  Result right = rhs();
  if (mlir::failed(right))
    return mlir::failure();
  auto first = last ? std::next(last->getIterator()) : block->begin();
  auto end = builder.getInsertionPoint();
  bool binds = llvm::any_of(scope.names(), [&](const std::string &name) {
    const Binding *was = before.find(name);
    return !was || was->version != scope.find(name)->version;
  });
  auto combined = [&]() -> Result {
    if (auto *constant = right->constant(); constant && op == "&") {
      auto holds = truthOf(*constant, position);
      return mlir::failed(holds) ? Result(mlir::failure()) : Result(*holds ? lhs : *right);
    }
    return binary(op, lhs, *right, position);
  };
  auto *value = right->value();
  bool isTile = value && !value->type.isScalar();
  if (isTile || (!binds && std::all_of(first, end, isFreeToCompute)))
    return combined();

  // What the right side emitted moves into a branch.
  Scope after = std::exchange(scope, before);
  builder.setInsertionPoint(block, first);
  at(position);
  mlir::FailureOr<Value> flag = sema.condition(lhs, op);
  if (mlir::failed(flag))
    return mlir::failure();
  auto branch =
      mlir::scf::IfOp::create(builder, sema.location(), flag->ir, /*withElseRegion=*/true);
  bool isOr = op == "or";
  mlir::Region &runs = isOr ? branch.getElseRegion() : branch.getThenRegion();
  mlir::Region &decides = isOr ? branch.getThenRegion() : branch.getElseRegion();
  // The two sides hand on the value as a name that no program has.
  const std::string name = "(" + op + ")";
  bool isBad = false;
  Branch evaluated = evaluateBranch(runs, after, [&] {
    mlir::Block &target = runs.front();
    target.getOperations().splice(target.end(), block->getOperations(),
                                  std::next(branch->getIterator()), end);
    builder.setInsertionPointToEnd(&target);
    Result both = combined();
    isBad = mlir::failed(both) || mlir::failed(both = decay(*both, position));
    if (!isBad)
      assign(name, *both, position);
    return Exit::falls();
  });
  Branch decided = evaluateBranch(decides, before, [&] {
    Result known = decay(Operand(Constant{isOr}), position);
    if (mlir::succeeded(known))
      assign(name, *known, position);
    return Exit::falls();
  });
  if (isBad)
    return mlir::failure();
  Branch &then = isOr ? decided : evaluated, &orelse = isOr ? evaluated : decided;
  (void)mergeBranches(branch, std::move(then), std::move(orelse), before, position);
  const Binding *result = scope.find(name);
  if (!result || result->state != Binding::State::Defined)
    return mlir::failure();
  Operand operand = result->operand;
  scope.erase(name);
  return operand;
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
      Exit exit = Exit::by(kReturns);
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
