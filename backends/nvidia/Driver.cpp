#include "backends/nvidia/Driver.h"

#include "backends/ForkSafeMutex.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace sectile::nvidia {
namespace {

using backends::DeviceInfo;
using backends::Grid;
using backends::KernelImage;
using backends::LaunchArguments;
using backends::LaunchFailure;
using backends::PrintHandler;
using Kind = LaunchFailure::Kind;

constexpr std::string_view kTargetPrefix = "nvptx64:";
constexpr size_t kMostDevices = 64;

LaunchFailure failed(Kind kind, std::string message, std::string help) {
  LaunchFailure failure;
  failure.kind = kind;
  failure.message = std::move(message);
  failure.help = std::move(help);
  return failure;
}

bool isCubin(const std::string &code) {
  return code.starts_with("\x7f"
                          "ELF");
}

/// From 9.0 on, the architecture's own instructions (wgmma, TMA ...) need the "a".
std::string archOf(int capability) {
  return "sm_" + std::to_string(capability) + (capability >= 90 ? "a" : "");
}

/// The GPUs of this process. CUDA starts at first use; contexts are the devices' primary ones,
/// which torch, CuPy and the CUDA runtime use too, retained when something is first done on a
/// device.
class CudaSystem {
public:
  explicit CudaSystem(const CudaApi *given) : given(given) {}

  const std::vector<DeviceInfo> &devices(std::string &reason) {
    start();
    reason = isForked() ? forkedMessage() : whyNone;
    return infos;
  }
  int driverVersion() {
    start();
    return version;
  }
  const CudaApi &api() const { return *used; }
  bool isForked() const { return generation != forkGeneration(); }
  static std::string forkedMessage() {
    return "this process was forked from one that had started CUDA, which does not survive fork()";
  }

  /// False with `failure` set: no driver, no such device, a forked process.
  bool has(int32_t device, const std::string &kernel, LaunchFailure &failure) {
    std::string reason;
    const std::vector<DeviceInfo> &known = devices(reason);
    if (isForked())
      failure = failed(Kind::Machine, kernel + ": " + forkedMessage(),
                       "start processes with 'spawn' (multiprocessing.set_start_method), or fork "
                       "before the first use of a GPU");
    else if (known.empty())
      failure = failed(Kind::Machine, kernel + ": there is no NVIDIA GPU to run on: " + reason,
                       "`sectile doctor` shows what was found");
    else if (device < 0 || static_cast<size_t>(device) >= known.size())
      failure = failed(Kind::Machine,
                       kernel + ": there is no device cuda:" + std::to_string(device) + ", only " +
                           std::to_string(known.size()),
                       "see CUDA_VISIBLE_DEVICES");
    else
      return true;
    return false;
  }

  /// Null with `result` set. Only for a device that there is.
  CudaContext context(int32_t device, CudaResult &result) {
    result = kCudaSuccess;
    std::atomic<CudaContext> &entry = contexts[static_cast<size_t>(device)];
    if (CudaContext present = entry.load(std::memory_order_acquire))
      return present;
    std::lock_guard lock(mutex);
    CudaContext made = entry.load(std::memory_order_relaxed);
    if (!made) {
      result = used->primaryContextRetain(&made, handles[static_cast<size_t>(device)]);
      if (result != kCudaSuccess)
        return nullptr;
      entry.store(made, std::memory_order_release);
    }
    return made;
  }
  int attribute(int32_t device, int which) const {
    int value = 0;
    bool isKnown = used->deviceGetAttribute(&value, which, handles[static_cast<size_t>(device)]) ==
                   kCudaSuccess;
    return isKnown ? value : 0;
  }

private:
  void start() {
    if (isStarted.load(std::memory_order_acquire))
      return;
    std::lock_guard lock(mutex);
    if (isStarted.load(std::memory_order_relaxed))
      return;
    generation = forkGeneration();
    used = given ? given : CudaApi::load(whyNone);
    if (used)
      findDevices();
    isStarted.store(true, std::memory_order_release);
  }

