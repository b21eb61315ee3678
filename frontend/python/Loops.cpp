// Evaluates for and while. Loops whose turns are known at compile time (tl.static_range, tuples)
// are unrolled; the others carry the variables that their body assigns. What becomes of a loop that
// a turn may leave is in LoopExits.cpp.
#include "frontend/python/Evaluator.h"
#include "frontend/python/LoopCarried.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::ExprKind;
using ast::Stmt;

static constexpr Int kMostUnrolled = 65536;

//-- range() ---------------------------------------------------------------------------------------

mlir::LogicalResult Evaluator::addLoopHint(llvm::SmallVectorImpl<mlir::NamedAttribute> &hints,
                                           const LoopHint &hint, const Operand &operand,
                                           const std::string &user, const ast::Position &position) {
  auto constant = requireConstant(operand, position, user + ": '" + hint.name.str() + "'");
  if (mlir::failed(constant))
    return mlir::failure();
  at(position);
  auto attribute = loopHintAttribute(sema, hint, *constant, user);
  if (mlir::failed(attribute))
    return mlir::failure();
  if (*attribute)
    hints.push_back(**attribute);
  return mlir::success();
}

mlir::FailureOr<Evaluator::LoopRange> Evaluator::bindRange(const std::string &kind,
                                                           const Arguments &arguments,
                                                           const ast::Position &position) {
  LoopRange range;
  std::optional<Operand> bounds[3]; // start, end, step
  const auto &positional = arguments.positional;
  size_t bound = std::min<size_t>(positional.size(), 3);
  if (bound == 1)
    bounds[1] = positional[0];
  for (size_t i = 0; bound > 1 && i < bound; ++i)
    bounds[i] = positional[i];
  auto addHint = [&](const LoopHint &hint, const Operand &operand) {
    return addLoopHint(range.hints, hint, operand, kind, position);
  };
  size_t mostPositional = kind == "range" ? 3 + loopHints().size() : 3;
  if (positional.size() > mostPositional)
    return error(position, kind + " takes at most " + std::to_string(mostPositional) +
                               " positional arguments, not " + std::to_string(positional.size()));
  for (size_t i = 3; i < positional.size(); ++i)
    if (mlir::failed(addHint(loopHints()[i - 3], positional[i])))
      return mlir::failure();
  for (const NamedOperand &argument : arguments.named) {
    if (const LoopHint *hint = findLoopHint(argument.name); hint && kind == "range") {
      if (mlir::failed(addHint(*hint, argument.operand)))
        return mlir::failure();
      continue;
    }
    // Triton's names of the bounds.
    int index = llvm::StringSwitch<int>(argument.name)
                    .Cases({"start", "arg1"}, 0)
                    .Cases({"end", "stop", "arg2"}, 1)
                    .Case("step", 2)
                    .Default(-1);
    if (index < 0)
      return error(position, kind + " has no argument '" + argument.name + "'",
                   suggestion(argument.name,
                              {"step", "num_stages", "loop_unroll_factor", "flatten",
                               "warp_specialize", "disallow_acc_multi_buffer", "disable_licm"}));
    if (bounds[index])
      return error(position, kind + ": argument '" + argument.name + "' is given twice");
    bounds[index] = argument.operand;
  }
  if (bounds[0] && !bounds[1])
    std::swap(bounds[0], bounds[1]);
  if (!bounds[1])
    return error(position, kind + ": the end is missing");
  range.start = bounds[0] && !bounds[0]->isNone() ? *bounds[0] : Operand(Constant::integer(0));
  range.end = *bounds[1];
  range.step = bounds[2] && !bounds[2]->isNone() ? *bounds[2] : Operand(Constant::integer(1));
  return range;
}

