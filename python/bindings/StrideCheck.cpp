#include "StrideCheck.h"

#include <algorithm>

namespace sectile::bindings {

static bool isInteger(const jit::ArgumentValue &value) {
  using Kind = jit::ArgumentValue::Kind;
  return value.kind == Kind::Integer ||
         (value.kind == Kind::Constant &&
          value.content == jit::ArgumentValue::Bits::ConstantInteger);
}

/// "(64, 2)", and "(64,)" as Python writes it.
static std::string tupleText(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "(" + text + (numbers.size() == 1 ? ",)" : ")");
}

void refuseViews(const std::string &kernelName, std::span<const StridedArgument> strided,
                 std::span<const jit::ArgumentValue> values) {
  for (const StridedArgument &argument : strided) {
    auto isPassed = [&](const jit::ArgumentValue &value) {
      auto number = static_cast<int64_t>(value.bits);
      // A stride of 1 is what a kernel takes for granted.
      return isInteger(value) && number != 1 && std::ranges::count(argument.strides, number);
    };
    if (std::ranges::any_of(values, isPassed))
      continue;
    throwCallError(kernelName + ": argument '" + argument.name +
                       "' is a view whose elements do not lie one after the other: its shape is " +
                       tupleText(argument.shape) + ", its strides are " +
                       tupleText(argument.strides) +
                       " elements, and none of these is among the arguments",
                   "pass a copy, as np.ascontiguousarray(x) or x.contiguous() make it, or pass the "
                   "stride as an argument, too");
  }
}

} // namespace sectile::bindings
