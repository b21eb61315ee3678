#include "jit/runtime/Runtime.h"

#include "backends/cpu/Driver.h"
#include "backends/nvidia/Driver.h"
#include "backends/plain/ForkSafeMutex.h"
#include "jit/BuildId.h"
#include "jit/cache/CacheKey.h"
#include "jit/cache/DiskCache.h"
#include "jit/launch/PrintTarget.h"
#include "jit/runtime/CompileEvent.h"
#include "jit/runtime/CompilerLoader.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/RecentKernels.h"
#include "jit/runtime/RuntimeSettings.h"
#include "jit/runtime/ThreadEnd.h"
#include "jit/runtime/TimeTable.h"
#include "jit/runtime/VariantHistory.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <set>
#include <thread>
#include <unordered_map>

namespace sectile::jit {
namespace {

/// A kernel in memory as long as somebody holds it, with what it is good for.
struct Remembered {
  std::weak_ptr<const Kernel> kernel;
  std::vector<RecordedRead> reads;
  /// That its messages name.
  std::vector<std::string> sourceFiles;

  /// Messages of a kernel of one text, loaded from two places, name their own.
  bool isOf(const Kernel &held, const KernelRequest &request) const {
    return held.image().trapSites.empty() || sourceFiles == request.sourceFiles;
  }
};

bool isCurrent(const std::vector<RecordedRead> &reads, const KernelRequest &request) {
  return reads.empty() || (request.reads && request.reads->hold(reads));
}

std::atomic<Runtime *> &startedRuntime() {
  static std::atomic<Runtime *> started{nullptr};
  return started;
}

void warn(const std::string &text) {
  std::fprintf(stderr, "sectile: warning: %s\n", text.c_str());
}

bool checksBounds(const backends::KernelImage &image) {
  for (const backends::TrapSite &site : image.trapSites)
    if (site.kind != backends::TrapSite::Kind::Assertion)
      return true;
  return false;
}

bool meetsHazard(const backends::KernelImage &image,
                 const std::vector<backends::ArgumentOverlap> &overlaps) {
  for (const backends::ArgumentOverlap &overlap : overlaps)
    for (const backends::OverlapHazard &hazard : image.overlapHazards)
      if (std::minmax<uint32_t>(hazard.written, hazard.other) ==
              std::minmax<uint32_t>(overlap.first, overlap.second) &&
          (hazard.evenIfSame || !overlap.isSame))
        return true;
  return false;
}

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

/// One compile under way; others who want the same variant wait for it.
struct Flight {
  std::mutex mutex;
  std::condition_variable finished;
  bool isFinished = false;
  std::shared_ptr<const Kernel> kernel;
  std::optional<Error> error;
  /// The function to record threw: of the others each records it, and gets what it throws.
  bool functionThrew = false;
  const std::thread::id owner = std::this_thread::get_id();
  const uint64_t generation = forkGeneration();
};

struct Runtime::State {
  State(RuntimeOptions given)
      : options(std::move(given)), settings(readSettings(options, nullptr)),
        cpuDriver(cpu::createDriver(driverSettings(settings->knobs, options).threadCount,
                                    settings->knobs.printElements)),
        cudaDriver(nvidia::createDriver(cudaOptions(settings->knobs, options))),
        recent(options.recentKernels), loadedCompiler(options.compiler) {}

  std::shared_ptr<const Settings> now() const {
    std::lock_guard lock(mutex);
    return settings;
  }
  std::vector<std::string> reconfigure();