mlir::FailureOr<std::vector<Operand>> Evaluator::constantRange(const LoopRange &range,
                                                               const ast::Position &position) {
  Int numbers[3];
  const char *what[] = {"the start of the range", "the end of the range", "the step of the range"};
  const Operand *bounds[] = {&range.start, &range.end, &range.step};
  for (int i = 0; i < 3; ++i) {
    auto constant = requireConstant(*bounds[i], position, what[i]);
    if (mlir::failed(constant))
      return mlir::failure();
    auto number = integerOf(*constant);
    if (!number)
      return error(position,
                   std::string(what[i]) + " must be an integer, not " + constant->kindName());
    numbers[i] = *number;
  }
  auto [start, end, step] = numbers;
  if (step == 0)
    return error(position, "range: step is zero");
  Int distance, count = 0;
  bool overflows = step > 0 ? __builtin_sub_overflow(end, start, &distance)
                            : __builtin_sub_overflow(start, end, &distance);
  Int stride = step > 0 ? step : -step;
  if (!overflows && distance > 0)
    count = distance / stride + (distance % stride != 0);
  if (overflows || count > kMostUnrolled)
    return error(position,
                 "loop unrolls to more than " + std::to_string(int64_t(kMostUnrolled)) + " turns",
                 "use tl.range, whose turns are not unrolled");
  std::vector<Operand> items;
  for (Int i = 0; i < count; ++i)
    items.push_back(Constant::integer(start + i * step));
  return items;
}

//-- for -------------------------------------------------------------------------------------------

mlir::FailureOr<Exit> Evaluator::evaluateFor(const Stmt &stmt) {
  const ast::Expr &iterable = *stmt.value;
  Result operand = mlir::failure();
  bool isCallByName =
      iterable.kind == ExprKind::Call && (iterable.children[0]->kind == ExprKind::Name ||
                                          iterable.children[0]->kind == ExprKind::Attribute);
  if (isCallByName) {
    Result callee = evaluate(*iterable.children[0]);
    auto arguments = evaluateArguments(iterable);
    if (mlir::failed(callee) || mlir::failed(arguments))
      return mlir::failure();
    auto *constant = callee->constant();
    if (!constant)
      return error(iterable.position, callee->kindName() + " cannot be called");
    auto *builtin = constant->as<BuiltinRef>();
    bool isRange = builtin && (builtin->name == "range" || builtin->name == "python.range");
    bool isStaticRange = builtin && builtin->name == "static_range";
    if (isRange || isStaticRange) {
      auto range = bindRange(isRange ? "range" : "static_range", *arguments, iterable.position);
      if (mlir::failed(range))
        return mlir::failure();
      if (isRange)
        return evaluateRuntimeFor(stmt, *range);
      auto numbers = constantRange(*range, iterable.position);
      if (mlir::failed(numbers))
        return mlir::failure();
      return evaluateUnrolled(stmt, *numbers);
    }
    operand = call(*constant, std::move(*arguments), iterable);
  } else {
    operand = evaluate(iterable);
  }
  if (mlir::failed(operand))
    return mlir::failure();
  auto items = iterate(*operand, iterable.position);
  if (mlir::failed(items))
    return mlir::failure();
  return evaluateUnrolled(stmt, *items);
}

Exit Evaluator::evaluateUnrolled(const Stmt &stmt, llvm::ArrayRef<Operand> items) {
  const ast::Expr &target = *stmt.targets[0];
  Exit exit;
  for (const Operand &item : items) {
    if (isBroken())
      return Exit::falls();
    size_t errorsBefore = sink.all().size();
    auto turn = [&] {
      // The variable of an unrolled loop stays a constant.
      if (target.kind == ExprKind::Name)
        assign(target.text, item, target.position);
      else if (mlir::failed(assignTarget(target, item)))
        return Exit::falls();
      Exit exit = evaluateBlock(stmt.body);
      catchExit(exit, kContinues);
      return exit;
    };
    exit = exit.surely(kFalls) ? turn() : guardRest(exit, stmt.position, turn);
    // The other turns would only repeat the errors of this one.
    if (sink.all().size() > errorsBefore) {
      poison(assignedNames(stmt));
      return exit.surely(kReturns) ? exit : Exit::falls();
    }
    if (!exit.may(kFalls))
      break;
  }
  return finishLoop(exit, stmt);
}

