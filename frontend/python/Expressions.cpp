// Expressions: constants are computed, values go through lang/Semantics.
#include "frontend/python/Evaluator.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Expr;
using ast::ExprKind;

static std::optional<BinaryOperator> binaryOperator(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<BinaryOperator>>(text)
      .Case("+", BinaryOperator::Add)
      .Case("-", BinaryOperator::Subtract)
      .Case("*", BinaryOperator::Multiply)
      .Case("/", BinaryOperator::Divide)
      .Case("//", BinaryOperator::FloorDivide)
      .Case("%", BinaryOperator::Modulo)
      .Case("**", BinaryOperator::Power)
      .Case("@", BinaryOperator::MatrixMultiply)
      .Case("&", BinaryOperator::BitAnd)
      .Case("|", BinaryOperator::BitOr)
      .Case("^", BinaryOperator::BitXor)
      .Case("<<", BinaryOperator::ShiftLeft)
      .Case(">>", BinaryOperator::ShiftRight)
      .Case("==", BinaryOperator::Equal)
      .Case("!=", BinaryOperator::NotEqual)
      .Case("<", BinaryOperator::Less)
      .Case("<=", BinaryOperator::LessEqual)
      .Case(">", BinaryOperator::Greater)
      .Case(">=", BinaryOperator::GreaterEqual)
      .Case("and", BinaryOperator::LogicalAnd)
      .Case("or", BinaryOperator::LogicalOr)
      .Default(std::nullopt);
}

Evaluator::Result Evaluator::evaluate(const Expr &expr) {
  ++depth;
  DepthGuard guard{depth};
  if (mlir::failed(enter(expr.position)))
    return mlir::failure();

  switch (expr.kind) {
  case ExprKind::Constant:
    return Operand(expr.value);
  case ExprKind::Name:
    return lookUp(expr);
  case ExprKind::Attribute:
    return evaluateAttribute(expr);
  case ExprKind::Subscript:
    return evaluateSubscript(expr);
  case ExprKind::Tuple:
  case ExprKind::List: {
    auto items = evaluateItems(expr.children);
    if (mlir::failed(items))
      return mlir::failure();
    return makeTuple(std::move(*items));
  }
  case ExprKind::Unary:
    return evaluateUnary(expr);
  case ExprKind::Binary: {
    Result lhs = evaluate(*expr.children[0]);
    Result rhs = evaluate(*expr.children[1]);
    if (mlir::failed(lhs) || mlir::failed(rhs))
      return mlir::failure();
    return binary(expr.text, *lhs, *rhs, expr.position);
  }
  case ExprKind::BoolOp:
    return evaluateBoolOp(expr);
  case ExprKind::Compare:
    return evaluateCompare(expr);
  case ExprKind::Conditional:
    return evaluateConditional(expr);
  case ExprKind::Call:
    return evaluateCall(expr);
  case ExprKind::NamedExpr: {
    Result value = evaluate(*expr.children[0]);
    if (mlir::succeeded(value))
      value = decay(*value, expr.position);
    if (mlir::failed(value)) {
      poison(expr.text);
      return mlir::failure();
    }
    assign(expr.text, *value, expr.position);
    return value;
  }
  case ExprKind::FormattedText:
    return evaluateFormattedText(expr);
  case ExprKind::FormattedValue:
    return evaluateFormattedValue(expr);
  case ExprKind::Comprehension:
    return evaluateComprehension(expr);
  case ExprKind::Starred:
    return error(expr.position, "'*' may stand only in a call, a tuple or an assignment");
  case ExprKind::Slice:
    return error(expr.position, "a slice may stand only between brackets");
  case ExprKind::Unsupported:
    break;
  }
  std::string help;
  if (expr.text == "lambda")
    help = "write a @jit function instead";
  else if (expr.text == "dict" || expr.text == "set")
    help = "use a tuple, or pass the values as tl.constexpr parameters";
  return error(expr.position, "'" + expr.text + "' is not supported in a kernel", help);
}