  KernelResult get(const KernelRequest &request);
  KernelResult find(const KernelRequest &request, const std::string &key, const KeyContext &context,
                    backends::Driver &driver);
  KernelResult compile(const KernelRequest &request, const std::string &key,
                       const KeyContext &context, backends::Driver &driver,
                       const std::string &cacheMiss, double cacheSeconds = 0);
  std::optional<KernelResult> take(DiskCache::Found found, const KernelRequest &request,
                                   const std::string &key, const KeyContext &context,
                                   backends::Driver &driver, double lookSeconds = 0);
  std::optional<KernelResult> findDeviceless(const KernelRequest &request, const std::string &key,
                                             const KeyContext &context, backends::Driver &driver);
  void report(const KernelRequest &request, const KernelResult &result,
              const std::string &cacheMiss, double seconds);
  KernelResult noted(const KernelRequest &request, KernelResult result);
  bool isSealedNow();
  std::shared_ptr<Kernel> load(backends::KernelImage image, backends::Driver &driver,
                               Status &status, CompileResult *made = nullptr);
  std::shared_ptr<const Kernel> findIr(const std::string &key, const KeyContext &context,
                                       backends::Driver &driver);
  void remember(const std::string &key, const std::shared_ptr<const Kernel> &kernel,
                std::vector<RecordedRead> reads, std::vector<std::string> sourceFiles);
  backends::Driver *driver(const std::string &name);
  std::string buildId() const {
    return options.compiler ? options.compiler->buildId() : jit::buildId();
  }
  std::shared_ptr<Compiler> compiler(Status &status);
  void warnOnce();
  void warnOnceOf(const std::string &notice);

  const RuntimeOptions options;
  mutable ForkSafeMutex mutex;
  std::shared_ptr<const Settings> settings; // guarded by `mutex`, as what is listed below it
  const std::shared_ptr<PrintTarget> printTarget = std::make_shared<PrintTarget>();
  const std::unique_ptr<backends::Driver> cpuDriver, cudaDriver;

  // Guarded by `mutex`:
  DiskCache::Counts retired;                          // of disk caches that were in use before
  std::unordered_map<std::string, Remembered> memory; // by source key and by IR key
  size_t sweepAt = 1024;                              // entries of kernels that are gone
  RecentKernels recent;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
  std::shared_ptr<Compiler> loadedCompiler;
  RuntimeStatistics counts;
  CompileListener compileListener;
  bool isSealed = false;
  bool hasWarned = false;
  std::set<std::string> noticed; // what has been warned of

  VariantHistory history; // has a mutex of its own

