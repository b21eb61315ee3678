#include "backends/cpu/Interrupts.h"

#include <ctime>
#include <linux/futex.h>
#include <mutex>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sectile::cpu {
namespace {

constexpr uint32_t kNever = 0;
constexpr long kPeriodNanoseconds = 50'000'000;
constexpr unsigned kIdlePeriods = 20;

/// Returns when the word is something else, it was woken, or the time is over; 0: no limit.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected, long nanoseconds) {
  timespec limit{0, nanoseconds};
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected,
            nanoseconds ? &limit : nullptr, nullptr, 0);
}
void futexWake(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
            0);
}

/// Whether this is the process's first thread; after fork() in another, that one.
bool isMainThread() {
  thread_local uint64_t knownAt = ~uint64_t(0);
  thread_local bool known = false;
  if (uint64_t now = forkGeneration(); knownAt != now) [[unlikely]] {
    known = ::getpid() == static_cast<pid_t>(::syscall(SYS_gettid));
    knownAt = now;
  }
  return known;
}

} // namespace

Interrupts::~Interrupts() {
  std::optional<pthread_t> running;
  {
    std::lock_guard lock(mutex);
    if (generation == forkGeneration())
      running = watcher;
  }
  if (!running)
    return;
  stopping = 1;
  isAwake = 1;
  futexWake(stopping);
  futexWake(isAwake);
  pthread_join(*running, nullptr);
}

Interrupts::Watch::Watch(Interrupts &interrupts)
    : interrupts(interrupts),
      check(interrupts.check.load(std::memory_order_acquire) && isMainThread()
                ? interrupts.check.load(std::memory_order_relaxed)
                : nullptr),
      launcher(pthread_self()) {
  if (!check)
    return;
  interrupts.depth.store(interrupts.depth.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  if (!interrupts.isAwake.load(std::memory_order_relaxed) ||
      interrupts.generation.load(std::memory_order_relaxed) != forkGeneration()) [[unlikely]]
    interrupts.wakeWatcher();
}

Interrupts::Watch::~Watch() {
  if (!check)
    return;
  interrupts.depth.store(interrupts.depth.load(std::memory_order_relaxed) - 1,
                         std::memory_order_relaxed);
  if (isInterrupted.load(std::memory_order_relaxed)) [[unlikely]]
    __atomic_store_n(&interrupts.attention, 0, __ATOMIC_RELAXED);
}

const uint32_t *Interrupts::Watch::attention() const {
  return check ? &interrupts.attention : &kNever;
}

bool Interrupts::Watch::attend() {
  if (isInterrupted.load(std::memory_order_relaxed))
    return true;
  if (!pthread_equal(pthread_self(), launcher))
    return false;
  __atomic_store_n(&interrupts.attention, 0, __ATOMIC_RELAXED);
  if (!check || !check())
    return false;
  isInterrupted.store(true, std::memory_order_relaxed);
  __atomic_store_n(&interrupts.attention, 1, __ATOMIC_RELAXED);
  return true;
}

void Interrupts::wakeWatcher() {
  std::lock_guard lock(mutex);
  isAwake = 1;
  if (generation == forkGeneration() && watcher) {
    futexWake(isAwake);
    return;
  }
  // The first launch, or the first in a child, which has its parent's memory and not its threads.
  generation = forkGeneration();
  attention = 0;
  depth = 1;
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_t thread;
  auto start = [](void *interrupts) -> void * {
    static_cast<Interrupts *>(interrupts)->watch();
    return nullptr;
  };
  watcher.reset();
  if (pthread_create(&thread, nullptr, start, this) == 0) {
    pthread_setname_np(thread, "sectile-watch");
    watcher = thread;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void Interrupts::watch() {
  unsigned idle = 0;
  for (;;) {
    futexWait(stopping, 0, kPeriodNanoseconds);
    if (stopping)
      return;
    if (depth.load(std::memory_order_relaxed)) {
      __atomic_store_n(&attention, 1, __ATOMIC_RELAXED);
      idle = 0;
      continue;
    }
    if (++idle < kIdlePeriods)
      continue;
    idle = 0;
    isAwake = 0;
    // A launch that found it awake a moment ago has counted itself by the end of the next period.
    futexWait(stopping, 0, kPeriodNanoseconds);
    if (depth.load(std::memory_order_relaxed) || stopping)
      isAwake = 1;
    while (!isAwake)
      futexWait(isAwake, 0, 0);
  }
}

} // namespace sectile::cpu