mlir::FailureOr<Exit> Evaluator::evaluateRuntimeFor(const Stmt &stmt, const LoopRange &range) {
  const ast::Position &position = stmt.value->position;
  const ast::Expr &target = *stmt.targets[0];
  if (target.kind != ExprKind::Name)
    return error(target.position, "the variable of a loop over range() must be one name");

  at(position);
  for (const Operand *number : {&range.start, &range.end, &range.step})
    if (!number->value() && !isNumberConstant(*number))
      return error(position,
                   "range: bounds and step must be integers, not " + describeOperand(*number));
  auto counted = CountedLoop::make(sema, range.start, range.end, range.step);
  if (mlir::failed(counted))
    return mlir::failure();

  std::vector<std::string> assigned = assignedNames(stmt.body);
  llvm::erase(assigned, target.text);
  at(stmt.position);
  auto carried = findCarried(assigned, stmt.position);
  if (mlir::failed(carried))
    return mlir::failure();

  // What a turn assigns before it reads it, and nobody reads behind the loop, may be of another
  // type there than before.
  TypeChanges changes;
  for (const std::string &name : carried->names)
    if (isAssignedFirst(name, stmt.body) && !isReadAfter(name, stmt, *frames.back().function))
      changes.allowed.push_back(name);

  Scope before = scope;
  Exit exit;
  Extras extras;
  Type indexType;
  mlir::scf::ForOp loop;
  llvm::SmallVector<mlir::Value> results;
  {
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    loop = counted->open(sema, carried->initial);
    for (mlir::NamedAttribute hint : range.hints)
      loop->setAttr(hint.getName(), hint.getValue());
    changes.carried = loop.getRegionIterArgs();
    bindCarried(*carried, loop.getRegionIterArgs(), before);
    at(target.position);
    Value index = counted->index(sema);
    indexType = index.type;
    assign(target.text, index, target.position);
    exit = evaluateBlock(stmt.body);
    catchExit(exit, kContinues);
    llvm::SmallVector<mlir::Value> next;
    if (exit.may(kFalls)) {
      if (mlir::failed(flattenCarried(*carried, stmt, before, next, &changes))) {
        scope = std::move(before);
        return mlir::failure();
      }
      at(stmt.position);
      addExits(extras, stmt, exit, /*isEndless=*/false, loop);
      unsigned known = counted->isSurelyEntered() ? exit.ways : 0;
      assigned.push_back(target.text);
      addNames(extras, stmt, assigned, *carried, before, known, loop);
      auto keep = [&](mlir::ValueRange values) { results.assign(values.begin(), values.end()); };
      if (exit.surely(kFalls))
        keep(counted->close(sema, next, extras.initial, extras.next).getResults());
      else
        keep(counted->endEarly(sema, leavingFlag(exit), next, extras.initial, extras.next)
                 .getResults()
                 .drop_front());
    }
  }
  if (!exit.may(kFalls)) {
    at(stmt.position);
    mlir::Value entered = counted->isSurelyEntered() ? mlir::Value() : counted->isEntered(sema);
    llvm::SmallVector<mlir::Value> values{counted->first()};
    llvm::append_range(values, carried->initial);
    return finishLoop(placeOneTurn(stmt, loop, loop.getBody(), values, entered, exit, before),
                      stmt);
  }
  llvm::ArrayRef<mlir::Value> values(results);
  size_t carriedCount = carried->initial.size();
  leaveLoop(*carried, values.take_front(carriedCount), before, assigned, stmt,
            counted->isSurelyEntered());
  std::string line = std::to_string(stmt.position.line);
  for (const std::string &name : changes.made)
    forget(name, "is of one type before the loop on line " + line + " and of another in it",
           "give it the same type before the loop and in it");
  const Binding *first = before.find(target.text);
  if (first && first->state == Binding::State::Defined)
    forget(target.text,
           "is " + describeOperand(first->operand) + " before the loop on line " + line + ", and " +
               sema.nameOf(indexType) + " in it",
           "give it the same type before the loop");
  else
    forget(target.text, "is the variable of the loop on line " + line + ", which may not run",
           "assign it before the loop too, with the type " + sema.nameOf(indexType));
  exit = takeExtras(extras, exit, /*isEndless=*/false, values.drop_front(carriedCount), stmt);
  return finishLoop(exit, stmt);
}

//-- while -----------------------------------------------------------------------------------------

