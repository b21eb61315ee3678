#include "backends/plain/TensorMap.h"

#include "backends/plain/KernelImage.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace sectile::backends {
namespace {

using Kind = LaunchExpression::Kind;

bool isWellFormed(const LaunchExpression &expression, size_t argumentCount) {
  size_t numbers = 0; // on the stack
  for (const LaunchExpression::Step &step : expression.steps)
    switch (step.kind) {
    case Kind::Argument:
      if (step.value < 0 || static_cast<uint64_t>(step.value) >= argumentCount)
        return false;
      [[fallthrough]];
    case Kind::Constant:
      if (++numbers > LaunchExpression::kMostNumbers)
        return false;
      break;
    case Kind::Add:
    case Kind::Subtract:
    case Kind::Multiply:
      if (numbers < 2)
        return false;
      --numbers;
      break;
    case Kind::SignExtend:
    case Kind::ZeroExtend:
      if (numbers < 1 || step.value < 1 || step.value > 64)
        return false;
      break;
    default: // a file may hold any number
      return false;
    }
  return numbers == 1;
}

bool isWellFormed(const TensorMap &map, std::span<const KernelArgument> arguments) {
  const size_t rank = map.box.size();
  auto isOneOf = [](int32_t number, std::initializer_list<int32_t> allowed) {
    return std::find(allowed.begin(), allowed.end(), number) != allowed.end();
  };
  auto areGood = [&](const std::vector<LaunchExpression> &expressions) {
    return expressions.size() == rank &&
           std::all_of(expressions.begin(), expressions.end(),
                       [&](const auto &each) { return isWellFormed(each, arguments.size()); });
  };
  if (map.argument >= arguments.size() || !arguments[map.argument].dtype.isPointer ||
      !isOneOf(map.elementBytes, {1, 2, 4, 8}) || !isOneOf(map.swizzleBytes, {32, 64, 128}) ||
      rank < 1 || rank > kMostTensorRank || !areGood(map.extents) || !areGood(map.strides))
    return false;
  if (std::any_of(map.box.begin(), map.box.end(),
                  [](int32_t extent) { return extent < 1 || extent > kLongestBox; }))
    return false;
  const int32_t rowBytes = map.box.back() * map.elementBytes;
  return rowBytes % 16 == 0 && rowBytes <= map.swizzleBytes;
}

uint64_t signExtended(uint64_t number, unsigned bits) {
  if (bits == 0 || bits >= 64)
    return number;
  const unsigned unused = 64 - bits;
  return static_cast<uint64_t>(static_cast<int64_t>(number << unused) >> unused);
}

int64_t evaluate(const LaunchExpression &expression, std::span<const KernelArgument> arguments,
                 const uint64_t *slots) {
  uint64_t numbers[LaunchExpression::kMostNumbers + 1]; // the first one lies below the stack
  uint64_t *top = numbers;
  for (const LaunchExpression::Step &step : expression.steps)
    switch (step.kind) {
    case Kind::Constant:
      *++top = static_cast<uint64_t>(step.value);
      break;
    case Kind::Argument: {
      const auto index = static_cast<size_t>(step.value);
      *++top = signExtended(slots[index], arguments[index].dtype.bits());
      break;
    }
    case Kind::Add:
      --top;
      *top += top[1];
      break;
    case Kind::Subtract:
      --top;
      *top -= top[1];
      break;
    case Kind::Multiply:
      --top;
      *top *= top[1];
      break;
    case Kind::SignExtend:
      *top = signExtended(*top, static_cast<unsigned>(step.value));
      break;
    case Kind::ZeroExtend:
      if (step.value < 64)
        *top &= (uint64_t{1} << step.value) - 1;
      break;
    }
  return static_cast<int64_t>(*top);
}

/// The first rule of the engine that an array breaks, and in which dimension.
struct Broken {
  enum class Rule : uint8_t { None, Base, Extent, Neighbours, Sign, Alignment, Distance };
  Rule rule = Rule::None;
  size_t dimension = 0;
};

constexpr uint64_t kAlignment = 16;
constexpr int64_t kStrideLimit = int64_t{1} << 40; // bytes

/// Whether the code says of a dimension that it ends nowhere.
bool isEndless(const LaunchExpression &extent) {
  return extent.steps.size() == 1 &&
         extent.steps.front() ==
             LaunchExpression::Step{LaunchExpression::Kind::Constant, kEndlessAxis};
}

Broken firstBroken(const TensorMap &map, const TensorMapValues &values) {
  using Rule = Broken::Rule;
  if (values.base % kAlignment)
    return {Rule::Base, 0};
  for (size_t dimension = 0; dimension < values.rank; ++dimension) {
    const int64_t extent = values.extents[dimension], stride = values.strides[dimension];
    if (extent < 1 || (extent > kLongestAxis && !isEndless(map.extents[dimension])))
      return {Rule::Extent, dimension};
    if (dimension + 1 == values.rank) {
      if (stride != 1)
        return {Rule::Neighbours, dimension};
      continue;
    }
    if (stride < 1)
      return {Rule::Sign, dimension};
    if (stride >= kStrideLimit || stride * map.elementBytes >= kStrideLimit)
      return {Rule::Distance, dimension};
    if (static_cast<uint64_t>(stride * map.elementBytes) % kAlignment)
      return {Rule::Alignment, dimension};
  }
  return {};
}

std::string hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

} // namespace

bool areWellFormed(std::span<const TensorMap> maps, std::span<const KernelArgument> arguments) {
  return maps.size() <= kMostTensorMaps &&
         std::all_of(maps.begin(), maps.end(),
                     [&](const TensorMap &map) { return isWellFormed(map, arguments); });
}

TensorMapValues valuesOf(const TensorMap &map, std::span<const KernelArgument> arguments,
                         const uint64_t *slots) {
  TensorMapValues values{};
  values.base = slots[map.argument];
  values.rank = map.box.size();
  for (size_t dimension = 0; dimension < values.rank; ++dimension) {
    values.extents[dimension] = evaluate(map.extents[dimension], arguments, slots);
    values.strides[dimension] = evaluate(map.strides[dimension], arguments, slots);
  }
  return values;
}

bool isReadable(const TensorMap &map, const TensorMapValues &values) {
  return firstBroken(map, values).rule == Broken::Rule::None;
}

std::string problemOf(const TensorMap &map, std::span<const KernelArgument> arguments,
                      const TensorMapValues &values) {
  using Rule = Broken::Rule;
  const auto [rule, dimension] = firstBroken(map, values);
  if (rule == Rule::None)
    return {};
  const std::string array = "'" + arguments[map.argument].name + "'",
                    place = "dimension " + std::to_string(dimension) + " of " + array;
  if (rule == Rule::Base)
    return "the base " + hexadecimal(values.base) + " of " + array + " is no multiple of 16 bytes";
  if (rule == Rule::Extent)
    return place + " has " + std::to_string(values.extents[dimension]) + " elements, not 1 to " +
           std::to_string(kLongestAxis);
  const int64_t stride = values.strides[dimension];
  const std::string distance =
      "elements in " + place + " lie " + std::to_string(stride) + " elements apart, ";
  switch (rule) {
  case Rule::Neighbours:
    return distance + "not side by side";
  case Rule::Sign:
    return distance + "not in ascending order";
  case Rule::Distance:
    return distance + "which is not below 2^40 bytes";
  default:
    return distance + "which are " + std::to_string(stride * map.elementBytes) +
           " bytes and no multiple of 16";
  }
}

} // namespace sectile::backends