  std::mutex reconfiguring; // one at a time, under a ForkShield
  std::mutex compilerMutex; // held while the library is loaded, under a ForkShield
};

Runtime::Runtime(RuntimeOptions options) : state(std::make_unique<State>(std::move(options))) {
  publishSettings();
}
Runtime::~Runtime() = default;

Runtime &Runtime::instance() {
  if (Runtime *runtime = startedRuntime().load(std::memory_order_acquire)) [[likely]]
    return *runtime;
  // A child that is forked while another thread makes it would wait for that thread.
  ForkShield shield;
  // Never destroyed: threads may launch while static destructors run.
  static Runtime *runtime = [] {
    auto *made = new Runtime;
    startedRuntime().store(made, std::memory_order_release);
    return made;
  }();
  return *runtime;
}

Runtime *Runtime::ifStarted() {
  return startedRuntime().load(std::memory_order_acquire);
}

std::vector<std::string> Runtime::reconfigure() {
  std::vector<std::string> refused = state->reconfigure();
  publishSettings();
  std::shared_ptr<const Settings> held = state->now();
  stagesAsked = held->readsDisk && !held->knobs.keepStages ? 0 : ++lastGeneration;
  return refused;
}

void Runtime::publishSettings() {
  std::shared_ptr<const Settings> held = state->now();
  const Knobs &knobs = held->knobs;
  atLaunch = LaunchDefaults{knobs.checkBounds, knobs.checkStrides, knobs.debug};
}

std::vector<std::string> Runtime::State::reconfigure() {
  // One at a time: the drivers must be set as the last of them says.
  ForkShield shield;
  std::lock_guard oneByOne(reconfiguring);
  std::shared_ptr<const Settings> before = now(), next = readSettings(options, before.get());
  std::vector<std::string> refused;
  for (const std::string &problem : next->knobs.problems)
    if (std::find(before->knobs.problems.begin(), before->knobs.problems.end(), problem) ==
        before->knobs.problems.end())
      refused.push_back(problem);
  if (next->knobs.compilerLibrary != before->knobs.compilerLibrary && !options.compiler) {
    std::lock_guard lock(mutex);
    if (loadedCompiler)
      refused.push_back("SECTILE_COMPILER_LIBRARY: the compiler library is loaded, and a process "
                        "has one: set it before the first kernel is compiled");
  }
  if (!refused.empty())
    return refused;
  backends::DriverSettings wanted = driverSettings(next->knobs, options);
  cpuDriver->configure(wanted);
  cudaDriver->configure(wanted);
  DiskCache::Counts counts = before->disk->counts();
  std::list<std::shared_ptr<const Kernel>> dropped; // unloaded outside of the lock
  std::lock_guard lock(mutex);
  if (!next->readsDisk) { // nor memory, of what was compiled before
    memory.clear();
    dropped = recent.takeAll();
  }
  if (next->disk != before->disk) {
    add(counts, retired);
    hasWarned = false;
  }
  settings = std::move(next);
  return {};
}

KernelResult Runtime::getKernel(const KernelRequest &given) {
  std::optional<KernelRequest> completed;
  if (given.options.backend != "cpu")
    if (backends::Driver *target = state->driver(given.options.backend)) {
      completed = given;
      target->completeOptions(completed->options);
    }
  const KernelRequest &request = completed ? *completed : given;
  KernelResult result = state->get(request);
  if (!result.kernel || !meetsHazard(result.kernel->image(), request.overlaps))
    return result;
  KernelRequest careful = request;
  careful.options.argumentsOverlap = true;
  return state->get(careful);
}

backends::CompileOptions Runtime::defaultOptions() const {
  backends::CompileOptions result;
  LaunchDefaults asked = launchDefaults();
  result.checkBounds = asked.checkBounds;
  result.debug = asked.debug;
  return result;
}

std::string Runtime::problemOf(const backends::KernelOptions &options) {
  return options.problem();
}

void Runtime::seal() {
  std::lock_guard lock(state->mutex);
  state->isSealed = true;
}

void Runtime::setCompileListener(CompileListener listener) {
  CompileListener previous; // destroyed outside of the lock
  std::lock_guard lock(state->mutex);
  previous = std::exchange(state->compileListener, std::move(listener));
}

bool Runtime::recordMeasurement(const Kernel &kernel, double seconds) {
  if (kernel.key.empty())
    return false;
  std::shared_ptr<DiskCache> disk = state->now()->disk;
  DiskCache::Found found = disk->look(kernel.key, state->buildId(), kernel.hostFingerprint);
  if (!found.entry || found.isFromLayer)
    return false;
  found.entry->provenance.measuredSeconds = seconds;
  disk->store(*found.entry);
  return true;
}

void Runtime::setInterruptCheck(backends::InterruptCheck check) {
  state->cpuDriver->setInterruptCheck(check);
}

void Runtime::setPrintHandler(backends::PrintHandler handler) {
  state->printTarget->set(std::move(handler));
}

RuntimeStatistics Runtime::statistics() const {
  std::shared_ptr<DiskCache> current = state->now()->disk;
  DiskCache::Counts disk = current->counts();
  std::string disabled = current->disabledReason();
  std::lock_guard lock(state->mutex);
  add(state->retired, disk);
  RuntimeStatistics result = state->counts;
  result.diskMisses = std::move(disk.misses);
  result.diskWrites = disk.writes;
  result.diskWriteFailures = disk.writeFailures;
  result.diskWaits = disk.waits;
  result.evictedFiles = disk.evictedFiles;
  result.diskDisabled = disabled.empty() ? disk.writesDisabled : disabled;
  result.cacheDirectory = current->directory();
  return result;
}

void Runtime::clearMemory() {
  std::list<std::shared_ptr<const Kernel>> dropped; // unloaded outside of the lock
  std::lock_guard lock(state->mutex);
  state->memory.clear();
  dropped = state->recent.takeAll();
}

Compiler *Runtime::compiler(Status &status) {
  return state->compiler(status).get();
}
std::string Runtime::buildId() {
  return jit::buildId();
}
backends::Driver *Runtime::driver(const std::string &backend) {
  return state->driver(backend);
}

backends::Driver *Runtime::State::driver(const std::string &name) {
  return name == "cpu" ? cpuDriver.get() : name == "cuda" ? cudaDriver.get() : nullptr;
}

std::shared_ptr<Compiler> Runtime::State::compiler(Status &status) {
  // No child finds the library half loaded, nor the mutex locked.
  ForkShield shield;
  std::lock_guard loading(compilerMutex);
  {
    std::lock_guard lock(mutex);
    if (loadedCompiler)
      return loadedCompiler;
  }
  std::string library =
      options.compilerLibrary.empty() ? now()->knobs.compilerLibrary : options.compilerLibrary;
  std::shared_ptr<Compiler> loaded = loadCompiler(library, status);
  std::lock_guard lock(mutex);
  loadedCompiler = loaded;
  return loaded;
}

void Runtime::State::warnOnce() {
  {
    std::lock_guard lock(mutex);
    if (std::exchange(hasWarned, true))
      return;
  }
  std::shared_ptr<const Settings> held = now();
  DiskCache &disk = *held->disk;
  for (const std::vector<std::string> *list : {&held->knobs.problems, &held->knobs.unknown})
    for (const std::string &problem : *list)
      warn(problem);
  if (std::string reason = disk.disabledReason(); !reason.empty() && !disk.directory().empty())
    warn(reason);
  for (const std::string &reason : disk.refusedLayers())
    warn(reason);
}

void Runtime::State::warnOnceOf(const std::string &notice) {
  {
    std::lock_guard lock(mutex);
    constexpr size_t kMost = 1000; // no process needs to hear more
    if (noticed.size() >= kMost || !noticed.insert(notice).second)
      return;
  }
  warn(notice);
}

/// Finds the kernel in memory, or waits for the thread that is making it, or makes it.
KernelResult Runtime::State::get(const KernelRequest &request) {
  KernelResult result;
  backends::Driver *target = driver(request.options.backend);
  if (!target) {
    result.status =
        Status::fail(Error::Kind::Call, "backend: there is no '" + request.options.backend + "'",
                     "use 'cpu' or 'cuda'");
    return result;
  }
  KeyContext context;
  context.buildId = buildId();
  context.hostFingerprint = target->hostFingerprint();
  context.wantStages = request.wantStages || now()->knobs.keepStages;
  if (request.sourceDigest.empty())
    return noted(request, compile(request, {}, context, *target, "found by its IR only"));

  std::string key = sourceKey(request.sourceDigest, request.signature, request.options, context);
  std::shared_ptr<Flight> flight;
  for (;;) {
    // What was waited for holds its kernel: found now, or unloaded with it, outside of the lock.
    std::shared_ptr<Flight> waited = std::move(flight);
    std::shared_ptr<const Kernel> kernel;
    Remembered remembered;
    bool isOwner = false;
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
          isOwner = true;
        }
        flight = entry;
      }
    }
    if (isOwner)
      break;
    if (kernel) {
      if (remembered.isOf(*kernel, request) && isCurrent(remembered.reads, request)) {
        std::shared_ptr<const Kernel> dropped; // unloaded outside of the lock
        std::lock_guard lock(mutex);
        ++counts.memoryHits;
        dropped = recent.touch(kernel);
        result.kernel = std::move(kernel);
        result.origin = KernelResult::Origin::Memory;
        return result;
      }
      std::lock_guard lock(mutex);
      if (auto found = memory.find(key);
          found != memory.end() && found->second.kernel.lock() == kernel)
        memory.erase(found);
      continue;
    }
    if (flight->owner == std::this_thread::get_id()) {
      result.status = Status::fail(Error::Kind::Call,
                                   request.signature.kernelName +
                                       ": launched while this very variant is being compiled",
                                   "do not launch a kernel from code that runs at compile time");
      return result;
    }
    std::unique_lock wait(flight->mutex);
    flight->finished.wait(wait, [&] { return flight->isFinished; });
    if (flight->error && !flight->functionThrew) {
      result.status = Status(*flight->error);
      return result;
    }
    // In memory now; looked at again for what it read.
  }

  result = find(request, key, context, *target);
  {
    std::lock_guard lock(mutex);
    flights.erase(key);
  }
  std::lock_guard finish(flight->mutex);
  flight->isFinished = true;
  flight->kernel = result.kernel;
  flight->functionThrew = result.functionThrew;
  if (!result.status.ok())
    flight->error = result.status.error();
  flight->finished.notify_all();
  return result;
}

