//===-- Interrupts.h - Ctrl-C while a kernel runs ---------------------------------------------===//
// Python's handler of a signal only records it. Python acts on it when its main thread runs Python
// again, which it does not do during a long launch. So now and then that thread has to call Python,
// and a kernel, which nothing else can stop, has to check whether the launch is to end.
//
//   watcher thread          every 50 ms, while the main thread is in a launch: attention = 1
//   kernels (KernelEmitter) between programs and in the rounds of their loops: attention? attend()
//   attend(), in the thread that launched: attention = 0; asks; true: the launch ends
//   attend(), in other threads of it: has the launch ended?
//
// Only the process's first thread is interrupted (Python runs handlers in no other), so one word
// serves all launches. It is set again when one ends so, until all its threads have left. A launch
// costs two stores more; a round of a loop one load, and a branch that is not taken.
//
// The watcher sleeps once there has been no launch for a second.
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <pthread.h>

namespace sectile::cpu {

class Interrupts {
public:
  Interrupts() = default;
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;

  /// Sets the check that launches from then on call; null means that they call none.
  void setCheck(backends::InterruptCheck asked) { check.store(asked, std::memory_order_release); }

  /// One launch, from beginning to end, in the thread that launches.
  class Watch {
  public:
    explicit Watch(Interrupts &interrupts);
    ~Watch();
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    /// Not zero: call attend().
    const uint32_t *attention() const;
    bool wantsAttention() const { return __atomic_load_n(attention(), __ATOMIC_RELAXED) != 0; }
    /// By any thread of the launch; true when it has been interrupted just now, or before.
    bool attend();

  private:
    Interrupts &interrupts;
    const backends::InterruptCheck check; // null: this launch is not watched
    const pthread_t launcher;
    std::atomic<bool> isInterrupted{false};
  };

private:
  void wakeWatcher();
  void watch();

  std::atomic<backends::InterruptCheck> check{nullptr};
  /// What kernels look at.
  alignas(64) uint32_t attention = 0;
  /// Launches of the main thread under way: more than one where a handler of prints launches.
  std::atomic<uint32_t> depth{0};
  /// 1: the watcher looks; 0: it sleeps, or there is none.
  std::atomic<uint32_t> isAwake{0};
  std::atomic<uint32_t> stopping{0};
  ForkSafeMutex mutex;
  std::atomic<uint64_t> generation{0};
  std::optional<pthread_t> watcher; // guarded by `mutex`
};

} // namespace sectile::cpu
