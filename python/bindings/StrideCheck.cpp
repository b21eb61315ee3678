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

/// The first axis whose stride no integer of the launch equals; the number of axes when there is
/// none. An axis of one element has no stride to speak of, and that the last axis lies element by
/// element is what kernels take for granted: every other stride has to be passed, a 1 too, which is
/// how x.T is known.
static size_t firstUnknownAxis(const StridedArgument &argument,
                               std::span<const jit::ArgumentValue> values) {
  const size_t rank = argument.strides.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t stride = argument.strides[axis];
    if (argument.shape[axis] == 1 || (axis + 1 == rank && stride == 1))
      continue;
    auto isPassed = [&](const jit::ArgumentValue &value) {
      return isInteger(value) && static_cast<int64_t>(value.bits) == stride;
    };
    if (std::ranges::none_of(values, isPassed))
      return axis;
  }
  return rank;
}

void refuseViews(const std::string &kernelName, std::span<const StridedArgument> strided,
                 std::span<const jit::ArgumentValue> values) {
  for (const StridedArgument &argument : strided) {
    const size_t axis = firstUnknownAxis(argument, values);
    if (axis == argument.strides.size())
      continue;
    throwCallError(kernelName + ": argument '" + argument.name +
                       "' is a view whose elements do not lie one after the other: its shape is " +
                       tupleText(argument.shape) + ", its strides are " +
                       tupleText(argument.strides) + " elements, and the stride " +
                       std::to_string(argument.strides[axis]) + " of axis " + std::to_string(axis) +
                       " is not among the arguments",
                   "pass a copy, as np.ascontiguousarray(x) or x.contiguous() make it, or pass the "
                   "stride as an argument, too");
  }
}

} // namespace sectile::bindings
