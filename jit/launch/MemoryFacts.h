//===-- MemoryFacts.h - which variant fits the memory of a launch's arrays --------------------===//
// Code may take something of its arguments' memory for granted, or be better where something is
// promised of it. Its image lists the arguments concerned; a launch whose memory it is not right,
// or not best, for gets a variant that was compiled with the option on the right:
//
//   in the image       of the memory of the launch                  option
//   overlapHazards     two of the arguments share bytes             argumentsOverlap
//   atomicArguments    all lie in the device's own memory           deviceMemory
//
// The usual variant is always obtained first: nothing but its image says what matters. Which arrays
// overlap is found by every launch (Specializer::bind), and is part of its key. Where memory lies
// is a question to the driver, which only launches of kernels with atomic arguments ask, each time:
//
//   const Kernel *kernel = selectForMemory(bound, [&]() -> const Kernel * {
//     if (const Kernel *found = table.find(bound))
//       return found;
//     request.memory = MemoryFacts::of(bound);
//     ... runtime.getKernel(request) ... table.insert(bound, ...)
//   });
//
// After Runtime::seal() a variant that is missing, the usual one included, is an error like any
// other.
#pragma once

#include "jit/launch/Specialization.h"

#include <vector>

namespace sectile::jit {

struct SECTILE_API MemoryFacts {
  /// The pairs of arrays that share memory.
  std::vector<backends::ArgumentOverlap> overlaps;
  /// All that the usual variant combines into atomically lies in the device's own memory.
  bool isOfDevice = false;

  static MemoryFacts of(const BoundArguments &arguments);
  /// No image asks for another variant.
  bool isUsual() const { return overlaps.empty() && !isOfDevice; }
  /// Sets the options by which the code for this memory differs from `image`, which was compiled
  /// with `options`. False when `image` is that code.
  bool changeOptions(const backends::KernelImage &image, backends::CompileOptions &options) const;
};

/// Gives `options` those that changeOptions sets, as a variant's image has them.
void copyMemoryOptions(const backends::CompileOptions &ofImage, backends::CompileOptions &options);

/// Whether an array among the values lies on no GPU: what is compiled with it for a GPU is compiled
/// ahead of launches, whose arrays may lie anywhere.
SECTILE_API bool leavesMemoryOpen(std::span<const ArgumentValue> values);

/// Returns what `obtain` does, a kernel for the key of `arguments` or null. Where that kernel asks
/// for the device's own memory, and finds all that it concerns there, the key gets to say so, and
/// `obtain` is called again.
template <class Obtain>
const Kernel *selectForMemory(BoundArguments &arguments, Obtain obtain) {
  const Kernel *kernel = obtain();
  if (!kernel || !kernel->prefersDeviceMemory(arguments)) [[likely]]
    return kernel;
  arguments.setOfDevice();
  return obtain();
}

/// The same for a compile ahead of launches. Where the values leave open which variant a launch
/// will want, both are obtained and the usual one is returned.
template <class Obtain>
const Kernel *selectAhead(BoundArguments &arguments, std::span<const ArgumentValue> values,
                          Obtain obtain) {
  const Kernel *kernel = selectForMemory(arguments, obtain);
  if (!kernel || !kernel->mayPreferDeviceMemory() || !leavesMemoryOpen(values)) [[likely]]
    return kernel;
  arguments.setOfDevice();
  return obtain() ? kernel : nullptr;
}

} // namespace sectile::jit
