//===-- DescriptorArgument.h - tensor descriptors that programs in C and C++ pass -------------===//
// The rules for an array that a kernel reads and writes by blocks. Python's TensorDescriptor has
// the same ones (runtime/descriptors.py), where it knows more of its arrays.
#pragma once

#include "jit/Api.h"
#include "lang/plain/DType.h"

#include <cstdint>
#include <span>
#include <string>

namespace sectile::jit {

inline constexpr int64_t kDescriptorAlignment = 16; // bytes, as tensor maps of GPUs have it
inline constexpr size_t kMostDescriptorDimensions = 5;

struct DescriptorArgument {
  const void *base = nullptr;
  int64_t elementBytes = 1;
  /// The elements that exist from `base` on; kUnknown where only the address is known.
  uint64_t elements = kUnknown;
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  /// All of one length; in elements.
  std::span<const int64_t> shape, strides, blockShape;
};

/// What is wrong with an argument, and the remedy; both are "" when nothing is.
struct ArgumentProblem {
  std::string text, help;
  bool ok() const { return text.empty(); }
};

/// Names the number, and the rule that it breaks:
///   base         not null, its address a multiple of 16 bytes
///   shape        positive numbers
///   strides      the last is 1, the others are multiples of 16 bytes; no element of the array lies
///                outside of what exists
///   block_shape  positive numbers
SECTILE_API ArgumentProblem problemOf(const DescriptorArgument &argument);
/// The bytes in which the described elements lie, which are all that a kernel touches: [begin,
/// end). Only of an argument without a problem.
struct DescribedBytes {
  uint64_t begin, end;
};
SECTILE_API DescribedBytes bytesOf(const DescriptorArgument &argument);
/// For elements that are read as NaN outside of the array.
SECTILE_API ArgumentProblem problemOfNan(lang::DType element);

} // namespace sectile::jit
