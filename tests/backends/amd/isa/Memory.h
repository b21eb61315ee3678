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
  void add(const void *begin, uint64_t bytes, bool isWritable = true);
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
    bool isWritable;
    bool holds(uint64_t address, uint64_t bytes, bool writes) const {
      return address >= begin && address < end && bytes <= end - address && (isWritable || !writes);
    }
  };
  char *search(uint64_t address, uint64_t bytes, bool writes) const;

  std::vector<Range> ranges;
  mutable size_t last = 0;
};

constexpr unsigned kMaxWaves = 32;

/// How far the memory operations of one wave are: the number issued, those whose counter was waited
/// for, and those that were complete when the wave arrived at the last barrier that all have
/// passed.
struct Progress {
  uint32_t issued = 0, completed = 0, arrived = 0, retired = 0;
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

} // namespace sectile::amdisa