  void findDevices() {
    int count = 0;
    CudaResult result = used->init(0);
    if (result == kCudaSuccess)
      result = used->deviceGetCount(&count);
    (void)used->driverGetVersion(&version);
    if (result != kCudaSuccess) {
      std::string remedy = cudaRemedy(result);
      whyNone = "NVIDIA's driver does not start: " + used->describe(result) +
                (remedy.empty() ? "" : "; " + remedy);
      return;
    }
    if (count == 0)
      whyNone = "NVIDIA's driver sees no device; see nvidia-smi and CUDA_VISIBLE_DEVICES";
    for (int ordinal = 0; ordinal < std::min<int>(count, kMostDevices); ++ordinal) {
      int handle = 0;
      char name[256] = "";
      (void)used->deviceGet(&handle, ordinal);
      (void)used->deviceGetName(name, sizeof name, handle);
      handles.push_back(handle);
      int capability =
          10 * attribute(ordinal, kMajorCapability) + attribute(ordinal, kMinorCapability);
      infos.push_back({name, archOf(capability)});
    }
  }

  const CudaApi *const given;
  const CudaApi *used = nullptr;
  std::mutex mutex;
  std::atomic<bool> isStarted{false};
  uint64_t generation = forkGeneration();
  std::string whyNone;
  int version = 0;
  std::vector<int> handles;
  std::vector<DeviceInfo> infos;
  std::array<std::atomic<CudaContext>, kMostDevices> contexts{};
};

/// The device's context is current in this block, and after it the one that was. Where none was, it
/// stays, as it does with the CUDA runtime.
class ContextScope {
public:
  ContextScope(CudaSystem &system, int32_t device) : api(system.api()) {
    CudaContext wanted = system.context(device, result);
    CudaContext current = nullptr;
    if (result == kCudaSuccess)
      result = api.contextGetCurrent(&current);
    if (result != kCudaSuccess || current == wanted)
      return;
    previous = current;
    result = api.contextSetCurrent(wanted);
  }
  ~ContextScope() {
    if (previous)
      (void)api.contextSetCurrent(previous);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  CudaResult result = kCudaSuccess;

private:
  const CudaApi &api;
  CudaContext previous = nullptr;
};

class CudaKernel final : public backends::LoadedKernel {
public:
  CudaKernel(const KernelImage &image, CudaSystem &system)
      : image(image), system(system), threads(property("threads", 32 * property("num_warps", 4))),
        sharedBytes(property("shared", 0)) {}

  LaunchFailure launch(const Grid &grid, const LaunchArguments &arguments,
                       const PrintHandler &) const override {
    constexpr int64_t kMostAcross = 65535;
    if (grid.y > kMostAcross || grid.z > kMostAcross)
      return failed(Kind::Call,
                    image.kernelName + ": grid axis " + (grid.y > kMostAcross ? "y" : "z") +
                        " has " + std::to_string(std::max(grid.y, grid.z)) +
                        " programs, and GPUs run at most 65535 along it",
                    "make it the x axis, which may have 2147483647");
    LaunchFailure failure;
    CudaFunction function = functionOn(arguments.device, failure);
    if (!function)
      return failure;

    constexpr size_t kUsual = 32;
    void *usual[kUsual];
    std::vector<void *> many;
    void **parameters = usual;
    size_t count = image.arguments.size();
    if (count > kUsual) {
      many.resize(count);
      parameters = many.data();
    }
    for (size_t i = 0; i < count; ++i)
      parameters[i] = const_cast<uint64_t *>(&arguments.slots[i]);
    ContextScope scope(system, arguments.device);
    CudaResult result = scope.result;
    if (result == kCudaSuccess)
      result = system.api().launchKernel(
          function, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
          static_cast<unsigned>(grid.z), static_cast<unsigned>(threads), 1, 1,
          static_cast<unsigned>(sharedBytes), static_cast<CudaStream>(arguments.stream), parameters,
          nullptr);
    return result == kCudaSuccess ? LaunchFailure{} : explain("launch", result);
  }