mlir::FailureOr<Exit> Evaluator::evaluateWhile(const Stmt &stmt) {
  std::vector<std::string> assigned = assignedNames(*stmt.value);
  for (std::string &name : assignedNames(stmt.body))
    if (!llvm::is_contained(assigned, name))
      assigned.push_back(std::move(name));
  at(stmt.position);
  auto carried = findCarried(assigned, stmt.position);
  if (mlir::failed(carried))
    return mlir::failure();
  llvm::SmallVector<mlir::Type> types = carried->types();
  llvm::SmallVector<mlir::Location> locations(types.size(), sema.location());
  auto loop = mlir::scf::WhileOp::create(sema.builder, sema.location(), types, carried->initial);

  Scope before = scope;
  Exit exit;
  Extras extras;
  bool isEndless = false, runs = true;
  {
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    auto failed = [&] {
      scope = before;
      return mlir::failure();
    };
    mlir::Block *test = sema.builder.createBlock(&loop.getBefore(), {}, types, locations);
    bindCarried(*carried, test->getArguments(), before);
    llvm::SmallVector<mlir::NamedAttribute, 2> hints;
    auto *outerHints = std::exchange(whileHints, &hints);
    Result condition = evaluate(*stmt.value);
    whileHints = outerHints;
    if (mlir::failed(condition))
      return failed();
    for (mlir::NamedAttribute hint : hints)
      loop->setAttr(hint.getName(), hint.getValue());
    if (auto *constant = condition->constant()) {
      auto holds = truthOf(*constant, stmt.value->position);
      if (mlir::failed(holds))
        return failed();
      isEndless = runs = *holds;
    }
    if (runs) {
      at(stmt.value->position);
      auto flag = sema.condition(*condition, "while");
      llvm::SmallVector<mlir::Value> tested, next;
      if (mlir::failed(flag) || mlir::failed(flattenCarried(*carried, stmt, before, tested)))
        return failed();
      at(stmt.position);
      mlir::scf::ConditionOp::create(sema.builder, sema.location(), flag->ir, tested);

      mlir::Block *body = sema.builder.createBlock(&loop.getAfter(), {}, types, locations);
      bindCarried(*carried, body->getArguments(), before);
      size_t errorsBefore = sink.all().size();
      exit = evaluateBlock(stmt.body);
      catchExit(exit, kContinues);
      if (isEndless && exit.surely(kFalls)) {
        (void)failed();
        if (sink.all().size() > errorsBefore)
          return mlir::failure();
        return error(stmt.value->position,
                     "the condition of 'while' is always true, and nothing leaves the loop",
                     "leave it by 'break' or 'return', or loop over a condition that the body "
                     "changes");
      }
      if (exit.may(kFalls)) {
        if (mlir::failed(flattenCarried(*carried, stmt, before, next)))
          return failed();
        at(stmt.position);
        addExits(extras, stmt, exit, isEndless, loop);
        addNames(extras, stmt, assigned, *carried, before, isEndless ? exit.ways & kBreaks : 0,
                 loop);
        if (exit.surely(kFalls))
          mlir::scf::YieldOp::create(sema.builder, sema.location(), next);
        else
          loop = endEarly(sema, loop, leavingFlag(exit), next, extras.initial, extras.next);
      }
    }
  }
  if (!runs) {
    scope = std::move(before);
    loop.erase();
    return evaluateBlock(stmt.orelse);
  }
  if (!exit.may(kFalls)) {
    // The test comes once, and then the body.
    mlir::IRRewriter rewriter(sema.builder.getContext());
    mlir::scf::ConditionOp tests = loop.getConditionOp();
    rewriter.inlineBlockBefore(loop.getBeforeBody(), loop, carried->initial);
    llvm::SmallVector<mlir::Value> tested(tests.getArgs());
    mlir::Value condition = isEndless ? mlir::Value() : tests.getCondition();
    tests.erase();
    Scope after = std::move(scope);
    bindCarried(*carried, tested, before);
    Scope withoutTurn = std::exchange(scope, std::move(after));
    exit = placeOneTurn(stmt, loop, loop.getAfterBody(), tested, condition, exit, withoutTurn);
    return finishLoop(exit, stmt);
  }
  size_t carriedCount = carried->initial.size();
  leaveLoop(*carried, loop.getResults().take_front(carriedCount), before, assigned, stmt,
            /*surelyRuns=*/isEndless);
  exit = takeExtras(extras, exit, isEndless, loop.getResults().drop_front(carriedCount), stmt);
  return finishLoop(exit, stmt, isEndless);
}

//-- carried variables -----------------------------------------------------------------------------

llvm::SmallVector<mlir::Type> Evaluator::Carried::types() const {
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : initial)
    types.push_back(value.getType());
  return types;
}