/// What was found on disk, loaded; nullopt when it cannot be used.
std::optional<KernelResult> Runtime::State::take(DiskCache::Found found,
                                                 const KernelRequest &request,
                                                 const std::string &key, const KeyContext &context,
                                                 backends::Driver &driver, double lookSeconds) {
  if (!found.entry)
    return std::nullopt;
  auto start = Clock::now();
  std::shared_ptr<const Settings> held = now();
  DiskCache &disk = *held->disk;
  CacheEntry &entry = *found.entry;
  if (!isCurrent(entry.reads, request)) {
    disk.countMiss("a dependency changed"); // replaced when compiled
    return std::nullopt;
  }
  relocate(entry, request.sourceFiles);
  Status status;
  std::shared_ptr<Kernel> kernel = load(std::move(entry.image), driver, status);
  if (!kernel) {
    disk.countMiss("does not load");
    return std::nullopt;
  }
  kernel->made = std::move(entry.provenance);
  kernel->key = key;
  kernel->hostFingerprint = context.hostFingerprint;
  remember(key, kernel, std::move(entry.reads), request.sourceFiles);
  KernelResult result;
  result.kernel = std::move(kernel);
  result.origin = KernelResult::Origin::Disk;
  if (held->isTimed())
    addCacheHitToTotals(lookSeconds + secondsSince(start));
  std::lock_guard lock(mutex);
  ++counts.diskHits;
  counts.layerHits += found.isFromLayer;
  return result;
}