  backends::KernelResources resources() const override {
    std::string reason;
    const std::vector<DeviceInfo> &devices = system.devices(reason);
    for (size_t i = 0; i < devices.size(); ++i) {
      LaunchFailure ignored;
      bool isOurs =
          loaded[i].load(std::memory_order_acquire) ||
          devices[i].arch == std::string_view(image.targetName).substr(kTargetPrefix.size());
      CudaFunction function = isOurs ? functionOn(static_cast<int32_t>(i), ignored) : nullptr;
      if (function)
        return {attribute(function, kFunctionRegisters), attribute(function, kFunctionLocalBytes)};
    }
    return {};
  }

private:
  int64_t property(const char *name, int64_t otherwise) const {
    auto found = image.properties.find(name);
    return found == image.properties.end() ? otherwise : found->second;
  }
  int attribute(CudaFunction function, int which) const {
    int value = 0;
    return system.api().functionGetAttribute(&value, which, function) == kCudaSuccess ? value : 0;
  }
  LaunchFailure explain(const std::string &what, CudaResult result) const {
    return failed(Kind::Machine,
                  image.kernelName + ": " + what + ": " + system.api().describe(result),
                  cudaRemedy(result));
  }

  /// On the device, loaded now if it was not. Null with `failure` set.
  CudaFunction functionOn(int32_t device, LaunchFailure &failure) const {
    // Looked at before what is loaded: a forked child has inherited that, and cannot use it.
    if (!system.has(device, image.kernelName, failure)) [[unlikely]]
      return nullptr;
    std::atomic<CudaFunction> &entry = loaded[static_cast<size_t>(device)];
    if (CudaFunction present = entry.load(std::memory_order_acquire)) [[likely]]
      return present;
    std::lock_guard lock(loading);
    if (CudaFunction present = entry.load(std::memory_order_relaxed))
      return present;
    CudaFunction made = load(device, failure);
    entry.store(made, std::memory_order_release);
    return made;
  }

  CudaFunction load(int32_t device, LaunchFailure &failure) const {
    const CudaApi &api = system.api();
    auto fail = [&](const char *what, CudaResult result) {
      failure = explain(what, result);
      return nullptr;
    };
    ContextScope scope(system, device);
    if (scope.result != kCudaSuccess)
      return fail("no context on the device", scope.result);
    std::vector<char> log(16 << 10);
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
    CudaModule module = nullptr;
    CudaResult result = api.moduleLoadDataEx(&module, image.binary.c_str(), 2, options, values);
    if (result != kCudaSuccess) {
      fail("the code cannot be loaded", result);
      if (log[0])
        failure.message += std::string("\n") + log.data();
      return nullptr;
    }
    CudaFunction function = nullptr;
    result = api.moduleGetFunction(&function, module, image.entryPoint.c_str());
    if (result != kCudaSuccess) {
      (void)api.moduleUnload(module);
      return fail("the code lacks its entry point", result);
    }
    constexpr int64_t kAlwaysAllowed = 48 << 10;
    result = fits(device, function, failure) ? kCudaSuccess : -1;
    if (result == kCudaSuccess && sharedBytes > kAlwaysAllowed) {
      result = api.functionSetAttribute(function, kFunctionMaxDynamicShared,
                                        static_cast<int>(sharedBytes));
      if (result != kCudaSuccess)
        fail("shared memory cannot be reserved", result);
    }
    if (result == kCudaSuccess)
      return function;
    (void)api.moduleUnload(module);
    return nullptr;
  }

  bool fits(int32_t device, CudaFunction function, LaunchFailure &failure) const {
    int64_t shared = sharedBytes + attribute(function, kFunctionSharedBytes);
    if (int64_t most = system.attribute(device, kMaxSharedBytesOptin); most && shared > most) {
      failure = failed(Kind::Resources,
                       image.kernelName + ": a program needs " + std::to_string(shared) +
                           " bytes of shared memory, and the device has " + std::to_string(most),
                       "use smaller blocks or a smaller num_stages");
      return false;
    }
    // Registers bound it.
    if (int64_t most = attribute(function, kFunctionMaxThreads); most && threads > most) {
      failure = failed(Kind::Resources,
                       image.kernelName + ": a program has " + std::to_string(threads) +
                           " threads, and with " +
                           std::to_string(attribute(function, kFunctionRegisters)) +
                           " registers each the device runs at most " + std::to_string(most),
                       "use fewer warps or smaller blocks, or limit registers with maxnreg");
      return false;
    }
    return true;
  }

  const KernelImage &image;
  CudaSystem &system;
  const int64_t threads, sharedBytes;
  mutable std::mutex loading;
  // Modules are never unloaded: work that refers to them may still be queued.
  mutable std::array<std::atomic<CudaFunction>, kMostDevices> loaded{};
};

class CudaDriver final : public backends::Driver {
public:
  explicit CudaDriver(const CudaApi *api) : system(api) {}