mlir::FailureOr<std::vector<Operand>>
Evaluator::evaluateItems(llvm::ArrayRef<ast::ExprPtr> expressions) {
  std::vector<Operand> items;
  bool isBad = false;
  for (const ast::ExprPtr &child : expressions) {
    bool isStarred = child->kind == ExprKind::Starred;
    Result item = evaluate(isStarred ? *child->children[0] : *child);
    if (mlir::failed(item)) {
      isBad = true;
      continue;
    }
    if (!isStarred) {
      items.push_back(std::move(*item));
      continue;
    }
    auto expanded = iterate(*item, child->position);
    if (mlir::failed(expanded))
      isBad = true;
    else
      items.insert(items.end(), expanded->begin(), expanded->end());
  }
  if (isBad)
    return mlir::failure();
  return items;
}

Evaluator::Result Evaluator::binary(const std::string &op, const Operand &lhs, const Operand &rhs,
                                    const ast::Position &position) {
  at(position);
  if (lhs.constant() && rhs.constant()) {
    return computed(constants.binary(op, *lhs.constant(), *rhs.constant()), position);
  }
  if (std::optional<Result> own = ownOperator(op, {lhs, rhs}, position))
    return *own;
  auto itemsOfLhs = tupleItems(lhs), itemsOfRhs = tupleItems(rhs);
  if (op == "+" && itemsOfLhs && itemsOfRhs) {
    itemsOfLhs->insert(itemsOfLhs->end(), itemsOfRhs->begin(), itemsOfRhs->end());
    return makeTuple(std::move(*itemsOfLhs));
  }
  if (op == "*" && itemsOfLhs && rhs.constant() && integerOf(*rhs.constant())) {
    Int count = *integerOf(*rhs.constant());
    if (count > 1024)
      return error(position, "repeated tuple is too long");
    std::vector<Operand> items;
    for (Int i = 0; i < count; ++i)
      items.insert(items.end(), itemsOfLhs->begin(), itemsOfLhs->end());
    return makeTuple(std::move(items));
  }
  return sema.binary(*binaryOperator(op), lhs, rhs);
}

Evaluator::Result Evaluator::evaluateUnary(const Expr &expr) {
  Result operand = evaluate(*expr.children[0]);
  if (mlir::failed(operand))
    return mlir::failure();
  at(expr.position);
  if (auto *constant = operand->constant())
    return computed(constants.unary(expr.text, *constant), expr.position);
  if (std::optional<Result> own = ownOperator(expr.text, *operand, expr.position))
    return *own;
  if (auto items = tupleItems(*operand); items && expr.text == "not")
    return Operand(Constant{items->empty()});
  UnaryOperator op = llvm::StringSwitch<UnaryOperator>(expr.text)
                         .Case("+", UnaryOperator::Plus)
                         .Case("-", UnaryOperator::Negate)
                         .Case("~", UnaryOperator::BitNot)
                         .Default(UnaryOperator::LogicalNot);
  return sema.unary(op, *operand);
}

Evaluator::Result Evaluator::evaluateBoolOp(const Expr &expr) {
  bool isAnd = expr.text == "and";
  Result result = evaluate(*expr.children[0]);
  for (size_t i = 1; i < expr.children.size(); ++i) {
    if (mlir::failed(result))
      return mlir::failure();
    // A constant decides as in Python: the rest is not even looked at, or replaces it.
    if (auto *constant = result->constant()) {
      auto holds = truthOf(*constant, expr.children[i - 1]->position);
      if (mlir::failed(holds))
        return mlir::failure();
      if (*holds != isAnd)
        return result;
      result = evaluate(*expr.children[i]);
      continue;
    }
    auto *value = result->value();
    if (value && value->type.isScalar()) {
      result = shortCircuit(expr.text, *result, expr.position,
                            [&] { return evaluate(*expr.children[i]); });
      continue;
    }
    Result next = evaluate(*expr.children[i]);
    if (mlir::failed(next))
      return mlir::failure();
    result = binary(expr.text, *result, *next, expr.position);
  }
  return result;
}