/// An entry made where there was no device. Code that is not assembled yet is now, and kept.
std::optional<KernelResult> Runtime::State::findDeviceless(const KernelRequest &request,
                                                           const std::string &key,
                                                           const KeyContext &context,
                                                           backends::Driver &driver) {
  KeyContext there = context;
  backends::CompileOptions thereOptions = request.options;
  there.hostFingerprint = driver.deviceless(thereOptions);
  if (there.hostFingerprint.empty())
    return std::nullopt;
  std::shared_ptr<DiskCache> cache = now()->disk;
  DiskCache &disk = *cache;
  std::string thereKey = sourceKey(request.sourceDigest, request.signature, thereOptions, there);
  DiskCache::Found found = disk.look(thereKey, there.buildId, there.hostFingerprint);
  if (!found.entry || driver.isFinished(found.entry->image))
    return take(std::move(found), request, thereKey, there, driver);
  backends::LaunchFailure failure;
  if (isSealedNow() || !isCurrent(found.entry->reads, request) ||
      !driver.finish(found.entry->image, failure))
    return std::nullopt;
  found.entry->sourceKey = key;
  found.entry->irKey.clear();
  found.entry->hostFingerprint = context.hostFingerprint;
  disk.store(*found.entry);
  return take(std::move(found), request, key, context, driver);
}

