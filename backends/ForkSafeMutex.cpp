#include "backends/ForkSafeMutex.h"

#include <atomic>
#include <pthread.h>

namespace sectile {

/// One per process, as pthread_atfork is. Never destroyed: mutexes may outlive static destructors.
struct ForkRegistry {
  std::mutex mutex;
  ForkSafeMutex *first = nullptr;
  std::atomic<uint64_t> generation{0};

  static ForkRegistry &instance() {
    static ForkRegistry *registry = [] {
      auto *made = new ForkRegistry;
      pthread_atfork([] { instance().prepare(); }, [] { instance().release(); },
                     [] {
                       instance().generation.fetch_add(1, std::memory_order_relaxed);
                       instance().release();
                     });
      return made;
    }();
    return *registry;
  }
  void prepare() {
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

ForkSafeMutex::ForkSafeMutex() {
  ForkRegistry::instance().add(this);
}
ForkSafeMutex::~ForkSafeMutex() {
  ForkRegistry::instance().remove(this);
}

uint64_t forkGeneration() {
  return ForkRegistry::instance().generation.load(std::memory_order_relaxed);
}

} // namespace sectile
