//===-- MemoryFacts.h - which variant fits the arrays of a launch -----------------------------===//
// Code may take something of its arguments' memory for granted, or be better where something is
// promised of it. Its image lists the arguments concerned; a launch whose memory it is not right,
// or not best, for gets a variant that was compiled with the option on the right:
//
//   in the image       of the memory of the launch                  option
//   overlapHazards     two of the arguments share bytes             argumentsOverlap
//   atomicArguments    all lie in the device's own memory           deviceMemory
//   tensorMaps         a map of one of them cannot be made          pointersOnly
//   bufferArguments    one ends 2 GiB or more behind its pointer,   largeArrays
//                      or is a negative integer
//
// The usual variant is always obtained first: nothing but its image says what matters. Which arrays
// overlap is found by every launch (Specializer::bind), and is part of its key. Where memory lies
// is a question to the driver, which only launches of kernels with atomic arguments ask, each time.
// Maps are made, or found, for each launch of a kernel that lists some, and arguments of buffers
// are looked at by each launch of a kernel that lists some:
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
  /// A tensor map of the usual variant cannot be made of the arguments.
  bool isUnmappable = false;
  /// An array or integer of the usual variant is not as its code assumes.
  bool isLarge = false;

  static MemoryFacts of(const BoundArguments &arguments);
  /// No image asks for another variant.
  bool isUsual() const { return overlaps.empty() && !isOfDevice && !isUnmappable && !isLarge; }
  /// Sets the options by which the code for this memory differs from `image`, which was compiled
  /// with `options`. False when `image` is that code.
  bool changeOptions(const backends::KernelImage &image, backends::CompileOptions &options) const;
};

/// The facts of all launches that want other code than `usual`, which was compiled for the usual
/// memory: what is compiled for launches to come has to be compiled for these, too.
SECTILE_API std::vector<MemoryFacts> unusualMemory(const backends::KernelImage &usual);

/// Gives `options` those that changeOptions sets, as a variant's image has them.
void copyMemoryOptions(const backends::CompileOptions &ofImage, backends::CompileOptions &options);

/// Whether an array among the values lies on no GPU: what is compiled with it for a GPU is compiled
/// ahead of launches, whose arrays may lie anywhere.
SECTILE_API bool leavesMemoryOpen(std::span<const ArgumentValue> values);
/// The same, or whether an integer among them stands for others: nothing is known of the tensor
/// maps and buffers of launches.
SECTILE_API bool leavesMapsOpen(std::span<const ArgumentValue> values);

/// Lets the key say that all that `kernel` combines into lies in the device's own memory; false
/// where it does not, where the key says so already, and where the kernel does not ask.
inline bool noteDeviceMemory(const Kernel &kernel, BoundArguments &arguments) {
  if (arguments.isOfDevice || !kernel.prefersDeviceMemory(arguments)) [[likely]]
    return false;
  arguments.setOfDevice();
  return true;
}

/// The same for tensor maps of `kernel` that cannot be made.
inline bool noteUnmappable(const Kernel &kernel, BoundArguments &arguments) {
  if (arguments.isUnmappable || !kernel.wantsPointers(arguments)) [[likely]]
    return false;
  arguments.setUnmappable();
  return true;
}

/// The same for arguments of buffers.
inline bool noteLarge(const Kernel &kernel, BoundArguments &arguments) {
  if (arguments.isLarge || !kernel.exceedsBuffers(arguments)) [[likely]]
    return false;
  arguments.setLarge();
  return true;
}

/// Returns what `obtain` does, a kernel for the key of `arguments` or null. Where that kernel asks
/// for the device's own memory, and finds all that it concerns there, or cannot make its tensor
/// maps, or finds that an argument exceeds a buffer, the key gets to say so, and `obtain` is called
/// again.
template <class Obtain>
const Kernel *selectForMemory(BoundArguments &arguments, Obtain obtain) {
  for (;;) {
    const Kernel *kernel = obtain();
    if (!kernel)
      return nullptr;
    bool isNew = noteDeviceMemory(*kernel, arguments);
    isNew |= noteUnmappable(*kernel, arguments);
    isNew |= noteLarge(*kernel, arguments);
    if (!isNew) [[likely]]
      return kernel;
  }
}

/// The same for a compile ahead of launches. Where the values leave open which memory launches will
/// have, both variants are obtained and the usual one is returned; where they leave open whether
/// maps can be made or what buffers reach, the variant with maps and buffers is.
template <class Obtain>
const Kernel *selectAhead(BoundArguments &arguments, std::span<const ArgumentValue> values,
                          Obtain obtain) {
  if (!leavesMapsOpen(values))
    return selectForMemory(arguments, obtain);
  const Kernel *kernel = obtain();
  if (kernel && noteDeviceMemory(*kernel, arguments))
    return obtain();
  if (!kernel || !kernel->mayPreferDeviceMemory() || !leavesMemoryOpen(values)) [[likely]]
    return kernel;
  arguments.setOfDevice();
  return obtain() ? kernel : nullptr;
}

} // namespace sectile::jit
