#include "frontend/python/ConstantOperations.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace sectile::lang;

namespace sectile::python {
namespace {

/// The function of Python's module `operator` that does what a binary operator or comparison does;
/// null for those that it does not have.
const char *functionOfOperator(const std::string &op) {
  return llvm::StringSwitch<const char *>(op)
      .Case("+", "operator.add")
      .Case("-", "operator.sub")
      .Case("*", "operator.mul")
      .Case("/", "operator.truediv")
      .Case("//", "operator.floordiv")
      .Case("%", "operator.mod")
      .Case("**", "operator.pow")
      .Case("@", "operator.matmul")
      .Case("&", "operator.and_")
      .Case("|", "operator.or_")
      .Case("^", "operator.xor")
      .Case("<<", "operator.lshift")
      .Case(">>", "operator.rshift")
      .Case("==", "operator.eq")
      .Case("!=", "operator.ne")
      .Case("<", "operator.lt")
      .Case("<=", "operator.le")
      .Case(">", "operator.gt")
      .Case(">=", "operator.ge")
      .Default(nullptr);
}

ConstantResult negated(ConstantResult truth) {
  if (truth.value)
    truth.value = Constant{!isTrue(*truth.value)};
  return truth;
}

} // namespace

bool holdsObject(const Constant &constant) {
  if (constant.is<ObjectRef>())
    return true;
  if (auto *items = constant.as<ConstantTuple>())
    for (const Constant &item : **items)
      if (holdsObject(item))
        return true;
  return false;
}

ConstantResult ConstantOperations::ask(const char *function, std::vector<Constant> operands) {
  Environment::Answer answer = environment.call({BuiltinRef{function}}, operands, {});
  return {std::move(answer.value), std::move(answer.error)};
}

ConstantResult ConstantOperations::binary(const std::string &op, const Constant &lhs,
                                          const Constant &rhs) {
  const char *function = functionOfOperator(op);
  if (function && (lhs.is<ObjectRef>() || rhs.is<ObjectRef>()))
    return ask(function, {lhs, rhs});
  return constantBinary(op, lhs, rhs);
}

ConstantResult ConstantOperations::unary(const std::string &op, const Constant &operand) {
  if (!operand.is<ObjectRef>())
    return constantUnary(op, operand);
  if (op == "not")
    return negated(truth(operand));
  return ask(op == "-"   ? "operator.neg"
             : op == "~" ? "operator.invert"
                         : "operator.pos",
             {operand});
}

ConstantResult ConstantOperations::compare(const std::string &op, const Constant &lhs,
                                           const Constant &rhs) {
  bool isIdentity = op == "is" || op == "is not";
  if (isIdentity || !(holdsObject(lhs) || holdsObject(rhs))) {
    environment.compared(lhs, rhs);
    return constantCompare(op, lhs, rhs);
  }
  if (op == "in")
    return ask("operator.contains", {rhs, lhs});
  if (op == "not in")
    return negated(ask("operator.contains", {rhs, lhs}));
  return ask(functionOfOperator(op), {lhs, rhs});
}

ConstantResult ConstantOperations::truth(const Constant &constant) {
  if (constant.is<ObjectRef>())
    return ask("python.bool", {constant});
  return {Constant{isTrue(constant)}, ""};
}

ConstantResult ConstantOperations::text(const Constant &constant) {
  if (holdsObject(constant))
    return ask("python.str", {constant});
  return {Constant{textOf(constant)}, ""};
}

ConstantResult ConstantOperations::representation(const Constant &constant) {
  if (holdsObject(constant))
    return ask("python.repr", {constant});
  return {Constant{constant.repr()}, ""};
}

ConstantResult ConstantOperations::formatted(const Constant &constant,
                                             const Constant &specification) {
  if (holdsObject(constant) || isTrue(specification))
    return ask("python.format", {constant, specification});
  return {Constant{textOf(constant)}, ""};
}

ConstantResult ConstantOperations::isInstance(const Constant &object, const Constant &type) {
  return ask("python.isinstance", {object, type});
}

ConstantResult ConstantOperations::convert(const std::string &function, const Constant &constant) {
  if (constant.is<ObjectRef>())
    return ask(("python." + function).c_str(), {constant});
  if (function == "int")
    return toInteger(constant);
  if (function == "float")
    return toFloat(constant);
  if (function == "abs")
    if (std::optional<double> number = numberOf(constant))
      return constantUnary(*number < 0 || std::signbit(*number) ? "-" : "+", constant);
  if (auto *text = constant.as<std::string>(); text && function == "len")
    return {Constant::integer(Int(text->size())), ""};
  if (auto *items = constant.as<ConstantTuple>(); items && function == "len")
    return {Constant::integer(Int((*items)->size())), ""};
  return {std::nullopt, function == "len"
                            ? constant.kindName() + " has no length"
                            : function + " takes a number, not " + constant.kindName()};
}

} // namespace sectile::python
