//===-- TensorMap.h - an array of memory, as a GPU's copy engine reads it ---------------------===//
// Plain C++. NVIDIA's tensor memory accelerator copies boxes of an array between global and shared
// memory by itself. What it must know of the array, a *tensor map*, is made by the host when a
// kernel is launched, from the arguments of the launch, and passed to the kernel by value:
//
//   const TensorMap &map = image.tensorMaps[0];
//   TensorMapValues values = valuesOf(map, image.arguments, slots);
//   bool isPossible = isReadable(map, values);  // the engine can read such an array
//   std::string problem = problemOf(map, image.arguments, values);  // why not, for people
//
// A kernel whose maps cannot be made for a launch has a variant that reads through pointers
// (CompileOptions::pointersOnly).
//
// What a compiler, or a file, says of maps is checked once (areWellFormed); everything else here
// takes that for granted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::backends {

struct KernelArgument;

/// Of a map that the driver has encoded.
inline constexpr unsigned kTensorMapBytes = 128, kTensorMapAlignment = 64;

inline constexpr size_t kMostTensorRank = 5;
/// The most maps of one kernel, and the longest axis of a box.
inline constexpr size_t kMostTensorMaps = 16;
inline constexpr int32_t kLongestBox = 256;
/// The longest axis of an array, and the extent, a constant of the code, of one that ends nowhere.
/// Coordinates have 32 bits with a sign. Code puts blocks that begin beyond them at kLongestAxis,
/// where they are outside.
inline constexpr int64_t kLongestAxis = (int64_t(1) << 31) - (1 << 16), kEndlessAxis = int64_t(1)
                                                                                       << 31;

/// An integer that follows from the arguments of a launch, in postfix notation: numbers go on a
/// stack, operations take two of them, or one. All are of 64 bits, and wrap.
struct LaunchExpression {
  enum class Kind : uint8_t {
    Constant, // `value`
    Argument, // number `value` among the arguments of the compiled kernel, its sign extended
    Add,
    Subtract,
    Multiply,
    SignExtend, // from the lowest `value` bits, 1 to 64
    ZeroExtend,
  };
  struct Step {
    Kind kind = Kind::Constant;
    int64_t value = 0;
    friend bool operator==(const Step &, const Step &) = default;
  };
  /// The most numbers that may lie on the stack.
  static constexpr size_t kMostNumbers = 16;
  std::vector<Step> steps;
  friend bool operator==(const LaunchExpression &, const LaunchExpression &) = default;
};

/// The first dimension is the outermost; in the last one elements are neighbours.
struct TensorMap {
  uint32_t argument = 0;                          // the array's first element
  int32_t elementBytes = 1;                       // 1, 2, 4 or 8
  std::vector<LaunchExpression> extents, strides; // strides in elements; the last is 1
  std::vector<int32_t> box;                       // extents of what one copy moves
  /// Pieces of 16 bytes change places within so many bytes of shared memory: 128, 64 or 32. The
  /// last extent of the box has no more.
  int32_t swizzleBytes = 128;
  friend bool operator==(const TensorMap &, const TensorMap &) = default;
};

/// The same for one launch. Beyond `rank` there are zeros.
struct TensorMapValues {
  uint64_t base;
  uint64_t rank;
  std::array<int64_t, kMostTensorRank> extents, strides; // elements
  friend bool operator==(const TensorMapValues &, const TensorMapValues &) = default;
};

/// Whether all fields of a kernel's maps have values that are allowed: as many maps as a kernel may
/// have, of one to five dimensions, each with a pointer among the arguments, boxes that the engine
/// can copy (up to kLongestBox along each axis; in the last a multiple of 16 bytes, no more than
/// swizzleBytes), and expressions that leave one number and never more than kMostNumbers.
bool areWellFormed(std::span<const TensorMap> maps, std::span<const KernelArgument> arguments);

/// `slots` as LaunchArguments has them: one word for each of `arguments`. The sign of each is
/// extended from the bits of its type, whatever that says of signs.
TensorMapValues valuesOf(const TensorMap &map, std::span<const KernelArgument> arguments,
                         const uint64_t *slots);

/// Whether the copy engine can read such an array. Its rules (CUDA driver API,
/// cuTensorMapEncodeTiled): the base is a multiple of 16 bytes, extents are from 1 to 2^32, the
/// last stride is 1, the others are positive multiples of 16 bytes below 2^40. Coordinates are of
/// 32 bits with a sign, so that extents beyond kLongestAxis are refused here.
bool isReadable(const TensorMap &map, const TensorMapValues &values);

/// Why it cannot; empty when it can: "the base 0x7f0000000008 of 'a' is no multiple of 16 bytes".
std::string problemOf(const TensorMap &map, std::span<const KernelArgument> arguments,
                      const TensorMapValues &values);

} // namespace sectile::backends