mlir::FailureOr<Evaluator::Carried> Evaluator::findCarried(llvm::ArrayRef<std::string> assigned,
                                                           const ast::Position &position) {
  Carried carried;
  for (const std::string &name : assigned) {
    const Binding *binding = scope.find(name);
    if (!binding || binding->state != Binding::State::Defined)
      continue;
    at(position);
    auto shape = shapeForLoop(sema, binding->operand, carried.initial);
    if (mlir::failed(shape))
      return mlir::failure();
    carried.names.push_back(name);
    carried.shapes.push_back(std::move(*shape));
  }
  return carried;
}

void Evaluator::bindCarried(const Carried &carried, mlir::ValueRange values, const Scope &before) {
  scope = before;
  size_t next = 0;
  for (auto [name, shape] : llvm::zip(carried.names, carried.shapes)) {
    // Keeps the place of the first assignment for messages; only the value is new.
    Binding binding = *before.find(name);
    binding.operand = shape.rebuild(values, next);
    binding.version = nextVersion++;
    scope.set(name, std::move(binding));
  }
}

mlir::LogicalResult Evaluator::flattenCarried(const Carried &carried, const Stmt &loop,
                                              const Scope &before,
                                              llvm::SmallVectorImpl<mlir::Value> &values,
                                              TypeChanges *changes) {
  bool isBad = false;
  size_t end = 0; // of the carried values of the names so far
  for (auto [name, shape] : llvm::zip(carried.names, carried.shapes)) {
    const size_t begin = end;
    if (changes)
      (void)shape.rebuild(changes->carried, end);
    const Binding *now = scope.find(name);
    if (!now || now->state == Binding::State::Poisoned) {
      isBad = true;
      continue;
    }
    std::string line = std::to_string(loop.position.line);
    if (now->state == Binding::State::Unknown) {
      sema.at(rangeOf(loop.position));
      (void)sema.error("'" + name + "' " + now->reason + ", but the loop on line " + line +
                           " carries it to its next turn",
                       now->help);
      isBad = true;
      continue;
    }
    at(loop.position);
    const size_t had = values.size();
    if (flattenAs(sema, shape, now->operand, values))
      continue;
    values.resize(had);
    if (changes && llvm::is_contained(changes->allowed, name)) {
      llvm::append_range(values, changes->carried.slice(begin, end - begin));
      changes->made.push_back(name);
      continue;
    }
    isBad = true;
    const Binding *first = before.find(name);
    sema.at(now->range);
    std::string help = "give '" + name + "' the same type before the loop and in it";
    auto *value = now->operand.value();
    if (shape.kind == ValueShape::Kind::Slot && value) {
      const Type &was = shape.type, &is = value->type;
      if (was.shape != is.shape && was.isScalar())
        help = "start it as a tile: " + name + " = tl.zeros(...) or tl.full(...) of shape " +
               is.shapeName();
      else if (was.shape == is.shape)
        help = "cast what is assigned with .to(...), or start '" + name + "' as " + is.dtype.name();
    } else if (value && shape.kind == ValueShape::Kind::Constant) {
      help = "assign '" + name + "' a value of type " + value->type.name() + " before the loop";
    }
    (void)sema.error("'" + name + "' changes its type in the loop: it is " + shape.describe() +
                         " before (line " + std::to_string(first->range.line) + "), and " +
                         describeOperand(now->operand) + " after a turn",
                     help);
  }
  return mlir::failure(isBad);
}

void Evaluator::leaveLoop(const Carried &carried, mlir::ValueRange results, const Scope &before,
                          llvm::ArrayRef<std::string> assigned, const Stmt &loop, bool surelyRuns) {
  Scope inside = std::move(scope);
  bindCarried(carried, results, before);
  for (const std::string &name : assigned) {
    if (llvm::is_contained(carried.names, name))
      continue;
    const Binding *binding = inside.find(name);
    if (binding && binding->state == Binding::State::Poisoned)
      poison(name);
    else if (binding && surelyRuns && binding->state == Binding::State::Unknown)
      forget(name, binding->reason, binding->help);
    else if (binding)
      forget(name,
             "is assigned only inside the loop on line " + std::to_string(loop.position.line) +
                 ", which may not run",
             "assign it before the loop too");
  }
}

} // namespace sectile::python
