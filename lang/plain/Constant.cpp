#include "lang/plain/Constant.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace sectile::lang {
namespace {

/// A truth value or integer as an integer; null for everything else.
std::optional<Int> asInteger(const Constant &constant) {
  if (auto *truth = constant.as<bool>())
    return Int(*truth);
  if (auto *integer = constant.as<Int>())
    return *integer;
  return std::nullopt;
}

bool equalNumbers(Int integer, double number) {
  // Beyond 2^126 a double may not fit; no integer we hold is compared exactly there anyway.
  if (!(std::fabs(number) < 0x1p126) || number != std::trunc(number))
    return false;
  return static_cast<Int>(number) == integer;
}

std::string integerText(Int value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  // Negating the least value overflows, its unsigned counterpart does not.
  auto magnitude = static_cast<unsigned __int128>(value);
  if (negative)
    magnitude = -magnitude;
  std::string digits;
  for (; magnitude != 0; magnitude /= 10)
    digits.insert(digits.begin(), char('0' + int(magnitude % 10)));
  return negative ? "-" + digits : digits;
}

/// Python's float repr: the shortest digits that read back, exponent form below 1e-4 and from 1e16.
std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  double magnitude = std::fabs(value);
  bool isPlain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value,
                              isPlain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, result.ptr);
  if (isPlain && text.find('.') == std::string::npos)
    text += ".0";
  return text;
}

std::string quoted(const std::string &text) {
  bool hasSingle = text.find('\'') != std::string::npos;
  char quote = hasSingle && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (unsigned char c : text) {
    if (c == quote || c == '\\')
      (out += '\\') += char(c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c < 0x20 || c == 0x7f) {
      const char *hex = "0123456789abcdef";
      ((out += "\\x") += hex[c >> 4]) += hex[c & 15];
    } else
      out += char(c);
  }
  return out + quote;
}

} // namespace

std::optional<size_t> TupleClass::indexOf(std::string_view field) const {
  auto found = std::find(fields.begin(), fields.end(), field);
  return found == fields.end() ? std::nullopt : std::optional(size_t(found - fields.begin()));
}

bool isSameClass(const TupleClassRef &a, const TupleClassRef &b) {
  return a == b || (a && b && *a == *b);
}

std::string tupleText(const std::vector<std::string> &items, const TupleClassRef &tupleClass) {
  bool isNamed = tupleClass && tupleClass->fields.size() == items.size();
  std::string text = isNamed ? tupleClass->name + "(" : "(";
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? ", " : "") + (isNamed ? tupleClass->fields[i] + "=" : "") + items[i];
  return text + (items.size() == 1 && !isNamed ? ",)" : ")");
}

bool Constant::equals(const Constant &other) const {
  auto lhsInt = asInteger(*this), rhsInt = asInteger(other);
  auto *lhsFloat = as<double>(), *rhsFloat = other.as<double>();
  if (lhsInt && rhsInt)
    return *lhsInt == *rhsInt;
  if (lhsInt && rhsFloat)
    return equalNumbers(*lhsInt, *rhsFloat);
  if (lhsFloat && rhsInt)
    return equalNumbers(*rhsInt, *lhsFloat);
  if (auto *lhs = as<ConstantTuple>()) {
    auto *rhs = other.as<ConstantTuple>();
    if (!rhs || (*lhs)->size() != (*rhs)->size())
      return false;
    for (size_t i = 0; i < (*lhs)->size(); ++i)
      if (!(**lhs)[i].equals((**rhs)[i]))
        return false;
    return true;
  }
  return value == other.value;
}

std::string Constant::repr() const {
  struct Printer {
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool truth) const { return truth ? "True" : "False"; }
    std::string operator()(Int integer) const { return integerText(integer); }
    std::string operator()(double number) const { return floatText(number); }
    std::string operator()(const std::string &text) const { return quoted(text); }
    std::string operator()(DType dtype) const { return dtype.name(); }
    std::string operator()(const ConstantTuple &tuple) const {
      std::vector<std::string> items;
      for (const Constant &item : *tuple)
        items.push_back(item.repr());
      return tupleText(items, tuple->tupleClass);
    }
    std::string operator()(const BuiltinRef &builtin) const { return builtin.name; }
    std::string operator()(const FunctionRef &function) const { return function.name; }
    std::string operator()(const ObjectRef &object) const { return "<" + object.kind + ">"; }
  };
  return std::visit(Printer{}, value);
}

std::string Constant::kindName() const {
  struct Namer {
    std::string operator()(None) const { return "NoneType"; }
    std::string operator()(bool) const { return "bool"; }
    std::string operator()(Int) const { return "int"; }
    std::string operator()(double) const { return "float"; }
    std::string operator()(const std::string &) const { return "str"; }
    std::string operator()(DType) const { return "dtype"; }
    std::string operator()(const ConstantTuple &tuple) const {
      return tuple->tupleClass ? tuple->tupleClass->name : "tuple";
    }
    std::string operator()(const BuiltinRef &) const { return "builtin"; }
    std::string operator()(const FunctionRef &) const { return "function"; }
    std::string operator()(const ObjectRef &object) const { return object.kind; }
  };
  return std::visit(Namer{}, value);
}

} // namespace sectile::lang
