//===-- ConstantArithmetic.h - operators on what is known while tracing -------------------===//
// A kernel parameter specialised to the value 1 reaches the user's lambda as a constant; `stride *
// 2` is then a constant too, so that it folds into the code as it does in a Python kernel. Integers
// follow C++: `/` and `%` truncate. Plain C++.
//
//   foldBinary("/", {Int(-7)}, {Int(2)})  ->  -3
#pragma once

#include "lang/plain/Constant.h"

#include <optional>
#include <string>
#include <string_view>

namespace sectile::cpp {

struct FoldResult {
  std::optional<lang::Constant> value;
  std::string error; // why there is no value: lower case, subject first
};

FoldResult foldBinary(std::string_view op, const lang::Constant &lhs, const lang::Constant &rhs);
FoldResult foldUnary(std::string_view op, const lang::Constant &operand);

} // namespace sectile::cpp
