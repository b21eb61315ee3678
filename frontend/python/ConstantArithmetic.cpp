#include "frontend/python/ConstantArithmetic.h"

#include "llvm/ADT/StringRef.h"

#include <cmath>

using namespace sectile::lang;

namespace sectile::python {
namespace {

ConstantResult failed(std::string error) {
  return {std::nullopt, std::move(error)};
}
ConstantResult integer(Int value) {
  return {Constant::integer(value), ""};
}
ConstantResult number(double value) {
  return {Constant{value}, ""};
}
ConstantResult truth(bool value) {
  return {Constant{value}, ""};
}

ConstantResult unsupported(std::string_view op, const Constant &lhs, const Constant &rhs) {
  return failed("'" + std::string(op) + "' is not defined between " + lhs.kindName() + " and " +
                rhs.kindName());
}

ConstantResult tooLarge() {
  return failed("constant integer does not fit 128 bits");
}

constexpr Int kSmallest = Int(1) << 127;

ConstantResult integerPower(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0)
      return failed("division by zero");
    return number(std::pow(double(base), double(exponent)));
  }
  if (base == 0 || base == 1)
    return integer(exponent == 0 ? 1 : base);
  if (base == -1)
    return integer(exponent % 2 ? -1 : 1);
  if (exponent > 127)
    return tooLarge();
  Int result = 1;
  for (Int i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result))
      return tooLarge();
  return integer(result);
}

ConstantResult integerBinary(std::string_view op, Int a, Int b) {
  Int result = 0;
  if (op == "+")
    return __builtin_add_overflow(a, b, &result) ? tooLarge() : integer(result);
  if (op == "-")
    return __builtin_sub_overflow(a, b, &result) ? tooLarge() : integer(result);
  if (op == "*")
    return __builtin_mul_overflow(a, b, &result) ? tooLarge() : integer(result);
  if (op == "**")
    return integerPower(a, b);
  if (op == "/" || op == "//" || op == "%") {
    if (b == 0)
      return failed("division by zero");
    if (op == "/")
      return number(double(a) / double(b));
    if (a == kSmallest && b == -1)
      return op == "%" ? integer(0) : tooLarge();
    Int quotient = a / b, remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
      quotient -= 1;
      remainder += b;
    }
    return integer(op == "//" ? quotient : remainder);
  }
  if (op == "&")
    return integer(a & b);
  if (op == "|")
    return integer(a | b);
  if (op == "^")
    return integer(a ^ b);
  if (op == "<<" || op == ">>") {
    if (b < 0)
      return failed("shift count is negative");
    if (op == ">>")
      return integer(b > 127 ? (a < 0 ? -1 : 0) : a >> int(b));
    if (a == 0)
      return integer(0);
    if (b > 126 || __builtin_mul_overflow(a, Int(1) << int(b), &result))
      return tooLarge();
    return integer(result);
  }
  return unsupported(op, Constant::integer(a), Constant::integer(b));
}

ConstantResult floatBinary(std::string_view op, double a, double b) {
  if (op == "+")
    return number(a + b);
  if (op == "-")
    return number(a - b);
  if (op == "*")
    return number(a * b);
  if (op == "**") {
    if (a == 0 && b < 0)
      return failed("division by zero");
    if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
      return failed("power of a negative number is complex");
    double power = std::pow(a, b);
    if (std::isinf(power) && std::isfinite(a) && std::isfinite(b))
      return failed("result of '**' does not fit a float");
    return number(power);
  }
  if (op == "/" || op == "//" || op == "%") {
    if (b == 0)
      return failed("division by zero");
    if (op == "/")
      return number(a / b);
    double remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
      remainder += b;
      quotient -= 1;
    }
    if (op == "%")
      return number(remainder == 0 ? std::copysign(0.0, b) : remainder);
    if (quotient == 0)
      return number(std::copysign(0.0, a / b));
    double floored = std::floor(quotient);
    return number(quotient - floored > 0.5 ? floored + 1 : floored);
  }
  return unsupported(op, Constant{a}, Constant{b});
}

/// Texts and tuples longer than this are a mistake, or an attack on memory.
constexpr size_t kLongestSequence = size_t(1) << 20;

