//===-- Memory.h - what a kernel may touch: host buffers, LDS ---------------------------------===//
// Global memory is a set of host buffers; an address outside all of them is an error. LDS knows for
// each byte who wrote and read it last, so that uninitialised reads and races are errors, too.
#pragma once

#include "Instruction.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace sectile::amdisa {

/// The host buffers that a launch may access, by their own addresses.
class Buffers {
public:
  void add(const void *begin, uint64_t bytes, bool isWritable = true) {
    ranges.push_back({reinterpret_cast<uint64_t>(begin), reinterpret_cast<uint64_t>(begin) + bytes,
                      isWritable, /*isPadded=*/false});
  }
  /// One with memory around it, from one multiple of 16 to another. Words there may be read, as
  /// LLVM makes one load of three uniform words, and a word that two bytes of the buffer are in may
  /// be exchanged.
  void addPadded(const void *begin, uint64_t bytes) {
    add(begin, bytes);
    ranges.back().isPadded = true;
  }
  /// The memory at `address`; null when no buffer holds all `bytes` of it.
  char *find(uint64_t address, uint64_t bytes, bool writes) const {
    if (last < ranges.size() && ranges[last].holds(address, bytes, writes))
      return reinterpret_cast<char *>(address);
    return search(address, bytes, writes);
  }
  /// How the address lies to the nearest buffer, for errors.
  std::string describe(uint64_t address) const;

private:
  struct Range {
    uint64_t begin, end;
    bool isWritable, isPadded;
    bool holds(uint64_t address, uint64_t bytes, bool writes) const {
      if (writes && !isWritable)
        return false;
      if (address >= begin && address < end && bytes <= end - address)
        return true;
      uint64_t block = writes ? 4 : 16;
      uint64_t reached = address & ~(block - 1);
      return isPadded && bytes == 4 && address % 4 == 0 && reached < end && reached + block > begin;
    }
  };
  char *search(uint64_t address, uint64_t bytes, bool writes) const;

  std::vector<Range> ranges;
  mutable size_t last = 0;
};

constexpr unsigned kMaxWaves = 32;

/// How far the memory operations of one wave are: the number issued, those whose counter was waited
/// for, and those that were complete (or just issued) when the wave arrived at the last barrier
/// that all have passed.
struct Progress {
  uint32_t issued = 0, completed = 0, arrived = 0, retired = 0;
  uint32_t issuedAtArrival = 0, issuedBefore = 0;
};

using WaveProgress = std::array<Progress, kStreamCount>;

/// The local memory of one work-group.
class Lds {
public:
  void resize(uint32_t size);
  /// From now on what was never written may be read, and differs from seed to seed: kernels read
  /// the places of padding, and use nothing of it.
  void allowUnwritten(uint64_t seed);
  uint32_t size() const { return uint32_t(bytes.size()); }

  struct Access {
    uint8_t wave;
    Stream stream;
    bool isAtomic;
  };
  /// "" or what is wrong with the access. The serial number of the operation is the last its wave
  /// issued.
  std::string read(uint32_t address, void *target, uint32_t count, Access access,
                   const std::vector<WaveProgress> &waves);
  std::string write(uint32_t address, const void *source, uint32_t count, Access access,
                    const std::vector<WaveProgress> &waves);

private:
  /// The last access of a kind: 0 for none, else the wave, whether it came by direct loads, whether
  /// it was atomic, and its serial number.
  using Event = uint32_t;
  struct Shadow {
    Event write = 0, read = 0, otherRead = 0;
  };
  static Event eventOf(Access access, const std::vector<WaveProgress> &waves);
  static bool isLive(Event event, Access by, const std::vector<WaveProgress> &waves);
  static std::string describe(const char *what, uint32_t address, Event event);

  std::vector<uint8_t> bytes;
  std::vector<Shadow> shadows;
  bool mayReadUnwritten = false;
};

/// The latest stores of a work-group to global memory, so that a wave that reads what another has
/// stored with no barrier between, or behind one that the store was not waited for, is found. Keeps
/// a bounded number of words: may forget, and never errs. Atomics are not asked.
///
/// gfx9 runs the work-group's waves on one compute unit, whose accesses to global memory stay in
/// order: there a barrier is enough, and LLVM waits for nothing (AMDGPUUsage, memory model of
/// gfx90a and gfx942 outside of threadgroup split mode).
class StoreShadow {
public:
  bool isIgnored = false;
  /// Called before the bytes are written; stores that change nothing do no harm.
  void store(uint64_t address, const void *old, const void *bytes, uint32_t count, uint8_t wave,
             Stream stream, const std::vector<WaveProgress> &waves);
  /// The wave whose store races with this load, or -1.
  int racingWave(uint64_t address, uint32_t count, uint8_t wave,
                 const std::vector<WaveProgress> &waves, bool staysInOrder) const;

private:
  struct Word {
    uint64_t number = ~uint64_t(0);
    uint32_t serial = 0;
    Stream stream = Stream::Load;
    uint8_t wave = 0, bytes = 0; // a bit for each byte
  };
  static size_t slotOf(uint64_t number) { return number * 0x9e3779b97f4a7c15 >> 52; }

  std::vector<Word> words; // empty until the first store
};

} // namespace sectile::amdisa
