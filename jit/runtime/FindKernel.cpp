// A kernel for a request: in memory, on disk, in a read-only layer, made by another process, or
// compiled here.
#include "jit/runtime/RuntimeState.h"
#include "jit/runtime/TimeTable.h"

namespace sectile::jit {

static bool checksBounds(const backends::KernelImage &image) {
  for (const backends::TrapSite &site : image.trapSites)
    if (site.kind != backends::TrapSite::Kind::Assertion)
      return true;
  return false;
}

/// Finds the kernel in memory, or waits for the thread that is making it, or makes it.
KernelResult Runtime::State::get(const KernelRequest &request) {
  KernelResult result;
  backends::Driver *target = drivers.find(request.options.backend);
  if (!target) {
    result.status =
        Status::fail(Error::Kind::Call, "backend: there is no '" + request.options.backend + "'",
                     "use " + Drivers::names());
    return result;
  }
  KeyContext context;
  context.buildId = buildId();
  context.hostFingerprint = target->hostFingerprint();
  context.wantStages = request.wantStages || now()->knobs.keepStages;
  if (request.sourceDigest.empty())
    return noted(request, compile({request, {}, context, *target}, "found by its IR only"));

  std::string key = sourceKey(request.sourceDigest, request.signature, request.options, context);
  KernelStore::Taken taken = store.take(key, request);
  if (taken.kernel) {
    result.kernel = std::move(taken.kernel);
    result.origin = KernelResult::Origin::Memory;
    std::lock_guard lock(mutex);
    ++counts.memoryHits;
    return result;
  }
  if (taken.error) {
    result.status = Status(std::move(*taken.error));
    return result;
  }
  result = find({request, key, context, *target});
  store.finish(key, taken.flight, result);
  return result;
}

/// What was found on disk, loaded; nullopt when it cannot be used.
std::optional<KernelResult> Runtime::State::take(DiskCache::Found found, const Wanted &wanted,
                                                 double lookSeconds) {
  if (!found.entry)
    return std::nullopt;
  auto start = Clock::now();
  std::shared_ptr<const Settings> held = now();
  DiskCache &disk = *held->disk;
  CacheEntry &entry = *found.entry;
  if (!isCurrent(entry.reads, wanted.request)) {
    disk.countMiss("a dependency changed"); // replaced when compiled
    return std::nullopt;
  }
  relocate(entry, wanted.request.sourceFiles);
  Status status;
  std::shared_ptr<Kernel> kernel = load(std::move(entry.image), wanted.driver, status);
  if (!kernel) {
    disk.countMiss("does not load");
    return std::nullopt;
  }
  setOrigin(*kernel, std::move(entry.provenance), wanted.key, wanted.context);
  store.remember(wanted.key, kernel, std::move(entry.reads), wanted.request.sourceFiles);
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
std::optional<KernelResult> Runtime::State::findDeviceless(const Wanted &wanted) {
  KeyContext there = wanted.context;
  const KernelRequest &request = wanted.request;
  backends::CompileOptions thereOptions = request.options;
  there.hostFingerprint = wanted.driver.deviceless(thereOptions);
  if (there.hostFingerprint.empty())
    return std::nullopt;
  std::shared_ptr<DiskCache> cache = now()->disk;
  DiskCache &disk = *cache;
  std::string thereKey = sourceKey(request.sourceDigest, request.signature, thereOptions, there);
  DiskCache::Found found = disk.look(thereKey, there.buildId, there.hostFingerprint);
  if (!found.entry || wanted.driver.isFinished(found.entry->image))
    return take(std::move(found), {request, thereKey, there, wanted.driver});
  backends::LaunchFailure failure;
  if (isSealedNow() || !isCurrent(found.entry->reads, request) ||
      !wanted.driver.finish(found.entry->image, failure))
    return std::nullopt;
  found.entry->sourceKey = wanted.key;
  found.entry->irKey.clear();
  found.entry->hostFingerprint = wanted.context.hostFingerprint;
  disk.store(*found.entry);
  return take(std::move(found), wanted);
}

/// On disk, or compiled; by this process or by another that is at it.
KernelResult Runtime::State::find(const Wanted &wanted) {
  warnOnce();
  auto start = Clock::now();
  const KernelRequest &request = wanted.request;
  const KeyContext &context = wanted.context;
  std::shared_ptr<const Settings> held = now(); // outlives the claim
  DiskCache &disk = *held->disk;
  if (!held->readsDisk)
    return noted(request, compile(wanted, "every stage is wanted"));
  DiskCache::Found found = disk.load(wanted.key, context.buildId, context.hostFingerprint);
  std::string miss = found.miss.empty() ? "not usable" : found.miss;
  double lookSeconds = secondsSince(start);
  if (auto result = take(std::move(found), wanted, lookSeconds))
    return noted(request, std::move(*result));
  if (auto result = findDeviceless(wanted))
    return noted(request, std::move(*result));
  if (isSealedNow())
    return noted(request, compile(wanted, miss));
  std::unique_ptr<CacheClaim> claim = disk.claim(wanted.key);
  while (claim->next() == CacheClaim::Answer::LookAgain) {
    if (claim->hasWaited())
      disk.countWait();
    if (auto result = take(disk.look(wanted.key, context.buildId, context.hostFingerprint), wanted))
      return noted(request, std::move(*result));
  }
  return noted(request, compile(wanted, miss, secondsSince(start)));
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

std::shared_ptr<const Kernel> Runtime::State::findIr(const std::string &key,
                                                     const KeyContext &context,
                                                     backends::Driver &driver) {
  std::shared_ptr<const Settings> held = now();
  if (!held->readsDisk) // nor memory: the later stages of each kernel are wanted
    return nullptr;
  if (auto kernel = store.find(key))
    return kernel;
  DiskCache::Found found = held->disk->load(key, context.buildId, context.hostFingerprint);
  if (!found.entry)
    return nullptr;
  Status status;
  std::shared_ptr<Kernel> kernel = load(std::move(found.entry->image), driver, status);
  if (kernel)
    kernel->made = std::move(found.entry->provenance);
  return kernel;
}

std::shared_ptr<Kernel> Runtime::State::load(backends::KernelImage image, backends::Driver &driver,
                                             Status &status, CompileResult *made) {
  std::shared_ptr<Kernel> kernel(new Kernel);
  kernel->kernelImage = std::move(image);
  kernel->print = printTarget;
  kernel->needsRanges = checksBounds(kernel->kernelImage);
  kernel->combinesAtomically = !kernel->kernelImage.atomicArguments.empty();
  kernel->readsByTensorMaps = !kernel->kernelImage.tensorMaps.empty();
  kernel->readsByBuffers = !kernel->kernelImage.bufferArguments.empty();
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

void Runtime::State::setOrigin(Kernel &kernel, Provenance made, std::string key,
                               const KeyContext &context) {
  kernel.made = std::move(made);
  kernel.key = std::move(key);
  kernel.hostFingerprint = context.hostFingerprint;
}

} // namespace sectile::jit