ConstantResult repeatSequence(const Constant &sequence, Int count) {
  size_t length = sequence.is<std::string>() ? sequence.as<std::string>()->size()
                                             : (*sequence.as<ConstantTuple>())->size();
  if (count < 0 || length == 0)
    count = 0;
  if (length != 0 && count > Int(kLongestSequence / length))
    return failed("repeated sequence is too long");
  if (auto *text = sequence.as<std::string>()) {
    std::string result;
    for (Int i = 0; i < count; ++i)
      result += *text;
    return {Constant{std::move(result)}, ""};
  }
  std::vector<Constant> items;
  const auto &source = **sequence.as<ConstantTuple>();
  for (Int i = 0; i < count; ++i)
    items.insert(items.end(), source.begin(), source.end());
  return {Constant::tuple(std::move(items)), ""};
}

int sign(Int value) {
  return value < 0 ? -1 : value > 0;
}

/// -1, 0, 1, or 2 when unordered (a NaN). Exact between integers and floats.
int compareNumbers(const Constant &lhs, const Constant &rhs) {
  auto a = integerOf(lhs), b = integerOf(rhs);
  if (a && b)
    return *a < *b ? -1 : *a > *b;
  double x = *numberOf(lhs), y = *numberOf(rhs);
  if (std::isnan(x) || std::isnan(y))
    return 2;
  if (a && std::abs(y) < 1e38) {
    double whole = std::floor(y);
    Int other = Int(whole);
    return *a != other ? (*a < other ? -1 : 1) : (y > whole ? -1 : 0);
  }
  if (b && std::abs(x) < 1e38)
    return -compareNumbers(rhs, lhs);
  return x < y ? -1 : x > y;
}

bool isNumber(const Constant &constant) {
  return numberOf(constant).has_value();
}

/// As compareNumbers, for any two that Python orders; nullopt when it does not.
std::optional<int> order(const Constant &lhs, const Constant &rhs) {
  if (isNumber(lhs) && isNumber(rhs))
    return compareNumbers(lhs, rhs);
  if (lhs.is<std::string>() && rhs.is<std::string>())
    return sign(lhs.as<std::string>()->compare(*rhs.as<std::string>()));
  if (lhs.is<ConstantTuple>() && rhs.is<ConstantTuple>()) {
    const auto &a = **lhs.as<ConstantTuple>(), &b = **rhs.as<ConstantTuple>();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!a[i].equals(b[i]))
        return order(a[i], b[i]);
    return a.size() < b.size() ? -1 : a.size() > b.size();
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

} // namespace

std::optional<Int> integerOf(const Constant &constant) {
  if (auto *value = constant.as<Int>())
    return *value;
  if (auto *value = constant.as<bool>())
    return Int(*value);
  return std::nullopt;
}

std::optional<double> numberOf(const Constant &constant) {
  if (auto *value = constant.as<double>())
    return *value;
  if (auto value = integerOf(constant))
    return double(*value);
  return std::nullopt;
}

ConstantResult constantBinary(std::string_view op, const Constant &lhs, const Constant &rhs) {
  if (lhs.is<bool>() && rhs.is<bool>() && (op == "&" || op == "|" || op == "^")) {
    bool a = *lhs.as<bool>(), b = *rhs.as<bool>();
    return truth(op == "&" ? (a && b) : op == "|" ? (a || b) : a != b);
  }
  auto a = integerOf(lhs), b = integerOf(rhs);
  if (a && b)
    return integerBinary(op, *a, *b);
  if (isNumber(lhs) && isNumber(rhs))
    return floatBinary(op, *numberOf(lhs), *numberOf(rhs));
  bool isText = lhs.is<std::string>() && rhs.is<std::string>();
  bool areTuples = lhs.is<ConstantTuple>() && rhs.is<ConstantTuple>();
  if (op == "+" && isText) {
    if (lhs.as<std::string>()->size() + rhs.as<std::string>()->size() > kLongestSequence)
      return failed("joined text is too long");
    return {Constant{*lhs.as<std::string>() + *rhs.as<std::string>()}, ""};
  }
  if (op == "+" && areTuples) {
    std::vector<Constant> items = **lhs.as<ConstantTuple>();
    const auto &more = **rhs.as<ConstantTuple>();
    if (items.size() + more.size() > kLongestSequence)
      return failed("joined tuple is too long");
    items.insert(items.end(), more.begin(), more.end());
    return {Constant::tuple(std::move(items)), ""};
  }
  if (op == "*" && (lhs.is<std::string>() || lhs.is<ConstantTuple>()) && b)
    return repeatSequence(lhs, *b);
  if (op == "*" && (rhs.is<std::string>() || rhs.is<ConstantTuple>()) && a)
    return repeatSequence(rhs, *a);
  return unsupported(op, lhs, rhs);
}

