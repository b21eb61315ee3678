//===-- ConstantArithmetic.cpp ------------------------------------------------------------===//
#include "frontend/cpp/ConstantArithmetic.h"

#include <cmath>

namespace sectile::cpp {
using lang::Constant;
using lang::Int;

namespace {

std::optional<Int> integerOf(const Constant &constant) {
  if (auto *truth = constant.as<bool>())
    return Int(*truth);
  if (auto *number = constant.as<Int>())
    return *number;
  return std::nullopt;
}

std::optional<double> numberOf(const Constant &constant) {
  if (auto *number = constant.as<double>())
    return *number;
  if (auto integer = integerOf(constant))
    return double(*integer);
  return std::nullopt;
}

FoldResult fail(std::string error) {
  return {std::nullopt, std::move(error)};
}
FoldResult truth(bool value) {
  return {Constant{value}, ""};
}
FoldResult integer(Int value) {
  return {Constant{value}, ""};
}
FoldResult number(double value) {
  return {Constant{value}, ""};
}

std::string quoted(std::string_view op) {
  return "operator " + std::string(op);
}

/// Comparisons, for integers and floating-point numbers alike.
template <class T>
std::optional<bool> compare(std::string_view op, T lhs, T rhs) {
  if (op == "==")
    return lhs == rhs;
  if (op == "!=")
    return lhs != rhs;
  if (op == "<")
    return lhs < rhs;
  if (op == "<=")
    return lhs <= rhs;
  if (op == ">")
    return lhs > rhs;
  if (op == ">=")
    return lhs >= rhs;
  if (op == "&&")
    return lhs != T(0) && rhs != T(0);
  if (op == "||")
    return lhs != T(0) || rhs != T(0);
  return std::nullopt;
}

FoldResult foldIntegers(std::string_view op, Int lhs, Int rhs) {
  if (auto result = compare(op, lhs, rhs))
    return truth(*result);
  Int result = 0;
  bool overflows = false;
  if (op == "+")
    overflows = __builtin_add_overflow(lhs, rhs, &result);
  else if (op == "-")
    overflows = __builtin_sub_overflow(lhs, rhs, &result);
  else if (op == "*")
    overflows = __builtin_mul_overflow(lhs, rhs, &result);
  else if (op == "/" || op == "%") {
    if (rhs == 0)
      return fail(quoted(op) + ": division of a constant by zero");
    if (rhs == -1) // the one quotient that may not fit
      overflows = __builtin_sub_overflow(Int(0), lhs, &result);
    else
      result = lhs / rhs;
    if (op == "%")
      result = rhs == -1 ? 0 : lhs % rhs;
  } else if (op == "&")
    result = lhs & rhs;
  else if (op == "|")
    result = lhs | rhs;
  else if (op == "^")
    result = lhs ^ rhs;
  else if (op == "<<" || op == ">>") {
    if (rhs < 0 || rhs > 126)
      return fail(quoted(op) + ": shift count is not between 0 and 126");
    if (op == ">>")
      result = lhs >> int(rhs);
    else
      overflows = __builtin_mul_overflow(lhs, Int(1) << int(rhs), &result);
  } else
    return fail(quoted(op) + ": not defined on integers");
  if (overflows)
    return fail(quoted(op) + ": constant does not fit 128 bits");
  return integer(result);
}

FoldResult foldNumbers(std::string_view op, double lhs, double rhs) {
  if (auto result = compare(op, lhs, rhs))
    return truth(*result);
  if (op == "+")
    return number(lhs + rhs);
  if (op == "-")
    return number(lhs - rhs);
  if (op == "*")
    return number(lhs * rhs);
  if (op == "/")
    return number(lhs / rhs);
  if (op == "%")
    return number(std::fmod(lhs, rhs));
  return fail(quoted(op) + ": not defined on floating-point constants");
}

} // namespace

FoldResult foldBinary(std::string_view op, const Constant &lhs, const Constant &rhs) {
  auto lhsInteger = integerOf(lhs), rhsInteger = integerOf(rhs);
  // Truth values stay truth values under bit operators, as in both host languages.
  if (lhs.is<bool>() && rhs.is<bool>() && (op == "&" || op == "|" || op == "^")) {
    bool a = *lhs.as<bool>(), b = *rhs.as<bool>();
    return truth(op == "&" ? a && b : op == "|" ? a || b : a != b);
  }
  if (lhsInteger && rhsInteger)
    return foldIntegers(op, *lhsInteger, *rhsInteger);
  auto lhsNumber = numberOf(lhs), rhsNumber = numberOf(rhs);
  if (lhsNumber && rhsNumber)
    return foldNumbers(op, *lhsNumber, *rhsNumber);
  if (op == "==" || op == "!=")
    return truth(lhs.equals(rhs) == (op == "=="));
  return fail(quoted(op) + ": not defined on " + lhs.kindName() + " and " + rhs.kindName());
}

FoldResult foldUnary(std::string_view op, const Constant &operand) {
  if (op == "!") {
    if (auto value = numberOf(operand))
      return truth(*value == 0);
  } else if (op == "~") {
    if (auto *value = operand.as<bool>())
      return truth(!*value);
    if (auto *value = operand.as<Int>())
      return integer(~*value);
  } else if (op == "-") {
    if (auto *value = operand.as<double>())
      return number(-*value);
    Int result = 0;
    if (auto value = integerOf(operand)) {
      if (__builtin_sub_overflow(Int(0), *value, &result))
        return fail("operator -: constant does not fit 128 bits");
      return integer(result);
    }
  }
  return fail(quoted(op) + ": not defined on " + operand.kindName());
}

} // namespace sectile::cpp