/// On disk, or compiled; by this process or by another that is at it.
KernelResult Runtime::State::find(const KernelRequest &request, const std::string &key,
                                  const KeyContext &context, backends::Driver &driver) {
  warnOnce();
  auto start = Clock::now();
  std::shared_ptr<const Settings> held = now(); // outlives the claim
  DiskCache &disk = *held->disk;
  if (!held->readsDisk)
    return noted(request, compile(request, key, context, driver, "every stage is wanted"));
  DiskCache::Found found = disk.load(key, context.buildId, context.hostFingerprint);
  std::string miss = found.miss.empty() ? "not usable" : found.miss;
  double lookSeconds = secondsSince(start);
  if (auto result = take(std::move(found), request, key, context, driver, lookSeconds))
    return noted(request, std::move(*result));
  if (auto result = findDeviceless(request, key, context, driver))
    return noted(request, std::move(*result));
  if (isSealedNow())
    return noted(request, compile(request, key, context, driver, miss));
  std::unique_ptr<CacheClaim> claim = disk.claim(key);
  while (claim->next() == CacheClaim::Answer::LookAgain) {
    if (claim->hasWaited())
      disk.countWait();
    if (auto result = take(disk.look(key, context.buildId, context.hostFingerprint), request, key,
                           context, driver))
      return noted(request, std::move(*result));
  }
  return noted(request, compile(request, key, context, driver, miss, secondsSince(start)));
}

/// A variant that was not in memory, with what sets it apart; the history knows it from here on.
KernelResult Runtime::State::noted(const KernelRequest &request, KernelResult result) {
  if (result.reason.empty())
    result.reason =
        history.compare(request.sourceDigest, request.signature, request.options).text();
  if (result.kernel)
    history.add(request.sourceDigest, request.signature, request.options);
  return result;
}

bool Runtime::State::isSealedNow() {
  std::lock_guard lock(mutex);
  return isSealed;
}

void Runtime::State::report(const KernelRequest &request, const KernelResult &result,
                            const std::string &cacheMiss, double seconds) {
  CompileListener listener;
  {
    std::lock_guard lock(mutex);
    listener = compileListener;
  }
  const bool logs = now()->knobs.logsCompiles;
  if (!listener && !logs)
    return;
  CompileEvent event = CompileEvent::of(request, result, cacheMiss, seconds);
  if (logs)
    std::fprintf(stderr, "sectile: %s\n", event.text().c_str());
  if (listener)
    listener(event);
}

std::shared_ptr<const Kernel> Runtime::State::findIr(const std::string &key,
                                                     const KeyContext &context,
                                                     backends::Driver &driver) {
  std::shared_ptr<const Settings> held = now();
  if (!held->readsDisk) // nor memory: the later stages of each kernel are wanted
    return nullptr;
  {
    std::lock_guard lock(mutex);
    if (auto found = memory.find(key); found != memory.end())
      if (auto kernel = found->second.kernel.lock())
        return kernel;
  }
  DiskCache::Found found = held->disk->load(key, context.buildId, context.hostFingerprint);
  if (!found.entry)
    return nullptr;
  Status status;
  std::shared_ptr<Kernel> kernel = load(std::move(found.entry->image), driver, status);
  if (kernel)
    kernel->made = std::move(found.entry->provenance);
  return kernel;
}

