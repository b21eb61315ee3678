//===-- LaunchHistory.h - the latest launches of a device, for errors that come late ----------===//
// A GPU's driver reports a kernel's crash at some later call. Which launch it was is not known any
// more, so the message names the latest ones, newest first:
//
//   add[4, 1, 1](x = 0x7f2a00000000, y = 0x7f2a00001000, n = 4000) on stream 0x0
//
// Noting a launch costs a few ten nanoseconds: a lock and a copy of its first arguments.
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/ForkSafeMutex.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sectile::gpu {

/// What a launched kernel is, also after it is gone.
struct KernelIdentity {
  std::string name;
  std::vector<backends::KernelArgument> arguments;
};

class LaunchHistory {
public:
  void note(const std::shared_ptr<const KernelIdentity> &kernel, const backends::Grid &grid,
            void *stream, const uint64_t *slots);
  /// Newest first.
  std::vector<std::string> describe() const;

  struct Last {
    uint64_t count = 0;
    void *stream = nullptr;
  };
  /// How many launches there have been, and the stream of the latest.
  Last last() const;

private:
  static constexpr size_t kLaunches = 8, kArguments = 16;
  struct Entry {
    std::shared_ptr<const KernelIdentity> kernel;
    backends::Grid grid;
    void *stream = nullptr;
    std::array<uint64_t, kArguments> slots{};
  };
  mutable ForkSafeMutex mutex;
  std::array<Entry, kLaunches> entries;
  uint64_t count = 0;
};

} // namespace sectile::gpu