Evaluator::Result Evaluator::compare(const std::string &op, const Operand &lhs, const Operand &rhs,
                                     const ast::Position &position) {
  at(position);
  if (lhs.constant() && rhs.constant()) {
    return computed(constants.compare(op, *lhs.constant(), *rhs.constant()), position);
  }
  if (std::optional<Result> own = ownOperator(op, {lhs, rhs}, position))
    return *own;
  bool isEquality = op == "==" || op == "!=" || op == "is" || op == "is not";
  // What is known only at run time is never None.
  if (isEquality && (lhs.isNone() || rhs.isNone()))
    return Operand(Constant{op == "!=" || op == "is not"});
  if (op == "in" || op == "not in") {
    auto items = tupleItems(rhs);
    if (!items)
      return error(position, "'" + op + "' needs a tuple on its right, not " + rhs.kindName());
    Operand found = Constant{false};
    for (const Operand &item : *items) {
      Result isEqual = compare("==", lhs, item, position);
      if (mlir::failed(isEqual))
        return mlir::failure();
      bool isNoneSoFar = found.constant() && !isTrue(*found.constant());
      Result either = isNoneSoFar ? *isEqual : binary("or", found, *isEqual, position);
      if (mlir::failed(either))
        return mlir::failure();
      found = *either;
    }
    if (op == "in")
      return found;
    if (auto *constant = found.constant())
      return Operand(Constant{!isTrue(*constant)});
    return sema.unary(UnaryOperator::LogicalNot, found);
  }
  if (op == "is" || op == "is not")
    return error(position, "'" + op + "' compares values known only at run time",
                 "compare with '" + std::string(op == "is" ? "==" : "!=") + "'");
  auto itemsOfLhs = tupleItems(lhs), itemsOfRhs = tupleItems(rhs);
  if (itemsOfLhs && itemsOfRhs)
    return error(position, "'" + op + "' compares tuples of values known only at run time",
                 "compare their items");
  return sema.binary(*binaryOperator(op), lhs, rhs);
}

Evaluator::Result Evaluator::evaluateCompare(const Expr &expr) {
  Result lhs = evaluate(*expr.children[0]);
  if (mlir::failed(lhs))
    return mlir::failure();
  return evaluateLinks(expr, *lhs, 0);
}

Evaluator::Result Evaluator::evaluateLinks(const Expr &expr, const Operand &lhs, size_t link) {
  // a < b < c is (a < b) and (b < c), b evaluated once.
  Result rhs = evaluate(*expr.children[link + 1]);
  if (mlir::failed(rhs))
    return mlir::failure();
  Result holds = compare(expr.operators[link], lhs, *rhs, expr.position);
  if (mlir::failed(holds) || link + 1 == expr.operators.size())
    return holds;
  if (auto *constant = holds->constant()) {
    auto isTrue = truthOf(*constant, expr.position);
    if (mlir::failed(isTrue))
      return mlir::failure();
    return *isTrue ? evaluateLinks(expr, *rhs, link + 1) : holds;
  }
  auto others = [&] { return evaluateLinks(expr, *rhs, link + 1); };
  auto *value = holds->value();
  if (value && value->type.isScalar())
    return shortCircuit("&", *holds, expr.position, others);
  Result rest = others();
  if (mlir::failed(rest))
    return mlir::failure();
  return binary("&", *holds, *rest, expr.position);
}

Evaluator::Result Evaluator::evaluateFormattedText(const Expr &expr) {
  std::string text;
  for (const ast::ExprPtr &child : expr.children) {
    Result part = evaluate(*child);
    if (mlir::failed(part))
      return mlir::failure();
    text += textOf(*part->constant());
  }
  return Operand(Constant{std::move(text)});
}

Evaluator::Result Evaluator::evaluateFormattedValue(const Expr &expr) {
  Result part = evaluate(*expr.children[0]);
  if (mlir::failed(part))
    return mlir::failure();
  Constant specification{std::string()};
  if (expr.children.size() > 1) {
    Result given = evaluate(*expr.children[1]);
    if (mlir::failed(given))
      return mlir::failure();
    specification = *given->constant();
  }
  at(expr.position);
  // Of what is known only at run time, a text says the type.
  std::optional<Constant> constant = sema.asConstant(*part);
  if (auto *format = specification.as<std::string>(); !constant && format && !format->empty())
    return error(expr.position,
                 "a format needs a value that is known while the kernel is compiled, not " +
                     describeOperand(*part),
                 "print numbers of the run with tl.device_print(\"name\", value)");
  Constant shown = constant ? *constant : Constant{describeOperand(*part)};
  Result text = constant && expr.text == "r"
                    ? computed(constants.representation(shown), expr.position)
                : constant && expr.text == "s" ? computed(constants.text(shown), expr.position)
                                               : Result(Operand(shown));
  if (mlir::failed(text))
    return mlir::failure();
  return computed(constants.formatted(*text->constant(), specification), expr.position);
}

