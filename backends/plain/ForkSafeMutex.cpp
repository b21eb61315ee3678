#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <ctime>
#include <pthread.h>
#include <utility>

namespace sectile {
namespace {

constexpr time_t kForkPatienceSeconds = 5;
/// Shields of the calling thread.
thread_local int shieldCount = 0;

} // namespace

/// One per process, as pthread_atfork is. Never destroyed: mutexes may outlive static destructors.
struct ForkRegistry {
  std::mutex mutex;
  ForkSafeMutex *first = nullptr;
  std::atomic<uint64_t> generation{0};
  /// Shared by those with a shield, exclusive for a fork.
  pthread_rwlock_t gate;
  bool isGateClosed = false;

  static ForkRegistry &instance() {
    static ForkRegistry *registry = [] {
      auto *made = new ForkRegistry;
      made->makeGate();
      pthread_atfork([] { instance().prepare(); },
                     [] {
                       instance().release();
                       instance().openGate();
                     },
                     [] {
                       instance().generation.fetch_add(1, std::memory_order_relaxed);
                       instance().release();
                       // Threads that waited at the gate are the parent's: another one.
                       instance().openGate();
                       pthread_rwlock_destroy(&instance().gate);
                       instance().makeGate();
                     });
      return made;
    }();
    return *registry;
  }
  void makeGate() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    // Else threads that load one kernel after the other keep a fork waiting.
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&gate, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    isGateClosed = false;
  }
  void closeGate() {
    if (shieldCount > 0) // the forking thread's own
      return;
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kForkPatienceSeconds;
    isGateClosed = pthread_rwlock_timedwrlock(&gate, &until) == 0;
  }
  void openGate() {
    if (std::exchange(isGateClosed, false))
      pthread_rwlock_unlock(&gate);
  }
  void prepare() {
    closeGate();
    mutex.lock();
    for (ForkSafeMutex *entry = first; entry; entry = entry->next)
      entry->mutex.lock();
  }
  void release() {
    for (ForkSafeMutex *entry = first; entry; entry = entry->next)
      entry->mutex.unlock();
    mutex.unlock();
  }
  void add(ForkSafeMutex *entry) {
    std::lock_guard lock(mutex);
    entry->next = first;
    if (first)
      first->previous = entry;
    first = entry;
  }
  void remove(ForkSafeMutex *entry) {
    std::lock_guard lock(mutex);
    if (entry->next)
      entry->next->previous = entry->previous;
    (entry->previous ? entry->previous->next : first) = entry->next;
  }
};

/// Made with the library, not by whichever thread comes first: another may fork then.
[[maybe_unused]] static const ForkRegistry &madeAtStart = ForkRegistry::instance();

ForkSafeMutex::ForkSafeMutex() {
  ForkRegistry::instance().add(this);
}
ForkSafeMutex::~ForkSafeMutex() {
  ForkRegistry::instance().remove(this);
}

ForkShield::ForkShield() : generation(forkGeneration()) {
  if (shieldCount++ == 0)
    pthread_rwlock_rdlock(&ForkRegistry::instance().gate);
}
ForkShield::~ForkShield() {
  // The gate of a child is another than the one that its parent's thread went through.
  if (--shieldCount == 0 && generation == forkGeneration())
    pthread_rwlock_unlock(&ForkRegistry::instance().gate);
}

uint64_t forkGeneration() {
  return ForkRegistry::instance().generation.load(std::memory_order_relaxed);
}

} // namespace sectile
