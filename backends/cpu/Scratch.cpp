#include "backends/cpu/Scratch.h"

#include "backends/cpu/HostAbi.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace sectile::cpu {
namespace {

/// Kept per thread up to this size; more is given back after each launch.
constexpr uint64_t kKeptBytes = 64 << 20;

uint8_t *allocate(uint64_t bytes) {
  uint64_t rounded = (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  return static_cast<uint8_t *>(std::aligned_alloc(kScratchAlignment, rounded));
}

struct ThreadScratch {
  uint8_t *memory = nullptr;
  uint64_t bytes = 0;
  bool inUse = false;
  ~ThreadScratch() { std::free(memory); }
};
thread_local ThreadScratch threadScratch;

alignas(kScratchAlignment) uint8_t nothing[kScratchAlignment];

} // namespace

ScratchLease::ScratchLease(uint64_t bytes) {
  if (bytes == 0) {
    memory = nothing;
    return;
  }
  ThreadScratch &mine = threadScratch;
  if (mine.inUse) {
    memory = allocate(bytes);
    return;
  }
  if (mine.bytes < bytes) {
    std::free(mine.memory);
    mine.memory = allocate(bytes);
    mine.bytes = mine.memory ? bytes : 0;
  }
  memory = mine.memory;
  isThreads = mine.inUse = memory != nullptr;
}

ScratchLease::~ScratchLease() {
  if (memory == nothing)
    return;
  if (!isThreads) {
    std::free(memory);
    return;
  }
  ThreadScratch &mine = threadScratch;
  mine.inUse = false;
  if (mine.bytes > kKeptBytes) {
    std::free(mine.memory);
    mine.memory = nullptr;
    mine.bytes = 0;
  }
}

uint64_t scratchLimit(unsigned threadCount) {
  // The system promises more memory than it has; touching it would end the process.
  uint64_t installed = static_cast<uint64_t>(std::max(1l, ::sysconf(_SC_PHYS_PAGES))) *
                       static_cast<uint64_t>(std::max(1l, ::sysconf(_SC_PAGESIZE)));
  return installed / 2 / std::max(1u, threadCount);
}

} // namespace sectile::cpu
