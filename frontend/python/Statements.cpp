// Statements in order; what assigning does to an operand.
#include "frontend/python/Evaluator.h"
#include "frontend/python/LoopCarried.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using ast::ExprKind;
using ast::Stmt;
using ast::StmtKind;

Exit Evaluator::evaluateBlock(llvm::ArrayRef<ast::StmtPtr> statements, BlockEnd end) {
  for (size_t i = 0; i < statements.size(); ++i) {
    if (isBroken())
      return Exit::falls();
    const Stmt &stmt = *statements[i];
    bool restTaken = false;
    auto rest = [&] { return evaluateBlock(statements.drop_front(i + 1), end); };
    bool hasRest = i + 1 < statements.size() || end == BlockEnd::ReturnsNone;
    Exit exit = evaluateStatement(stmt, hasRest, rest, restTaken);
    if (restTaken || !exit.may(kFalls))
      return exit;
    if (exit.surely(kFalls))
      continue;
    bool isLast = i + 1 == statements.size();
    if (isLast && end == BlockEnd::Falls)
      return exit;
    if (isLast && exit.ways == (kFalls | kReturns) && exit.returned.isNone())
      break;
    return guardRest(exit, stmt.position, rest);
  }
  return Exit::by(end == BlockEnd::ReturnsNone ? kReturns : kFalls);
}

Exit Evaluator::evaluateStatement(const Stmt &stmt, bool hasRest, Rest rest, bool &restTaken) {
  ++depth;
  DepthGuard guard{depth};
  mlir::FailureOr<Exit> exit = Exit::falls();
  auto withoutExit = [&](mlir::LogicalResult result) {
    if (mlir::failed(result))
      exit = mlir::failure();
  };
  if (mlir::failed(enter(stmt.position)))
    return Exit::falls();

  switch (stmt.kind) {
  case StmtKind::Expression:
    if (isEllipsis(*stmt.value)) // a lone "..." is a pass
      break;
    unusedCall = stmt.value.get();
    withoutExit(evaluate(*stmt.value));
    break;
  case StmtKind::Assign:
    withoutExit(evaluateAssign(stmt));
    break;
  case StmtKind::AugmentedAssign:
    withoutExit(evaluateAugmentedAssign(stmt));
    break;
  case StmtKind::AnnotatedAssign:
    withoutExit(evaluateAnnotatedAssign(stmt));
    break;
  case StmtKind::If:
    exit = evaluateIf(stmt, hasRest, rest, restTaken);
    break;
  case StmtKind::For:
    exit = evaluateFor(stmt);
    break;
  case StmtKind::While:
    exit = evaluateWhile(stmt);
    break;
  case StmtKind::Return:
    exit = evaluateReturn(stmt);
    break;
  case StmtKind::Assert:
    withoutExit(evaluateAssert(stmt));
    break;
  case StmtKind::Pass:
    break;
  case StmtKind::Break:
    exit = Exit::by(kBreaks);
    break;
  case StmtKind::Continue:
    exit = Exit::by(kContinues);
    break;
  case StmtKind::Global:
    withoutExit(error(stmt.position, "'global' and 'nonlocal' are not supported in a kernel",
                      "return the value, or write it to memory with tl.store"));
    break;
  case StmtKind::Unsupported: {
    std::string help;
    if (stmt.text == "def" || stmt.text == "class")
      help = "move it out of the kernel and decorate it with @jit";
    else if (stmt.text == "import")
      help = "import at the top of the file";
    else if (stmt.text == "raise" || stmt.text == "try")
      help = "use tl.static_assert or tl.device_assert";
    withoutExit(error(stmt.position, "'" + stmt.text + "' is not supported in a kernel", help));
    break;
  }
  }
  if (mlir::succeeded(exit))
    return *exit;
  // One message per mistake: later uses of what this statement would have computed report nothing.
  std::vector<std::string> names = assignedNames(stmt);
  poison(names);
  for (const ast::ExprPtr &target : stmt.targets)
    if (stmt.kind == StmtKind::AnnotatedAssign && target->kind == ExprKind::Name)
      poison(target->text);
  return Exit::falls();
}

