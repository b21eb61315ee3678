//===-- RuntimeState.h - what a Runtime is made of --------------------------------------------===//
// Runtime.cpp is the door; FindKernel.cpp looks for a kernel in memory, on disk and in layers;
// CompileVariant.cpp makes one. Of the mutexes in here and in the parts a thread holds one at a
// time.
#pragma once

#include "backends/plain/ForkSafeMutex.h"
#include "jit/cache/CacheKey.h"
#include "jit/cache/DiskCache.h"
#include "jit/launch/PrintTarget.h"
#include "jit/runtime/Drivers.h"
#include "jit/runtime/KernelStore.h"
#include "jit/runtime/Runtime.h"
#include "jit/runtime/RuntimeSettings.h"
#include "jit/runtime/VariantHistory.h"

#include <chrono>
#include <mutex>
#include <set>

namespace sectile::jit {

/// A variant that is wanted, and where it is looked for.
struct Wanted {
  const KernelRequest &request;
  /// The source key; empty when the source has no digest.
  const std::string &key;
  const KeyContext &context;
  backends::Driver &driver;
};

struct Runtime::State {
  explicit State(RuntimeOptions given)
      : options(std::move(given)), settings(readSettings(options, nullptr)),
        drivers(settings->knobs, options), store(options.recentKernels),
        loadedCompiler(options.compiler) {}

  std::shared_ptr<const Settings> now() const {
    std::lock_guard lock(mutex);
    return settings;
  }
  /// Returns what is refused; nothing changes then.
  std::vector<std::string> reconfigure();
  std::string buildId() const {
    return options.compiler ? options.compiler->buildId() : jit::Runtime::buildId();
  }
  std::shared_ptr<Compiler> compiler(Status &status);
  bool isSealedNow();
  void report(const KernelRequest &request, const KernelResult &result,
              const std::string &cacheMiss, double seconds);
  /// What is wrong with the settings and the cache folder, when it is looked at for the first time.
  void warnOnce();
  void warnOnceOf(const std::string &notice);

  // FindKernel.cpp
  KernelResult get(const KernelRequest &request);
  std::shared_ptr<const Kernel> findIr(const std::string &key, const KeyContext &context,
                                       backends::Driver &driver);
  /// Null with `status` set. `made` gives its times and warnings to the kernel.
  std::shared_ptr<Kernel> load(backends::KernelImage image, backends::Driver &driver,
                               Status &status, CompileResult *made = nullptr);
  /// How the kernel was made, and the entry of the disk cache it belongs to.
  static void setOrigin(Kernel &kernel, Provenance made, std::string key,
                        const KeyContext &context);

  // CompileVariant.cpp
  KernelResult compile(const Wanted &wanted, const std::string &cacheMiss, double cacheSeconds = 0);

  const RuntimeOptions options;
  mutable ForkSafeMutex mutex;
  std::shared_ptr<const Settings> settings; // guarded by `mutex`
  const std::shared_ptr<PrintTarget> printTarget = std::make_shared<PrintTarget>();
  Drivers drivers;
  KernelStore store;

  // Guarded by `mutex`:
  DiskCache::Counts retired; // of disk caches that were in use before
  std::shared_ptr<Compiler> loadedCompiler;
  RuntimeStatistics counts;
  CompileListener compileListener;
  bool isSealed = false;
  bool hasWarned = false;
  std::set<std::string> noticed; // what has been warned of

  VariantHistory history;

  std::mutex reconfiguring; // one at a time, under a ForkShield
  std::mutex compilerMutex; // held while the library is loaded, under a ForkShield

private:
  KernelResult find(const Wanted &wanted);
  std::optional<KernelResult> take(DiskCache::Found found, const Wanted &wanted,
                                   double lookSeconds = 0);
  std::optional<KernelResult> findDeviceless(const Wanted &wanted);
  KernelResult noted(const KernelRequest &request, KernelResult result);
};

using Clock = std::chrono::steady_clock;
inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace sectile::jit