Evaluator::Result Evaluator::evaluateComprehension(const Expr &expr) {
  if (expr.text == "set")
    return error(expr.position, "'set' is not supported in a kernel", "use a tuple");
  Scope outer = scope;
  std::vector<Operand> items;
  mlir::LogicalResult result = runComprehensionClause(expr, 0, items);
  scope = std::move(outer);
  if (mlir::failed(result))
    return mlir::failure();
  return makeTuple(std::move(items));
}

mlir::LogicalResult Evaluator::runComprehensionClause(const Expr &expr, size_t clauseIndex,
                                                      std::vector<Operand> &items) {
  if (clauseIndex == expr.clauses.size()) {
    Result item = evaluate(*expr.children[0]);
    if (mlir::failed(item))
      return mlir::failure();
    items.push_back(std::move(*item));
    return mlir::success();
  }
  ++depth;
  DepthGuard guard{depth};
  const ast::ComprehensionClause &clause = expr.clauses[clauseIndex];
  Result iterable = evaluate(*clause.iterable);
  if (mlir::failed(iterable))
    return mlir::failure();
  auto sources = iterate(*iterable, clause.iterable->position);
  if (mlir::failed(sources))
    return mlir::failure();
  for (const Operand &source : *sources) {
    // The variable keeps constants: it is no assignment of the kernel's.
    if (clause.target->kind == ExprKind::Name)
      assign(clause.target->text, source, clause.target->position);
    else if (mlir::failed(assignTarget(*clause.target, source)))
      return mlir::failure();
    bool isKept = true;
    for (const ast::ExprPtr &condition : clause.conditions) {
      Result kept = evaluate(*condition);
      if (mlir::failed(kept))
        return mlir::failure();
      auto constant = requireConstant(*kept, condition->position, "the filter of a comprehension");
      if (mlir::failed(constant))
        return mlir::failure();
      auto holds = truthOf(*constant, condition->position);
      if (mlir::failed(holds))
        return mlir::failure();
      if (!*holds) {
        isKept = false;
        break;
      }
    }
    if (isKept && mlir::failed(runComprehensionClause(expr, clauseIndex + 1, items)))
      return mlir::failure();
  }
  return mlir::success();
}

bool Evaluator::isKnown(const Operand &operand) {
  if (sema.asConstant(operand))
    return true;
  auto items = tupleItems(operand);
  return items && llvm::all_of(*items, [&](const Operand &item) { return isKnown(item); });
}

mlir::FailureOr<Constant> Evaluator::requireConstant(const Operand &operand,
                                                     const ast::Position &position,
                                                     const std::string &what) {
  if (auto constant = sema.asConstant(operand))
    return *constant;
  if (auto items = tupleItems(operand)) {
    std::vector<Constant> constants;
    for (const Operand &item : *items) {
      auto constant = requireConstant(item, position, what);
      if (mlir::failed(constant))
        return mlir::failure();
      constants.push_back(std::move(*constant));
    }
    return Constant::tuple(std::move(constants));
  }
  return error(position, what + " must be known at compile time, not " + describeOperand(operand),
               sema.constantRemedy(operand));
}

Evaluator::Result Evaluator::computed(ConstantResult result, const ast::Position &position) {
  if (!result.value)
    return error(position, result.error);
  return Operand(std::move(*result.value));
}

mlir::FailureOr<bool> Evaluator::truthOf(const Constant &constant, const ast::Position &position) {
  Result truth = computed(constants.truth(constant), position);
  if (mlir::failed(truth))
    return mlir::failure();
  return isTrue(*truth->constant());
}

mlir::FailureOr<std::vector<Operand>> Evaluator::iterate(const Operand &operand,
                                                         const ast::Position &position) {
  if (auto items = tupleItems(operand))
    return *items;
  auto *constant = operand.constant();
  if (auto *text = constant ? constant->as<std::string>() : nullptr) {
    std::vector<Operand> letters;
    for (char letter : *text)
      letters.push_back(Constant{std::string(1, letter)});
    return letters;
  }
  return error(position, operand.kindName() + " cannot be iterated over",
               operand.value()
                   ? "loop over tl.range(...), and load or compute the part of each turn"
                   : "use a tuple, range(...) or tl.static_range(...)");
}

} // namespace sectile::python
