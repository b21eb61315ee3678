//===-- LaunchHistory.h - the latest launches of a device, for errors that come late ----------===//
// A GPU's driver reports a kernel's crash at some later call. Which launch it was is not known any
// more, so the message names the latest ones, newest first:
//
//   add[4, 1, 1](x = 0x7f2a00000000, y = 0x7f2a00001000, n = 4000) on stream 0x0, 3 times
//
// Equal ones that follow each other are one: it leaves room for others, and the one that is
// compared with is in the processor's cache.
//
// Noting a launch costs some ten nanoseconds: it is in the way of all of them. So the lock is a
// flag, held for as long as a few numbers are written, and most launches touch two lines
// of the cache.
#pragma once

#include "backends/plain/Driver.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sectile::gpu {

/// What a launched kernel is, also after it is gone.
struct KernelIdentity {
  std::string name;
  std::vector<backends::KernelArgument> arguments;
};

class LaunchHistory {
public:
  /// Of so many arguments the values are kept.
  static constexpr size_t kArguments = 16;
  /// `slotCount`: how many of the kernel's arguments are kept, at most kArguments.
  void note(const std::shared_ptr<const KernelIdentity> &kernel, const backends::Grid &grid,
            void *stream, const uint64_t *slots, size_t slotCount);
  /// Newest first.
  std::vector<std::string> describe() const;

  struct Last {
    uint64_t count = 0;
    void *stream = nullptr;
  };
  /// How many launches there have been, and the stream of the latest.
  Last last() const;

private:
  /// Held by one thread for some ten nanoseconds; by a reader while it copies the entries. A child
  /// of fork() launches nothing on GPUs, so it never waits for a thread that it has not got.
  class Lock {
  public:
    explicit Lock(const LaunchHistory &history) : isHeld(history.isHeld) {
      while (isHeld.exchange(true, std::memory_order_acquire)) [[unlikely]]
        std::this_thread::yield();
    }
    ~Lock() { isHeld.store(false, std::memory_order_release); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

  private:
    std::atomic<bool> &isHeld;
  };

  static constexpr size_t kLaunches = 8;
  struct alignas(64) Entry {
    std::shared_ptr<const KernelIdentity> kernel;
    backends::Grid grid;
    void *stream = nullptr;
    uint64_t times = 0;
    std::array<uint64_t, kArguments> slots{};
  };
  /// Apart from note(), whose code is in the way of all launches.
  [[gnu::noinline]] void add(const std::shared_ptr<const KernelIdentity> &kernel,
                             const backends::Grid &grid, void *stream, const uint64_t *slots,
                             size_t slotCount);

  mutable std::atomic<bool> isHeld{false};
  // Guarded by `isHeld`, as the entries: launches, and those that were unlike the one before.
  uint64_t count = 0, distinct = 0;
  std::array<Entry, kLaunches> entries;
};

} // namespace sectile::gpu