/// `key` is empty when the source has no digest.
KernelResult Runtime::State::compile(const KernelRequest &request, const std::string &key,
                                     const KeyContext &context, backends::Driver &driver,
                                     const std::string &cacheMiss, double cacheSeconds) {
  std::shared_ptr<const Settings> held = now(); // outlives the claim
  DiskCache &disk = *held->disk;
  KernelResult result;
  double seconds = 0;
  bool isCompiling = false;
  auto fail = [&](Error error) {
    {
      std::lock_guard lock(mutex);
      ++counts.failedCompiles;
    }
    result.status = Status(std::move(error));
    if (isCompiling)
      report(request, result, cacheMiss, seconds);
    return std::move(result);
  };
  const std::string &name = request.signature.kernelName;
  bool sealed = isSealedNow();
  if (sealed && !key.empty())
    return fail(sealedError(history, request));
  if (hasThreadEnded())
    return fail(endedThreadError(name));
  result.reason = history.compare(request.sourceDigest, request.signature, request.options).text();
  auto entered = Clock::now();
  std::shared_ptr<Compiler> used = compiler(result.status);
  const double libraryLoading = secondsSince(entered);
  if (!used)
    return fail(std::move(result.status.error()));

  CompileRequest compileRequest;
  compileRequest.signature = request.signature;
  compileRequest.options = request.options;
  compileRequest.wantStages = context.wantStages;
  compileRequest.forkShield = [] { return std::make_shared<ForkShield>(); };
  if (Status made = request.makeCompileRequest(compileRequest); !made.ok())
    return fail(std::move(made.error()));
  std::shared_ptr<const Kernel> same;
  std::unique_ptr<CacheClaim> claim; // of a kernel that only its IR names
  compileRequest.hasIr = [&](const std::string &irDigest) {
    std::string secondKey = irKey(irDigest, request.options, context);
    same = findIr(secondKey, context, driver);
    if (same || !key.empty() || !held->readsDisk || sealed)
      return same != nullptr;
    claim = disk.claim(secondKey);
    while (!same && claim->next() == CacheClaim::Answer::LookAgain)
      same = findIr(secondKey, context, driver);
    return same != nullptr;
  };

  isCompiling = true;
  auto start = Clock::now();
  auto elapsed = [&] { return secondsSince(start); };
  markThread();
  CompileResult made = used->compile(compileRequest);
  markThread();
  seconds = elapsed();
  for (const std::string &notice : made.notices)
    warnOnceOf(notice);
  StepTimes times; // of SECTILE_TIME
  if (held->isTimed()) {
    times = made.times;
    if (libraryLoading > 1e-4) // the first compile of the process
      times.insert(times.begin(), {"load compiler", libraryLoading});
  }
  auto time = [&](const char *step, Clock::time_point from) {
    times.emplace_back(step, secondsSince(from));
  };

  CacheEntry entry;
  entry.buildId = context.buildId;
  entry.sourceKey = key;
  if (!made.irDigest.empty())
    entry.irKey = irKey(made.irDigest, request.options, context);
  entry.hostFingerprint = context.hostFingerprint;
  if (request.reads)
    entry.reads = request.reads->recorded();
  entry.sourceFiles = request.sourceFiles;
  entry.provenance = {request.sourceDigest, describe(request.signature), describe(request.options),
                      jit::version(),       std::time(nullptr),          seconds};
  if (same) {
    entry.image = same->image();
    // The same code, but what is said of it is said of other lines: a kernel object of its own.
    if (relocate(entry.image.remarks, made.places)) {
      Provenance provenance = same->provenance();
      std::shared_ptr<Kernel> here = load(entry.image, driver, result.status);
      if (!here)
        return fail(std::move(result.status.error()));
      here->made = std::move(provenance);
      here->key = key.empty() ? entry.irKey : key;
      here->hostFingerprint = context.hostFingerprint;
      same = std::move(here);
    }
    entry.provenance = same->provenance();
    entry.provenance.sourceDigest = request.sourceDigest;
    entry.provenance.variant = describe(request.signature);
    result.kernel = same;
    result.origin = KernelResult::Origin::SameIr;
  } else if (made.image) {
    if (sealed)
      return fail(sealedError(history, request));
    auto finishing = Clock::now();
    if (backends::LaunchFailure failure; !driver.finish(*made.image, failure)) {
      Status status = statusOf(std::move(failure));
      return fail(std::move(status.error()));
    }
    if (request.options.backend != "cpu") {
      made.times.emplace_back("assemble", secondsSince(finishing));
      time("assemble", finishing);
    }
    entry.image = *made.image;
    auto loading = Clock::now();
    std::shared_ptr<Kernel> kernel = load(std::move(*made.image), driver, result.status, &made);
    if (!kernel)
      return fail(std::move(result.status.error()));
    time("load", loading);
    entry.provenance.compileSeconds = seconds = elapsed();
    kernel->made = entry.provenance;
    kernel->key = key.empty() ? entry.irKey : key;
    kernel->hostFingerprint = context.hostFingerprint;
    result.kernel = std::move(kernel);
    result.origin = KernelResult::Origin::Compiled;
  } else if (!made.internalError.empty()) {
    return fail({Error::Kind::Internal, name + ": " + made.internalError,
                 "this is a fault of the compiler, not of the kernel", std::move(made.diagnostics),
                 std::move(made.reproducer), -1});
  } else if (!made.diagnostics.empty()) {
    std::string message = made.diagnostics.front().message;
    auto kind = made.isOutOfResources ? Error::Kind::Resources : Error::Kind::Kernel;
    return fail({kind, std::move(message), {}, std::move(made.diagnostics), {}, -1});
  } else if (!held->knobs.stopAfter.empty()) {
    return fail({Error::Kind::Machine,
                 name + ": compiling stopped after stage '" + held->knobs.stopAfter + "'",
                 "unset SECTILE_STOP_AFTER",
                 {},
                 {},
                 -1});
  } else if (compileRequest.trace) {
    result.functionThrew = true;
    return fail({Error::Kind::Kernel, name + ": its function threw an exception", {}, {}, {}, -1});
  } else {
    return fail({Error::Kind::Internal,
                 name + ": the compiler gave neither code nor a reason",
                 {},
                 {},
                 {},
                 -1});
  }

  auto storing = Clock::now();
  if (!key.empty() || result.origin == KernelResult::Origin::Compiled)
    disk.store(entry);
  if (held->isTimed()) {
    times.emplace_back("cache", cacheSeconds + secondsSince(storing));
    printTimeTable(
        name + " for " + targetOf(request.options) + " [" + describe(request.signature) + "]",
        times, cacheSeconds + secondsSince(entered), held->knobs.timing == Knobs::Timing::Passes);
  }
  if (!key.empty())
    remember(key, result.kernel, std::move(entry.reads), request.sourceFiles);
  if (!entry.irKey.empty())
    remember(entry.irKey, result.kernel, {}, {});
  {
    std::lock_guard lock(mutex);
    ++(same ? counts.sameIrHits : counts.compiles);
  }
  if (!same)
    report(request, result, cacheMiss, seconds);
  return result;
}