//-- assignment ------------------------------------------------------------------------------------

Evaluator::Result Evaluator::decay(const Operand &operand, const ast::Position &position) {
  if (!isNumberConstant(operand))
    return operand;
  at(position);
  mlir::FailureOr<Value> value = sema.toValue(operand);
  if (mlir::failed(value))
    return mlir::failure();
  return Operand(*value);
}

mlir::LogicalResult Evaluator::evaluateAssign(const Stmt &stmt) {
  Result value = evaluate(*stmt.value);
  if (mlir::failed(value))
    return mlir::failure();
  for (const ast::ExprPtr &target : stmt.targets) {
    if (target->kind == ExprKind::Subscript)
      return refuseItemAssignment(*target, "", *stmt.value);
    if (isShapeOfScalar(*stmt.value) &&
        (target->kind == ExprKind::Tuple || target->kind == ExprKind::List))
      return refuseShape(*stmt.value);
    if (mlir::failed(assignTarget(*target, *value)))
      return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult Evaluator::refuseItemAssignment(const Expr &target, const std::string &op,
                                                    const Expr &value) {
  Result object = evaluate(*target.children[0]);
  if (mlir::failed(object))
    return mlir::failure();
  std::string message = "assignment to an item is not supported: ",
              text = sourceText(value.position);
  if (!object->value() || !object->value()->type.dtype.isPointer)
    return error(target.position, message + "tiles and tuples are values",
                 "use tl.where to change part of a tile, or tl.store to write to memory");
  std::string address = addressText(target);
  std::string stored = op.empty() ? text : "tl.load(" + address + ") " + op + " " + text;
  return error(target.position,
               message + sourceText(target.children[0]->position) + " is a pointer",
               "use tl.store(" + address + ", " + stored + ")");
}

mlir::LogicalResult Evaluator::assignTarget(const Expr &target, const Operand &operand) {
  switch (target.kind) {
  case ExprKind::Name: {
    Result value = decay(operand, target.position);
    if (mlir::failed(value))
      return mlir::failure();
    assign(target.text, *value, target.position);
    return mlir::success();
  }
  case ExprKind::Tuple:
  case ExprKind::List:
    return unpack(target, operand);
  case ExprKind::Subscript:
    return error(target.position,
                 "assignment to an item is not supported: tiles and tuples are values",
                 "use tl.where to change part of a tile, or tl.store to write to memory");
  case ExprKind::Attribute:
    return assignField(target, operand);
  default:
    return error(target.position, "cannot assign to this");
  }
}

mlir::LogicalResult Evaluator::unpack(const Expr &target, const Operand &operand) {
  auto items = tupleItems(operand);
  if (!items)
    return error(target.position,
                 "cannot unpack " + describeOperand(operand) + " into " +
                     std::to_string(target.children.size()) + " variables",
                 operand.value() ? "tl.split takes a tile apart" : "");
  auto isStarred = [](const ast::ExprPtr &child) { return child->kind == ExprKind::Starred; };
  auto starred = llvm::find_if(target.children, isStarred);
  size_t count = target.children.size();
  bool hasStar = starred != target.children.end();
  if (hasStar ? items->size() + 1 < count : items->size() != count)
    return error(target.position, "cannot unpack " + std::to_string(items->size()) +
                                      " values into " + std::to_string(count) + " variables");
  size_t starredCount = items->size() + 1 - count, next = 0;
  for (const ast::ExprPtr &child : target.children) {
    if (!isStarred(child)) {
      if (mlir::failed(assignTarget(*child, (*items)[next++])))
        return mlir::failure();
      continue;
    }
    std::vector<Operand> rest(items->begin() + next, items->begin() + next + starredCount);
    next += starredCount;
    if (mlir::failed(assignTarget(*child->children[0], makeTuple(std::move(rest)))))
      return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult Evaluator::evaluateAnnotatedAssign(const Stmt &stmt) {
  if (!stmt.value)
    return mlir::success();
  Result value = evaluate(*stmt.value);
  if (mlir::failed(value))
    return mlir::failure();
  const Expr &target = *stmt.targets[0];
  if (!isConstexprAnnotation(*stmt.annotation))
    return assignTarget(target, *value);
  if (target.kind != ExprKind::Name)
    return error(target.position, "only a variable can be annotated tl.constexpr");
  // As in Triton, a value of the launch stays one: whatever wants a constant of the name will say
  // so.
  if (!isKnown(*value))
    return assignTarget(target, *value);
  auto constant = requireConstant(*value, stmt.value->position, "'" + target.text + "'");
  if (mlir::failed(constant))
    return mlir::failure();
  assign(target.text, std::move(*constant), target.position);
  return mlir::success();
}

mlir::LogicalResult Evaluator::evaluateAugmentedAssign(const Stmt &stmt) {
  const Expr &target = *stmt.targets[0];
  if (target.kind == ExprKind::Subscript)
    return refuseItemAssignment(target, stmt.text, *stmt.value);
  if (target.kind != ExprKind::Name && constructedField(target).empty())
    return assignTarget(target, Operand());
  Result lhs = evaluate(target);
  Result rhs = evaluate(*stmt.value);
  if (mlir::failed(lhs) || mlir::failed(rhs))
    return mlir::failure();
  Result value = binary(stmt.text, *lhs, *rhs, stmt.position);
  if (mlir::failed(value))
    return mlir::failure();
  return assignTarget(target, *value);
}

//-- the others ------------------------------------------------------------------------------------

mlir::LogicalResult Evaluator::evaluateAssert(const Stmt &stmt) {
  Result condition = evaluate(*stmt.value);
  if (mlir::failed(condition))
    return mlir::failure();
  bool isConstant = condition->constant();
  if (isConstant) {
    auto holds = truthOf(*condition->constant(), stmt.value->position);
    if (mlir::failed(holds))
      return mlir::failure();
    if (*holds)
      return mlir::success(); // the message is not even looked at, as in Python
  }
  Operand message = Constant{std::string()};
  if (stmt.annotation) {
    Result text = evaluate(*stmt.annotation);
    if (mlir::failed(text))
      return mlir::failure();
    auto constant = requireConstant(*text, stmt.annotation->position, "the message of an assert");
    if (mlir::failed(constant))
      return mlir::failure();
    Result shown = computed(constants.text(*constant), stmt.annotation->position);
    if (mlir::failed(shown))
      return mlir::failure();
    message = *shown;
  }
  if (isConstant) {
    std::string text = textOf(*message.constant());
    return error(stmt.position, "assertion failed" + (text.empty() ? "" : ": " + text));
  }
  at(stmt.position);
  return callBuiltin(sema, "device_assert", {*condition, message}, {});
}

mlir::FailureOr<Exit> Evaluator::evaluateReturn(const Stmt &stmt) {
  Exit exit = Exit::by(kReturns);
  exit.returnRange = rangeOf(stmt.position);
  if (!stmt.value)
    return exit;
  Result value = evaluate(*stmt.value);
  // A poisoned result: nobody uses it, but control still ends here.
  if (mlir::failed(value) || frames.back().wanted == Wanted::Effects)
    return exit;
  at(stmt.position);
  auto decayed = [&](auto &self, const Operand &operand) -> Result {
    auto items = tupleItems(operand);
    if (!items)
      return decay(operand, stmt.position);
    TupleClassRef tupleClass = tupleClassOf(operand);
    for (size_t i = 0; i < items->size() && !(tupleClass && i >= tupleClass->constantsFrom); ++i) {
      Result value = self(self, (*items)[i]);
      if (mlir::failed(value))
        return mlir::failure();
      (*items)[i] = *value;
    }
    return makeTuple(std::move(*items), tupleClass);
  };
  value = decayed(decayed, *value);
  if (mlir::succeeded(value))
    exit.returned = *value;
  return exit;
}

} // namespace sectile::python