  /// The driver's version, because it assembles, and the devices it does so for.
  std::string hostFingerprint() const override {
    std::string reason, text = "cuda:" + std::to_string(system.driverVersion());
    std::vector<std::string> archs;
    for (const DeviceInfo &device : system.devices(reason))
      archs.push_back(device.arch);
    std::sort(archs.begin(), archs.end());
    archs.erase(std::unique(archs.begin(), archs.end()), archs.end());
    for (const std::string &arch : archs)
      text += ":" + arch;
    return text;
  }

  const std::vector<DeviceInfo> &devices(std::string &reason) override {
    return system.devices(reason);
  }

  int32_t deviceOf(uint64_t address) override {
    std::string reason;
    int ordinal = -1;
    if (system.devices(reason).empty() || system.isForked() ||
        system.api().pointerGetAttribute(&ordinal, kPointerDeviceOrdinal, address) != kCudaSuccess)
      return -1;
    return ordinal;
  }

  bool canRun(std::string_view targetName, std::string &reason) const override {
    if (!targetName.starts_with(kTargetPrefix)) {
      reason = "the code is not for NVIDIA GPUs";
      return false;
    }
    for (const DeviceInfo &device : system.devices(reason))
      if (device.arch == targetName.substr(kTargetPrefix.size()))
        return true;
    if (reason.empty())
      reason = "no GPU here is of that architecture";
    return false;
  }

  bool finish(KernelImage &image, LaunchFailure &failure) override;

  std::unique_ptr<backends::LoadedKernel> load(const KernelImage &image,
                                               LaunchFailure &failure) override {
    if (image.targetName.starts_with(kTargetPrefix))
      return std::make_unique<CudaKernel>(image, system);
    failure = failed(Kind::Machine,
                     image.kernelName + ": compiled for " + image.targetName + ", not a NVIDIA GPU",
                     "compile it for one");
    return nullptr;
  }

private:
  mutable CudaSystem system;
};

bool CudaDriver::finish(KernelImage &image, LaunchFailure &failure) {
  if (isCubin(image.binary))
    return true;
  image.stages["ptx"] = image.binary;
  std::string reason;
  const std::vector<DeviceInfo> &devices = system.devices(reason);
  // The linker assembles for the device whose context is current.
  auto device = std::find_if(devices.begin(), devices.end(), [&](const DeviceInfo &info) {
    return image.targetName == std::string(kTargetPrefix) + info.arch;
  });
  if (device == devices.end() || system.isForked())
    return true;

  const CudaApi &api = system.api();
  std::vector<char> log(16 << 10);
  CudaLink link = nullptr;
  const char *step = "no context on the device";
  ContextScope scope(system, static_cast<int32_t>(device - devices.begin()));
  CudaResult result = scope.result;
  if (result == kCudaSuccess) {
    step = "PTX cannot be assembled";
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
    result = api.linkCreate(2, options, values, &link);
    // The size counts the zero byte at the end.
    if (result == kCudaSuccess)
      result = api.linkAddData(link, kJitInputPtx, image.binary.data(), image.binary.size() + 1,
                               "kernel.ptx", 0, nullptr, nullptr);
    void *cubin = nullptr;
    size_t bytes = 0;
    if (result == kCudaSuccess)
      result = api.linkComplete(link, &cubin, &bytes);
    if (result == kCudaSuccess)
      image.binary.assign(static_cast<const char *>(cubin), bytes);
    // Its options point to the log until here.
    if (link)
      (void)api.linkDestroy(link);
  }
  if (result == kCudaSuccess)
    return true;
  constexpr CudaResult kInvalidImage = 200, kInvalidPtx = 218;
  bool isOurs = result == kInvalidPtx || result == kInvalidImage;
  failure =
      failed(isOurs ? Kind::Internal : Kind::Machine,
             image.kernelName + ": " + step + ": " + api.describe(result), cudaRemedy(result));
  if (log[0])
    failure.message += std::string("\n") + log.data();
  return false;
}

} // namespace

std::unique_ptr<backends::Driver> createDriver(const CudaApi *api) {
  return std::make_unique<CudaDriver>(api);
}

} // namespace sectile::nvidia
