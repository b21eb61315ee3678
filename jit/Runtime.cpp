#include "jit/Runtime.h"

#include "backends/ForkSafeMutex.h"
#include "backends/cpu/Driver.h"
#include "backends/nvidia/Driver.h"
#include "jit/BuildId.h"
#include "jit/CacheKey.h"
#include "jit/CompilerLoader.h"
#include "jit/DiskCache.h"
#include "jit/Knobs.h"
#include "jit/PrintTarget.h"
#include "jit/RecentKernels.h"
#include "jit/VariantHistory.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <thread>
#include <unordered_map>

namespace sectile::jit {
namespace {

/// A kernel in memory as long as somebody holds it, with what it is good for.
struct Remembered {
  std::weak_ptr<const Kernel> kernel;
  std::vector<RecordedDependency> dependencies;
  /// That its messages name.
  std::vector<std::string> sourceFiles;

  /// Messages of a kernel of one text, loaded from two places, name their own.
  bool isOf(const Kernel &held, const KernelRequest &request) const {
    return held.image().trapSites.empty() || sourceFiles == request.sourceFiles;
  }
};

bool isCurrent(const std::vector<RecordedDependency> &dependencies, const KernelRequest &request) {
  if (!request.currentValue)
    return true;
  for (const RecordedDependency &dependency : dependencies)
    if (request.currentValue(dependency) != dependency.value)
      return false;
  return true;
}

/// "cpu", "cuda:sm_90a".
std::string targetOf(const backends::CompileOptions &options) {
  return options.backend + (options.arch.empty() ? "" : ":" + options.arch);
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

nvidia::DriverOptions cudaOptions(const Knobs &knobs, const RuntimeOptions &options) {
  using Assembler = nvidia::DriverOptions::Assembler;
  nvidia::DriverOptions result;
  result.ptxas = knobs.ptxas;
  result.assembler = knobs.assembler == "driver"  ? Assembler::Driver
                     : knobs.assembler == "ptxas" ? Assembler::Ptxas
                     : knobs.assembler == "none"  ? Assembler::None
                                                  : Assembler::Automatic;
  result.printBufferBytes = knobs.printBufferBytes;
  result.printElements = knobs.printElements;
  result.api = options.cudaApi;
  return result;
}

} // namespace

std::string CompileEvent::text() const {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f ms", seconds * 1e3);
  std::string text = (succeeded ? "compiled " : "failed to compile ") + kernelName + " for " +
                     target + " in " + time + ": " + reason + " [" + variant;
  if (!options.empty())
    text += "; " + options;
  return text + "] (disk cache: " + cacheMiss + ")";
}

/// One compile under way; others who want the same variant wait for it.
struct Flight {
  std::mutex mutex;
  std::condition_variable finished;
  bool isFinished = false;
  std::shared_ptr<const Kernel> kernel;
  std::optional<Error> error;
  const std::thread::id owner = std::this_thread::get_id();
  const uint64_t generation = forkGeneration();
};

struct Runtime::State {
  State(RuntimeOptions given)
      : knobs(Knobs::fromEnvironment()), options(std::move(given)),
        disk({options.cacheDirectory ? *options.cacheDirectory
                                     : knobs.cacheDirectory.value_or(defaultCacheDirectory()),
              options.cacheBytes.value_or(knobs.cacheBytes),
              options.cacheLayers.value_or(knobs.cacheLayers),
              options.cacheWaitSeconds.value_or(double(knobs.cacheWaitSeconds))}),
        cpuDriver(cpu::createDriver(options.threadCount ? options.threadCount : knobs.threadCount,
                                    knobs.printElements)),
        cudaDriver(nvidia::createDriver(cudaOptions(knobs, options))),
        recent(options.recentKernels), loadedCompiler(options.compiler) {
    // Stages can be shown only by compiling.
    readsDisk = knobs.dumpStages.empty() && knobs.stopAfter.empty() && !knobs.timePasses &&
                !knobs.verifyEachPass;
  }

