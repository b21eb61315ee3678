#include "jit/launch/DescriptorArgument.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace sectile::jit {
namespace {

/// "[4, 9]".
std::string textOf(std::span<const int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text + "]";
}

/// As far as 64 bits go.
std::string textOf(__int128 place) {
  return place > INT64_MAX   ? "2^63 or beyond"
         : place < INT64_MIN ? "below -2^63"
                             : std::to_string(static_cast<int64_t>(place));
}

/// The least and the greatest place of an element, counted from the base.
std::pair<__int128, __int128> placesOf(const DescriptorArgument &argument) {
  __int128 least = 0, most = 0;
  for (size_t dim = 0; dim < argument.shape.size(); ++dim)
    (argument.strides[dim] < 0 ? least : most) +=
        static_cast<__int128>(argument.strides[dim]) * (argument.shape[dim] - 1);
  return {least, most};
}

ArgumentProblem problemOfNumbers(const DescriptorArgument &argument) {
  for (auto [name, numbers] :
       {std::pair("shape", argument.shape), std::pair("block_shape", argument.blockShape)})
    for (int64_t number : numbers)
      if (number <= 0)
        return {std::string(name) + " " + textOf(numbers) + " should be positive numbers", ""};
  const std::span<const int64_t> strides = argument.strides;
  if (strides.back() != 1)
    return {"the last of strides " + textOf(strides) + " should be 1",
            "describe the array with its contiguous dimension last"};
  for (size_t dim = 0; dim + 1 < strides.size(); ++dim) {
    // What is no multiple of 16 stays none when it wraps around at 2^64.
    const auto bytes = static_cast<int64_t>(static_cast<uint64_t>(strides[dim]) *
                                            static_cast<uint64_t>(argument.elementBytes));
    if (bytes % kDescriptorAlignment != 0)
      return {"strides[" + std::to_string(dim) + "] is " + std::to_string(strides[dim]) +
                  " elements, " + std::to_string(bytes) + " bytes, and should be a multiple of " +
                  std::to_string(kDescriptorAlignment) + " bytes",
              "pad the rows of the array"};
  }
  return {};
}

ArgumentProblem problemOfBase(const DescriptorArgument &argument) {
  const auto address = reinterpret_cast<uintptr_t>(argument.base);
  if (address == 0)
    return {"base is null", "leave the array out by a kernel of its own, or pass a pointer"};
  if (address % kDescriptorAlignment != 0) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIxPTR, address);
    return {"base begins at address " + std::string(text) + ", which is no multiple of " +
                std::to_string(kDescriptorAlignment) + " bytes",
            "begin the view at such an element, or copy it"};
  }
  if (argument.elements == DescriptorArgument::kUnknown)
    return {};
  const auto [least, most] = placesOf(argument);
  if (least < 0 || most >= static_cast<__int128>(argument.elements))
    return {"shape " + textOf(argument.shape) + " with strides " + textOf(argument.strides) +
                " reaches from element " + textOf(least) + " to " + textOf(most) +
                " of base, which has " + std::to_string(argument.elements) + " elements",
            ""};
  return {};
}

} // namespace

ArgumentProblem problemOf(const DescriptorArgument &argument) {
  ArgumentProblem problem = problemOfNumbers(argument);
  return problem.ok() ? problemOfBase(argument) : problem;
}

DescribedBytes bytesOf(const DescriptorArgument &argument) {
  const auto [least, most] = placesOf(argument);
  const auto base = static_cast<__int128>(reinterpret_cast<uintptr_t>(argument.base));
  const __int128 begin = base + least * argument.elementBytes,
                 end = base + (most + 1) * argument.elementBytes;
  constexpr auto kEnd = static_cast<__int128>(~uint64_t{0} - 1); // behind it nothing is known
  return {static_cast<uint64_t>(std::clamp<__int128>(begin, 0, kEnd)),
          static_cast<uint64_t>(std::clamp<__int128>(end, 0, kEnd))};
}

ArgumentProblem problemOfNan(lang::DType element) {
  if (element.isFloat())
    return {};
  return {"padding 'nan' is for floating-point numbers, not for " + element.name(), ""};
}

} // namespace sectile::jit
