//===-- BufferArguments.h - whether a launch fits the buffers of its code ---------------------===//
// Plain C++.
//
//   if (!fitsBuffers(image, slots, ranges)) // wants the variant with CompileOptions::largeArrays
#pragma once

#include "backends/plain/KernelImage.h"
#include "lang/plain/BufferBytes.h"

#include <algorithm>

namespace sectile::backends {

/// Whether the arguments are as KernelImage::bufferArguments has it. `slots` and `ranges` are those
/// of LaunchArguments.
inline bool fitsBuffers(const KernelImage &image, const uint64_t *slots, const uint64_t *ranges) {
  return std::all_of(
      image.bufferArguments.begin(), image.bufferArguments.end(), [&](uint32_t index) {
        const lang::DType dtype = image.arguments[index].dtype;
        if (dtype.isPointer)
          return ranges[2 * size_t{index} + 1] - slots[index] <= uint64_t{lang::kBufferBytes};
        return dtype.bits() > 32 ? static_cast<int64_t>(slots[index]) >= 0
                                 : static_cast<int32_t>(slots[index]) >= 0;
      });
}

} // namespace sectile::backends
