//===-- ConstantArithmetic.h - Python's arithmetic on constants -------------------------------===//
// What `+ - * / // % **`, comparisons, `in`, `is` and truth mean between compile-time constants:
// floor division, `%` with the sign of the divisor, true division to float, strings, tuples.
// Integers have 128 bits; leaving them is an error, never a wrong number.
//
//   binary("//", -7, 2).value  == -4
//   binary("/", 1, 0).error    == "division by zero"
#pragma once

#include "lang/plain/Constant.h"

#include <optional>
#include <string>
#include <string_view>

namespace sectile::python {

struct ConstantResult {
  std::optional<lang::Constant> value;
  std::string error; // why there is no value
};

/// `op` as Python writes it: "+" "-" "*" "/" "//" "%" "**" "@" "&" "|" "^" "<<" ">>".
ConstantResult constantBinary(std::string_view op, const lang::Constant &lhs,
                              const lang::Constant &rhs);
/// "+" "-" "~" "not".
ConstantResult constantUnary(std::string_view op, const lang::Constant &operand);
/// "==" "!=" "<" "<=" ">" ">=" "is" "is not" "in" "not in".
ConstantResult constantCompare(std::string_view op, const lang::Constant &lhs,
                               const lang::Constant &rhs);

/// As Python's bool(x) of what is no opaque object; of those ConstantOperations asks.
bool isTrue(const lang::Constant &constant);
/// As Python's str(x) of what holds no opaque object.
std::string textOf(const lang::Constant &constant);
/// The integer in an int or bool.
std::optional<lang::Int> integerOf(const lang::Constant &constant);
/// The number in an int, bool or float.
std::optional<double> numberOf(const lang::Constant &constant);
/// int(x) of a number or of a decimal, hexadecimal, octal or binary text.
ConstantResult toInteger(const lang::Constant &constant);
/// float(x) of a number or of a text ("inf", "-inf" and "nan" among them).
ConstantResult toFloat(const lang::Constant &constant);

} // namespace sectile::python
