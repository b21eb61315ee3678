//===-- BufferBytes.h - how far a buffer of a GPU reaches -------------------------------------===//
// Plain C++. Some GPUs access memory by one pointer and offsets of 32 bits
// (optimizer/gpu/BufferAccesses.h).
#pragma once

#include <cstdint>

namespace sectile::lang {

/// The bytes behind a buffer's pointer that may be accessed.
inline constexpr int64_t kBufferBytes = (int64_t{1} << 31) - 1;

} // namespace sectile::lang
