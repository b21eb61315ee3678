#include "backends/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sectile::cpu {
namespace {

/// Work below this is done by the caller alone: a sleeping worker takes 30 to 60 us to arrive.
constexpr float kAloneNanoseconds = 12'000;
/// The same when a worker is awake and spinning.
constexpr float kAloneNanosecondsHot = 3'000;
/// How long a worker stays awake for the next launch.
constexpr auto kSpinTime = std::chrono::microseconds(60);
/// A thread takes this part of its fair share of what is left.
constexpr int64_t kShareDivisor = 2;

using Clock = std::chrono::steady_clock;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
            nullptr, 0);
}
void futexWake(std::atomic<uint32_t> &word, int count) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
            nullptr, 0);
}

} // namespace

struct ThreadPool::Launch {
  alignas(64) std::atomic<int64_t> next;
  int64_t end;
  int64_t shareDivisor;
  Body body;
  void *context;

  /// False when nothing is left.
  bool take(int64_t &first, int64_t &last) {
    int64_t begin = next.load(std::memory_order_relaxed);
    do {
      if (begin >= end)
        return false;
      last = begin + std::max<int64_t>(1, (end - begin) / shareDivisor);
    } while (!next.compare_exchange_weak(begin, last, std::memory_order_relaxed));
    first = begin;
    return true;
  }
  void work() {
    int64_t first, last;
    while (take(first, last))
      if (!body(context, first, last))
        next.store(end, std::memory_order_relaxed);
  }
};

ThreadPool::ThreadPool(unsigned threadCount) : limit(std::max(1u, threadCount)) {}

ThreadPool::~ThreadPool() {
  stopping = true;
  published.fetch_add(1);
  futexWake(published, INT_MAX);
  if (generation == forkGeneration())
    for (pthread_t worker : workers)
      pthread_join(worker, nullptr);
}

void ThreadPool::startWorkers() {
  std::lock_guard lock(mutex);
  uint64_t current = forkGeneration();
  if (isStarted && generation == current)
    return;
  if (isStarted) {
    // A forked child: the threads, and the launches they were counted into, are the parent's.
    workers.clear();
    for (Slot &slot : slots) {
      slot.isTaken = false;
      slot.launch = nullptr;
      slot.userCount = 0;
    }
    sleeperCount = 0;
  }
  workers.reserve(limit); // nothing below is refused memory
  // Signals are for the program's own threads: Python's handlers run in its main thread.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  for (unsigned i = 1; i < limit; ++i) {
    pthread_t worker;
    auto start = [](void *pool) -> void * {
      static_cast<ThreadPool *>(pool)->workerLoop();
      return nullptr;
    };
    if (pthread_create(&worker, nullptr, start, this) != 0)
      break; // at the limit of threads: the caller does the work of those missing
    pthread_setname_np(worker, ("sectile-" + std::to_string(i)).c_str());
    workers.push_back(worker);
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  generation = current;
  isStarted = true;
}

bool ThreadPool::helpAny() {
  bool helped = false;
  for (Slot &slot : slots) {
    if (!slot.launch.load(std::memory_order_relaxed))
      continue;
    // Sequentially consistent against the caller's `launch = null; read userCount`.
    slot.userCount.fetch_add(1);
    if (Launch *launch = slot.launch.load()) {
      launch->work();
      helped = true;
    }
    slot.userCount.fetch_sub(1, std::memory_order_release);
  }
  return helped;
}

void ThreadPool::workerLoop() {
  uint32_t seen = published.load();
  while (!stopping.load(std::memory_order_relaxed)) {
    helpAny();
    Clock::time_point deadline = Clock::now() + kSpinTime;
    uint32_t now;
    while ((now = published.load(std::memory_order_acquire)) == seen && Clock::now() < deadline)
      for (int i = 0; i < 32; ++i)
        pause();
    if (now == seen) {
      // Counted before the last look: a thread that publishes after it sees a sleeper and wakes it.
      sleeperCount.fetch_add(1);
      while (published.load() == seen)
        futexWait(published, seen);
      sleeperCount.fetch_sub(1);
      now = published.load();
    }
    seen = now;
  }
}

void ThreadPool::wake(unsigned count) {
  published.fetch_add(1);
  if (sleeperCount.load() > 0)
    futexWake(published, static_cast<int>(count));
}

void ThreadPool::run(int64_t programCount, CostEstimate &estimate, Body body, void *context,
                     Waiting waiting) {
  if (programCount <= 0)
    return;
  if (programCount == 1 || limit == 1) {
    body(context, 0, programCount);
    return;
  }
  if (!isStarted.load(std::memory_order_acquire) ||
      generation.load(std::memory_order_relaxed) != forkGeneration())
    startWorkers();

  Clock::time_point start = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<float, std::nano>(Clock::now() - start).count();
  };
  int64_t done = 0;
  float alone =
      sleeperCount.load(std::memory_order_relaxed) > 0 ? kAloneNanoseconds : kAloneNanosecondsHot;
  float perProgram = estimate.load(std::memory_order_relaxed);
  if (perProgram > 0 && perProgram * static_cast<float>(programCount) < alone) {
    // Expected to be short. Should it not be (the same kernel on more data), help is asked for
    // then.
    while (done < programCount && elapsed() < alone) {
      int64_t chunk = std::max<int64_t>(1, (programCount - done) / 4);
      if (!body(context, done, done + chunk))
        return;
      done += chunk;
    }
    if (done == programCount) {
      estimate.store(elapsed() / static_cast<float>(programCount), std::memory_order_relaxed);
      return;
    }
  }

  int64_t left = programCount - done;
  unsigned participants = static_cast<unsigned>(std::min<int64_t>(limit, left));
  Launch launch{{done}, programCount, kShareDivisor * participants, body, context};
  Slot *mine = nullptr;
  for (Slot &slot : slots) {
    if (!slot.isTaken.load(std::memory_order_relaxed) && !slot.isTaken.exchange(true)) {
      mine = &slot;
      slot.launch.store(&launch);
      break;
    }
  }
  if (mine && participants > 1)
    wake(participants - 1);
  launch.work();
  if (mine) {
    mine->launch.store(nullptr);
    for (unsigned spins = 0; mine->userCount.load() != 0; ++spins) {
      if (spins < 20'000) {
        pause();
        continue;
      }
      ::sched_yield();
      if (waiting)
        waiting(context);
    }
    mine->isTaken.store(false, std::memory_order_release);
  }
  // Time of one thread per program, by which the next launch is judged; close enough.
  float spent = elapsed() * static_cast<float>(std::min<unsigned>(participants, 2));
  estimate.store(spent / static_cast<float>(programCount), std::memory_order_relaxed);
}

} // namespace sectile::cpu
