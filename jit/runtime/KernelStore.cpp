#include "jit/runtime/KernelStore.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace sectile::jit {

struct KernelStore::Flight {
  std::mutex mutex;
  std::condition_variable finished;
  bool isFinished = false;
  std::shared_ptr<const Kernel> kernel;
  std::optional<Error> error;
  /// The function to record threw, or reading was interrupted: each of the others tries for itself.
  bool isOwnersAlone = false;
  const std::thread::id owner = std::this_thread::get_id();
  const uint64_t generation = forkGeneration();
};

bool isCurrent(const std::vector<RecordedRead> &reads, const KernelRequest &request) {
  return reads.empty() || (request.reads && request.reads->hold(reads));
}

std::optional<Error> interruptionOf(const KernelRequest &request) {
  if (!request.reads || !request.reads->wasInterrupted())
    return std::nullopt;
  return Error{
      Error::Kind::Interrupted, request.signature.kernelName + ": interrupted", {}, {}, {}, -1};
}

KernelStore::Taken KernelStore::take(const std::string &key, const KernelRequest &request) {
  std::shared_ptr<Flight> flight;
  for (;;) {
    // What was waited for holds its kernel: found now, or unloaded with it, outside of the lock.
    std::shared_ptr<Flight> waited = std::exchange(flight, nullptr);
    std::shared_ptr<const Kernel> kernel;
    Remembered remembered;
    {
      std::lock_guard lock(mutex);
      auto found = memory.find(key);
      if (found != memory.end())
        kernel = found->second.kernel.lock();
      if (kernel) {
        remembered = found->second;
      } else {
        std::shared_ptr<Flight> &entry = flights[key];
        if (entry && entry->generation != forkGeneration()) {
          // The thread that compiled it is the parent's. Waiters are too: destroying what they wait
          // on would wait for them.
          new std::shared_ptr<Flight>(std::move(entry));
          entry = nullptr;
        }
        if (!entry) {
          entry = std::make_shared<Flight>();
          return {nullptr, std::nullopt, entry};
        }
        flight = entry;
      }
    }
    if (kernel) {
      if (remembered.isOf(*kernel, request) && isCurrent(remembered.reads, request)) {
        std::shared_ptr<const Kernel> dropped; // unloaded outside of the lock
        std::lock_guard lock(mutex);
        dropped = recent.touch(kernel);
        return {std::move(kernel), std::nullopt, nullptr};
      }
      if (std::optional<Error> interruption = interruptionOf(request))
        return {nullptr, std::move(interruption), nullptr};
      std::lock_guard lock(mutex);
      if (auto found = memory.find(key);
          found != memory.end() && found->second.kernel.lock() == kernel)
        memory.erase(found);
      continue;
    }
    if (flight->owner == std::this_thread::get_id())
      return {nullptr,
              Error{Error::Kind::Call,
                    request.signature.kernelName +
                        ": launched while this very variant is being compiled",
                    "do not launch a kernel from code that runs at compile time",
                    {},
                    {},
                    -1},
              nullptr};
    std::unique_lock wait(flight->mutex);
    flight->finished.wait(wait, [&] { return flight->isFinished; });
    if (flight->error && !flight->isOwnersAlone)
      return {nullptr, flight->error, nullptr};
    // In memory now; looked at again for what it read.
  }
}

void KernelStore::finish(const std::string &key, const std::shared_ptr<Flight> &flight,
                         const KernelResult &result) {
  {
    std::lock_guard lock(mutex);
    flights.erase(key);
  }
  std::lock_guard lock(flight->mutex);
  flight->isFinished = true;
  flight->kernel = result.kernel;
  if (!result.status.ok())
    flight->error = result.status.error();
  flight->isOwnersAlone =
      result.functionThrew || (flight->error && flight->error->kind == Error::Kind::Interrupted);
  flight->finished.notify_all();
}

std::shared_ptr<const Kernel> KernelStore::find(const std::string &key) const {
  std::lock_guard lock(mutex);
  auto found = memory.find(key);
  return found == memory.end() ? nullptr : found->second.kernel.lock();
}

void KernelStore::remember(const std::string &key, const std::shared_ptr<const Kernel> &kernel,
                           std::vector<RecordedRead> reads, std::vector<std::string> sourceFiles) {
  std::shared_ptr<const Kernel> dropped; // unloaded outside of the lock
  std::lock_guard lock(mutex);
  memory.insert_or_assign(key, Remembered{kernel, std::move(reads), std::move(sourceFiles)});
  dropped = recent.touch(kernel);
  if (memory.size() < sweepAt)
    return;
  std::erase_if(memory, [](const auto &entry) { return entry.second.kernel.expired(); });
  sweepAt = 2 * memory.size() + 1024;
}

void KernelStore::clear() {
  std::list<std::shared_ptr<const Kernel>> dropped; // unloaded outside of the lock
  std::lock_guard lock(mutex);
  memory.clear();
  dropped = recent.takeAll();
}

} // namespace sectile::jit
