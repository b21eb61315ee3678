#include "jit/runtime/Runtime.h"

#include "jit/BuildId.h"
#include "jit/cache/ImageFile.h"
#include "jit/runtime/CompileEvent.h"
#include "jit/runtime/CompilerLoader.h"
#include "jit/runtime/RuntimeState.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace sectile::jit {
namespace {

std::atomic<Runtime *> &startedRuntime() {
  static std::atomic<Runtime *> started{nullptr};
  return started;
}

void warn(const std::string &text) {
  std::fprintf(stderr, "sectile: warning: %s\n", text.c_str());
}

} // namespace

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
  atLaunch = LaunchDefaults{knobs.checkBounds, knobs.checkStrides, knobs.debug, knobs.numerics,
                            knobs.dotPrecision};
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
  drivers.configure(wanted);
  DiskCache::Counts counts = before->disk->counts();
  {
    std::lock_guard lock(mutex);
    if (next->disk != before->disk) {
      add(counts, retired);
      hasWarned = false;
    }
    settings = next;
  }
  if (!next->readsDisk) // nor memory, of what was compiled before
    store.clear();
  return {};
}

KernelResult Runtime::getKernel(const KernelRequest &given) {
  std::optional<KernelRequest> completed;
  if (given.options.backend != "cpu")
    if (backends::Driver *target = state->drivers.find(given.options.backend)) {
      completed = given;
      target->completeOptions(completed->options);
    }
  const KernelRequest &request = completed ? *completed : given;
  KernelResult result = state->get(request);
  if (request.memory.isUsual()) [[likely]]
    return result;
  KernelRequest fitting = request;
  while (result.kernel && request.memory.changeOptions(result.kernel->image(), fitting.options))
    result = state->get(fitting);
  return result;
}

backends::CompileOptions Runtime::defaultOptions() const {
  backends::CompileOptions result;
  launchDefaults().complete(result);
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

std::string Runtime::pack(const Kernel &kernel) {
  CacheEntry entry;
  entry.buildId = buildId();
  entry.hostFingerprint = kernel.hostFingerprint;
  entry.provenance = kernel.made;
  entry.image = kernel.kernelImage;
  return writeImageFile(entry);
}

KernelResult Runtime::unpack(std::string_view bytes) {
  KernelResult result;
  auto fail = [&](const std::string &problem) {
    result.status = Status::fail(Error::Kind::Machine, "a packed kernel cannot be used: " + problem,
                                 "compile it anew");
    return std::move(result);
  };
  CacheEntry entry;
  if (std::string problem = readImageFile(bytes, entry); !problem.empty())
    return fail(problem);
  if (entry.buildId != buildId())
    return fail("another build of Sectile made it");
  backends::Driver *driver = state->drivers.find(entry.image.backend);
  if (!driver)
    return fail("there is no back end '" + entry.image.backend + "'");
  // Code for a GPU names its chip, and is checked against it when it is loaded there.
  if (entry.image.gpu.threads == 0 && !entry.hostFingerprint.empty() &&
      entry.hostFingerprint != driver->hostFingerprint())
    return fail("it was made for another kind of CPU");
  std::shared_ptr<Kernel> kernel = state->load(std::move(entry.image), *driver, result.status);
  if (!kernel)
    return result;
  State::setOrigin(*kernel, std::move(entry.provenance), {}, {});
  kernel->hostFingerprint = std::move(entry.hostFingerprint);
  result.kernel = std::move(kernel);
  result.origin = KernelResult::Origin::Disk;
  return result;
}

KernelResult Runtime::load(backends::KernelImage image) {
  KernelResult result;
  backends::Driver *driver = state->drivers.find(image.backend);
  if (!driver) {
    result.status = Status::fail(
        Error::Kind::Machine, image.kernelName + ": there is no back end '" + image.backend + "'");
    return result;
  }
  result.kernel = state->load(std::move(image), *driver, result.status);
  result.origin = result.kernel ? KernelResult::Origin::Disk : KernelResult::Origin::None;
  return result;
}

void Runtime::setInterruptCheck(backends::InterruptCheck check) {
  state->drivers.setInterruptCheck(check);
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
  state->store.clear();
}

Compiler *Runtime::compiler(Status &status) {
  return state->compiler(status).get();
}
std::string Runtime::buildId() {
  return jit::buildId();
}
backends::Driver *Runtime::driver(std::string_view backend) {
  return state->drivers.find(backend);
}
std::string Runtime::gpuBackend() {
  return std::string(state->drivers.gpuBackend());
}
backends::Driver &Runtime::gpuDriver() {
  return *state->drivers.find(state->drivers.gpuBackend());
}
std::string Runtime::deviceName(int32_t device) {
  return device < 0 ? "the CPU" : gpuBackend() + ":" + std::to_string(device);
}

const backends::DeviceInfo *Runtime::deviceInfo(std::string_view backend, int32_t device,
                                                Status &status) {
  std::string reason;
  const auto &devices = state->drivers.find(backend)->devices(reason);
  if (device >= 0 && size_t(device) < devices.size())
    return &devices[size_t(device)];
  const std::string maker = backend == "hip" ? "AMD" : "NVIDIA";
  status = Status::fail(Error::Kind::Machine,
                        devices.empty() ? "there is no " + maker + " GPU to run on: " + reason
                                        : "there is no device " + std::string(backend) + ":" +
                                              std::to_string(device) + ", only " +
                                              std::to_string(devices.size()),
                        "`sectile doctor` shows what was found");
  return nullptr;
}

std::string Runtime::archOf(std::string_view backend, int32_t device, Status &status) {
  const backends::DeviceInfo *info = deviceInfo(backend, device, status);
  return info ? info->arch : "";
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

} // namespace sectile::jit