  KernelResult get(const KernelRequest &request);
  KernelResult find(const KernelRequest &request, const std::string &key, const KeyContext &context,
                    backends::Driver &driver);
  KernelResult compile(const KernelRequest &request, const std::string &key,
                       const KeyContext &context, backends::Driver &driver,
                       const std::string &cacheMiss);
  std::optional<KernelResult> take(DiskCache::Found found, const KernelRequest &request,
                                   const std::string &key, const KeyContext &context,
                                   backends::Driver &driver);
  std::optional<KernelResult> findDeviceless(const KernelRequest &request, const std::string &key,
                                             const KeyContext &context, backends::Driver &driver);
  void report(const KernelRequest &request, const KernelResult &result,
              const std::string &cacheMiss, double seconds);
  Error sealedError(const KernelRequest &request) const;
  KernelResult noted(const KernelRequest &request, KernelResult result);
  bool isSealedNow();
  std::shared_ptr<Kernel> load(backends::KernelImage image, backends::Driver &driver,
                               Status &status, CompileResult *made = nullptr);
  std::shared_ptr<const Kernel> findIr(const std::string &key, const KeyContext &context,
                                       backends::Driver &driver);
  void remember(const std::string &key, const std::shared_ptr<const Kernel> &kernel,
                std::vector<RecordedDependency> dependencies, std::vector<std::string> sourceFiles);
  backends::Driver *driver(const std::string &name);
  std::string buildId() const {
    return options.compiler ? options.compiler->buildId() : jit::buildId();
  }
  std::shared_ptr<Compiler> compiler(Status &status);
  void warnOnce();

  const Knobs knobs;
  const RuntimeOptions options;
  DiskCache disk;
  bool readsDisk = true;
  const std::shared_ptr<PrintTarget> printTarget = std::make_shared<PrintTarget>();
  const std::unique_ptr<backends::Driver> cpuDriver, cudaDriver;

  ForkSafeMutex mutex;
  // Guarded by `mutex`:
  std::unordered_map<std::string, Remembered> memory; // by source key and by IR key
  size_t sweepAt = 1024;                              // entries of kernels that are gone
  RecentKernels recent;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights;
  std::shared_ptr<Compiler> loadedCompiler;
  RuntimeStatistics counts;
  CompileListener compileListener;
  bool isSealed = false;
  bool hasWarned = false;

  VariantHistory history; // has a mutex of its own

