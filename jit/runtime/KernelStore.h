//===-- KernelStore.h - kernels in memory, and those that are being made ----------------------===//
// By key: source keys and IR keys. A kernel is found as long as a reference to it lives, or it is
// among the latest (RecentKernels). Of the threads that request a missing one, only one makes it:
//
//   KernelStore::Taken taken = store.take(key, request);
//   if (taken.kernel) ...                        // in memory, or made by the thread waited for
//   if (taken.error) ...                         // that thread failed
//   store.finish(key, taken.flight, result);     // else this thread makes it, and says what came out
#pragma once

#include "backends/plain/ForkSafeMutex.h"
#include "jit/runtime/RecentKernels.h"
#include "jit/runtime/Runtime.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sectile::jit {

/// Whether everything that was read is as it was.
bool isCurrent(const std::vector<RecordedRead> &reads, const KernelRequest &request);
/// The error of a request whose reading was interrupted; nullopt when it was not interrupted.
std::optional<Error> interruptionOf(const KernelRequest &request);

class KernelStore {
public:
  explicit KernelStore(size_t recentKernels) : recent(recentKernels) {}

  /// One compile under way; other threads that request the same variant wait for it.
  struct Flight;
  struct Taken {
    std::shared_ptr<const Kernel> kernel;
    std::optional<Error> error;
    /// The caller's to finish, when there is neither.
    std::shared_ptr<Flight> flight;
  };
  /// May wait for another thread.
  Taken take(const std::string &key, const KernelRequest &request);
  void finish(const std::string &key, const std::shared_ptr<Flight> &flight,
              const KernelResult &result);

  /// Whatever it read and its files; null when it is not in memory.
  std::shared_ptr<const Kernel> find(const std::string &key) const;
  void remember(const std::string &key, const std::shared_ptr<const Kernel> &kernel,
                std::vector<RecordedRead> reads, std::vector<std::string> sourceFiles);
  /// Forgets all kernels; those still referenced live on.
  void clear();

private:
  /// A kernel in memory as long as a reference to it lives, with what limits its use.
  struct Remembered {
    std::weak_ptr<const Kernel> kernel;
    std::vector<RecordedRead> reads;
    /// The files that its messages name.
    std::vector<std::string> sourceFiles;

    /// Two files with equal kernel text share code; each must report its own path.
    bool isOf(const Kernel &held, const KernelRequest &request) const {
      return held.image().trapSites.empty() || sourceFiles == request.sourceFiles;
    }
  };

  mutable ForkSafeMutex mutex;
  // Guarded by `mutex`:
  std::unordered_map<std::string, Remembered> memory;
  size_t sweepAt = 1024; // entries, those of kernels that are gone included
  RecentKernels recent;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
};

} // namespace sectile::jit