ConstantResult constantUnary(std::string_view op, const Constant &operand) {
  if (op == "not")
    return truth(!isTrue(operand));
  if (auto value = integerOf(operand)) {
    if (op == "-")
      return *value == kSmallest ? tooLarge() : integer(-*value);
    return integer(op == "~" ? ~*value : *value);
  }
  if (auto *value = operand.as<double>(); value && op != "~")
    return number(op == "-" ? -*value : *value);
  return failed("unary '" + std::string(op) + "' is not defined for " + operand.kindName());
}

ConstantResult constantCompare(std::string_view op, const Constant &lhs, const Constant &rhs) {
  if (op == "==" || op == "!=")
    return truth(lhs.equals(rhs) == (op == "=="));
  if (op == "is" || op == "is not") {
    // Python's small integers, texts and types are one object each; telling copies apart has no
    // use.
    bool same = lhs.value.index() == rhs.value.index() && lhs.equals(rhs);
    return truth(same == (op == "is"));
  }
  if (op == "in" || op == "not in") {
    bool found = false;
    if (auto *items = rhs.as<ConstantTuple>()) {
      for (const Constant &item : **items)
        found |= item.equals(lhs);
    } else if (rhs.is<std::string>() && lhs.is<std::string>()) {
      found = rhs.as<std::string>()->find(*lhs.as<std::string>()) != std::string::npos;
    } else {
      return unsupported(op, lhs, rhs);
    }
    return truth(found == (op == "in"));
  }
  std::optional<int> found = order(lhs, rhs);
  if (!found)
    return unsupported(op, lhs, rhs);
  if (*found == 2)
    return truth(false);
  if (op == "<")
    return truth(*found < 0);
  if (op == "<=")
    return truth(*found <= 0);
  return truth(op == ">" ? *found > 0 : *found >= 0);
}

bool isTrue(const Constant &constant) {
  if (constant.isNone())
    return false;
  if (auto value = numberOf(constant))
    return *value != 0;
  if (auto *text = constant.as<std::string>())
    return !text->empty();
  if (auto *items = constant.as<ConstantTuple>())
    return !(*items)->empty();
  return true;
}

std::string textOf(const Constant &constant) {
  if (auto *text = constant.as<std::string>())
    return *text;
  return constant.repr();
}

ConstantResult toInteger(const Constant &constant) {
  if (auto value = integerOf(constant))
    return integer(*value);
  if (auto *value = constant.as<double>()) {
    if (!std::isfinite(*value))
      return failed("cannot convert float " + constant.repr() + " to int");
    return std::abs(*value) < 1e38 ? integer(Int(*value)) : tooLarge();
  }
  if (auto *text = constant.as<std::string>()) {
    long long value = 0;
    if (!llvm::StringRef(trimmed(*text)).getAsInteger(10, value))
      return integer(value);
    return failed("invalid text for int(): " + constant.repr());
  }
  return failed("int() takes a number or a text, not " + constant.kindName());
}

ConstantResult toFloat(const Constant &constant) {
  if (auto value = numberOf(constant))
    return number(*value);
  if (auto *text = constant.as<std::string>()) {
    std::string lower = llvm::StringRef(trimmed(*text)).lower();
    double value = 0;
    llvm::StringRef unsignedText = llvm::StringRef(lower);
    bool negative = unsignedText.consume_front("-");
    if (!negative)
      unsignedText.consume_front("+");
    if (unsignedText == "inf" || unsignedText == "infinity")
      return number(negative ? -INFINITY : INFINITY);
    if (unsignedText == "nan")
      return number(NAN);
    if (!unsignedText.empty() && !unsignedText.getAsDouble(value))
      return number(negative ? -value : value);
    return failed("invalid text for float(): " + constant.repr());
  }
  return failed("float() takes a number or a text, not " + constant.kindName());
}

} // namespace sectile::python
