//===-- ThreadPool.h - runs the programs of a grid on all cores -------------------------------===//
// A launch is a range of programs, cut into chunks that threads take as they become free: large
// chunks first, single programs at the end (neighbouring programs touch neighbouring memory, and
// the last chunk decides when the launch ends).
//
//   pool.run(programCount, estimate, [](void *context, int64_t first, int64_t last) {
//     ...; return true; }, context);
//
// * The calling thread takes part, and starts alone: others are asked in only when there is work
//   for more than a few microseconds, which is what waking them costs.
// * Workers spin for a short while after a launch, in case the next follows at once, then sleep.
// * Several threads may launch at once, and a program may launch (from a print handler, say): each
//   launch can be finished by its own caller, so nothing waits for a free thread.
// * After fork() the child starts new workers when it first needs them.
//
// Each launch under way has a slot. A worker counts itself in before it looks at a launch; the
// caller takes the launch away and then waits until no worker is counted in, so no launch is
// touched after its run() returned.
//
//   worker: userCount++; l = launch; if (l) work(l); userCount--
//   caller: take the slot; launch = mine; work; launch = null; while (userCount) wait; free slot
#pragma once

#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <vector>

namespace sectile::cpu {

/// Nanoseconds per program of earlier launches of one kernel; 0: none yet. Only decides how many
/// threads to wake.
using CostEstimate = std::atomic<float>;

class ThreadPool {
public:
  /// `threadCount` includes the caller: 1 makes no threads.
  explicit ThreadPool(unsigned threadCount);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threadCount() const { return limit; }

  /// Runs programs [first, last); false stops the launch: chunks not yet taken are left out. It
  /// throws nothing.
  using Body = bool (*)(void *context, int64_t first, int64_t last);
  /// `waiting` is called again and again by the calling thread while it has nothing left to do and
  /// other threads have.
  using Waiting = void (*)(void *context);
  void run(int64_t programCount, CostEstimate &estimate, Body body, void *context,
           Waiting waiting = nullptr);

private:
  struct Launch;
  struct alignas(64) Slot {
    std::atomic<bool> isTaken{false};
    std::atomic<Launch *> launch{nullptr};
    std::atomic<int32_t> userCount{0};
  };
  static constexpr unsigned kSlotCount = 16;

  void startWorkers();
  void workerLoop();
  bool helpAny();
  void wake(unsigned count);

  const unsigned limit;
  Slot slots[kSlotCount];
  /// Counts published launches; workers wait for it to change.
  alignas(64) std::atomic<uint32_t> published{0};
  alignas(64) std::atomic<int32_t> sleeperCount{0};
  std::atomic<bool> stopping{false};
  ForkSafeMutex mutex;
  std::atomic<bool> isStarted{false};
  std::atomic<uint64_t> generation{0};
  std::vector<pthread_t> workers; // guarded by `mutex`
};

/// Threads this process may keep busy: `requested` if not 0, else the CPUs it may run on
/// (affinity), within its cgroup's CPU quota.
unsigned usableThreadCount(unsigned requested);

/// CPUs' worth of time the cgroups allow, rounded up; 0: no limit. `membership` is the content of
/// /proc/self/cgroup, `mountPoint` is where the hierarchies are mounted: versions 1 and 2.
unsigned cgroupQuota(const std::string &membership, const std::string &mountPoint);

} // namespace sectile::cpu