std::shared_ptr<Kernel> Runtime::State::load(backends::KernelImage image, backends::Driver &driver,
                                             Status &status, CompileResult *made) {
  std::shared_ptr<Kernel> kernel(new Kernel);
  kernel->kernelImage = std::move(image);
  kernel->print = printTarget;
  kernel->needsRanges = checksBounds(kernel->kernelImage);
  if (made) {
    kernel->times = std::move(made->times);
    kernel->compileWarnings = std::move(made->diagnostics);
  }
  backends::LaunchFailure failure;
  kernel->code = driver.load(kernel->kernelImage, failure);
  if (kernel->code)
    return kernel;
  status = statusOf(std::move(failure));
  return nullptr;
}

void Runtime::State::remember(const std::string &key, const std::shared_ptr<const Kernel> &kernel,
                              std::vector<RecordedRead> reads,
                              std::vector<std::string> sourceFiles) {
  std::shared_ptr<const Kernel> dropped; // unloaded outside of the lock
  std::lock_guard lock(mutex);
  memory.insert_or_assign(key, Remembered{kernel, std::move(reads), std::move(sourceFiles)});
  dropped = recent.touch(kernel);
  if (memory.size() < sweepAt)
    return;
  std::erase_if(memory, [](const auto &entry) { return entry.second.kernel.expired(); });
  sweepAt = 2 * memory.size() + 1024;
}

} // namespace sectile::jit
