//===-- Scratch.h - memory of the thread that runs a program ----------------------------------===//
// Grown on demand and kept for the next launch; each thread has its own.
#pragma once

#include <cstdint>

namespace sectile::cpu {

/// Aligned to kScratchAlignment; null when there is not so much memory (0 bytes: never null). A
/// program may launch another kernel from a print handler: then the inner launch gets memory of its
/// own.
class ScratchLease {
public:
  explicit ScratchLease(uint64_t bytes);
  ~ScratchLease();
  ScratchLease(const ScratchLease &) = delete;
  ScratchLease &operator=(const ScratchLease &) = delete;
  uint8_t *data() const { return memory; }

private:
  uint8_t *memory = nullptr;
  bool isThreads = false;
};

/// What one thread may have: a part of the machine's memory.
uint64_t scratchLimit(unsigned threadCount);

} // namespace sectile::cpu