  std::mutex compilerMutex; // held while the library is loaded, under a ForkShield
};

Runtime::Runtime(RuntimeOptions options) : state(std::make_unique<State>(std::move(options))) {}
Runtime::~Runtime() = default;

Runtime &Runtime::instance() {
  // Never destroyed: threads may launch while static destructors run.
  static Runtime *runtime = new Runtime;
  return *runtime;
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
  result.checkBounds = state->knobs.checkBounds;
  result.debug = state->knobs.debug;
  return result;
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
  DiskCache::Found found = state->disk.look(kernel.key, state->buildId(), kernel.hostFingerprint);
  if (!found.entry || found.isFromLayer)
    return false;
  found.entry->provenance.measuredSeconds = seconds;
  state->disk.store(*found.entry);
  return true;
}

void Runtime::setPrintHandler(backends::PrintHandler handler) {
  state->printTarget->set(std::move(handler));
}

RuntimeStatistics Runtime::statistics() const {
  DiskCache::Counts disk = state->disk.counts();
  std::string disabled = state->disk.disabledReason();
  std::lock_guard lock(state->mutex);
  RuntimeStatistics result = state->counts;
  result.diskMisses = std::move(disk.misses);
  result.diskWrites = disk.writes;
  result.diskWriteFailures = disk.writeFailures;
  result.diskWaits = disk.waits;
  result.evictedFiles = disk.evictedFiles;
  result.diskDisabled = disabled.empty() ? disk.writesDisabled : disabled;
  result.cacheDirectory = state->disk.directory();
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
      options.compilerLibrary.empty() ? knobs.compilerLibrary : options.compilerLibrary;
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
  for (const std::string &problem : knobs.problems)
    warn(problem);
  if (std::string reason = disk.disabledReason(); !reason.empty() && !disk.directory().empty())
    warn(reason);
  for (const std::string &reason : disk.refusedLayers())
    warn(reason);
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
  context.wantStages = request.wantStages || knobs.keepStages;
  if (request.sourceDigest.empty())
    return noted(request, compile(request, {}, context, *target, "found by its IR only"));

  std::string key = sourceKey(request.sourceDigest, request.signature, request.options, context);
  std::shared_ptr<Flight> flight;
  for (;;) {
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
      if (remembered.isOf(*kernel, request) && isCurrent(remembered.dependencies, request)) {
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
    if (flight->error) {
      result.status = Status(*flight->error);
      return result;
    }
    // In memory now; looked at again for its dependencies.
  }

  result = find(request, key, context, *target);
  {
    std::lock_guard lock(mutex);
    flights.erase(key);
  }
  std::lock_guard finish(flight->mutex);
  flight->isFinished = true;
  flight->kernel = result.kernel;
  if (!result.status.ok())
    flight->error = result.status.error();
  flight->finished.notify_all();
  return result;
}

/// What was found on disk, loaded; nullopt when it cannot be used.
std::optional<KernelResult> Runtime::State::take(DiskCache::Found found,
                                                 const KernelRequest &request,
                                                 const std::string &key, const KeyContext &context,
                                                 backends::Driver &driver) {
  if (!found.entry)
    return std::nullopt;
  CacheEntry &entry = *found.entry;
  if (!isCurrent(entry.dependencies, request)) {
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
  remember(key, kernel, std::move(entry.dependencies), request.sourceFiles);
  KernelResult result;
  result.kernel = std::move(kernel);
  result.origin = KernelResult::Origin::Disk;
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
  std::string thereKey = sourceKey(request.sourceDigest, request.signature, thereOptions, there);
  DiskCache::Found found = disk.look(thereKey, there.buildId, there.hostFingerprint);
  if (!found.entry || driver.isFinished(found.entry->image))
    return take(std::move(found), request, thereKey, there, driver);
  backends::LaunchFailure failure;
  if (isSealedNow() || !isCurrent(found.entry->dependencies, request) ||
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
  if (!readsDisk)
    return noted(request, compile(request, key, context, driver, "every stage is wanted"));
  DiskCache::Found found = disk.load(key, context.buildId, context.hostFingerprint);
  std::string miss = found.miss.empty() ? "not usable" : found.miss;
  if (auto result = take(std::move(found), request, key, context, driver))
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
  return noted(request, compile(request, key, context, driver, miss));
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

Error Runtime::State::sealedError(const KernelRequest &request) const {
  VariantDifference difference =
      history.compare(request.sourceDigest, request.signature, request.options);
  Error error;
  error.kind = Error::Kind::Call;
  error.message = request.signature.kernelName + ": sealed, and no variant fits: ";
  error.message +=
      difference.kind == VariantDifference::Kind::First ? "there is none" : difference.text();
  error.help = "precompile it before seal(): " + describe(request.signature);
  if (std::string options = describe(request.options); !options.empty())
    error.help += "; " + options;
  for (const VariantDifference::Change &change : difference.changes)
    if (change.parameter >= 0) {
      error.parameter = change.parameter;
      break;
    }
  return error;
}

void Runtime::State::report(const KernelRequest &request, const KernelResult &result,
                            const std::string &cacheMiss, double seconds) {
  CompileListener listener;
  {
    std::lock_guard lock(mutex);
    listener = compileListener;
  }
  if (!listener && !knobs.logsCompiles)
    return;
  CompileEvent event;
  event.kernelName = request.signature.kernelName;
  event.target = targetOf(request.options);
  event.variant = describe(request.signature);
  event.options = describe(request.options);
  event.reason = result.reason;
  event.cacheMiss = cacheMiss;
  event.seconds = seconds;
  event.succeeded = result.kernel != nullptr;
  if (knobs.logsCompiles)
    std::fprintf(stderr, "sectile: %s\n", event.text().c_str());
  if (listener)
    listener(event);
}

std::shared_ptr<const Kernel> Runtime::State::findIr(const std::string &key,
                                                     const KeyContext &context,
                                                     backends::Driver &driver) {
  if (!readsDisk) // nor memory: the later stages of each kernel are wanted
    return nullptr;
  {
    std::lock_guard lock(mutex);
    if (auto found = memory.find(key); found != memory.end())
      if (auto kernel = found->second.kernel.lock())
        return kernel;
  }
  DiskCache::Found found = disk.load(key, context.buildId, context.hostFingerprint);
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
                                     const std::string &cacheMiss) {
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
    return fail(sealedError(request));
  result.reason = history.compare(request.sourceDigest, request.signature, request.options).text();
  std::shared_ptr<Compiler> used = compiler(result.status);
  if (!used)
    return fail(std::move(result.status.error()));

  CompileRequest compileRequest;
  compileRequest.signature = request.signature;
  compileRequest.options = request.options;
  compileRequest.wantStages = context.wantStages;
  if (Status made = request.makeCompileRequest(compileRequest); !made.ok())
    return fail(std::move(made.error()));
  std::shared_ptr<const Kernel> same;
  std::unique_ptr<CacheClaim> claim; // of a kernel that only its IR names
  compileRequest.hasIr = [&](const std::string &irDigest) {
    std::string secondKey = irKey(irDigest, request.options, context);
    same = findIr(secondKey, context, driver);
    if (same || !key.empty() || !readsDisk || sealed)
      return same != nullptr;
    claim = disk.claim(secondKey);
    while (!same && claim->next() == CacheClaim::Answer::LookAgain)
      same = findIr(secondKey, context, driver);
    return same != nullptr;
  };

  isCompiling = true;
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CompileResult made = used->compile(compileRequest);
  seconds = elapsed();

  CacheEntry entry;
  entry.buildId = context.buildId;
  entry.sourceKey = key;
  if (!made.irDigest.empty())
    entry.irKey = irKey(made.irDigest, request.options, context);
  entry.hostFingerprint = context.hostFingerprint;
  entry.dependencies = made.dependencies;
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
      return fail(sealedError(request));
    auto finishing = std::chrono::steady_clock::now();
    if (backends::LaunchFailure failure; !driver.finish(*made.image, failure)) {
      Status status = statusOf(std::move(failure));
      return fail(std::move(status.error()));
    }
    if (request.options.backend != "cpu") {
      auto spent = std::chrono::steady_clock::now() - finishing;
      made.times.emplace_back("assemble", std::chrono::duration<double>(spent).count());
    }
    entry.image = *made.image;
    std::shared_ptr<Kernel> kernel = load(std::move(*made.image), driver, result.status, &made);
    if (!kernel)
      return fail(std::move(result.status.error()));
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
  } else if (!knobs.stopAfter.empty()) {
    return fail({Error::Kind::Machine,
                 name + ": compiling stopped after stage '" + knobs.stopAfter + "'",
                 "unset SECTILE_STOP_AFTER",
                 {},
                 {},
                 -1});
  } else {
    return fail({Error::Kind::Internal,
                 name + ": the compiler gave neither code nor a reason",
                 {},
                 {},
                 {},
                 -1});
  }

  if (!key.empty() || result.origin == KernelResult::Origin::Compiled)
    disk.store(entry);
  if (!key.empty())
    remember(key, result.kernel, std::move(entry.dependencies), request.sourceFiles);
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
                              std::vector<RecordedDependency> dependencies,
                              std::vector<std::string> sourceFiles) {
  std::shared_ptr<const Kernel> dropped; // unloaded outside of the lock
  std::lock_guard lock(mutex);
  memory.insert_or_assign(key, Remembered{kernel, std::move(dependencies), std::move(sourceFiles)});
  dropped = recent.touch(kernel);
  if (memory.size() < sweepAt)
    return;
  std::erase_if(memory, [](const auto &entry) { return entry.second.kernel.expired(); });
  sweepAt = 2 * memory.size() + 1024;
}

} // namespace sectile::jit
