#include "backends/nvidia/CudaKernel.h"

#include "backends/nvidia/Assembler.h"
#include "backends/nvidia/TargetNames.h"

#include <algorithm>

namespace sectile::nvidia {

using backends::DeviceStatus;
using backends::Grid;
using backends::KernelImage;
using backends::LaunchArguments;
using backends::LaunchFailure;
using backends::PrintHandler;
using Kind = LaunchFailure::Kind;

namespace {

LaunchFailure failure(Kind kind, std::string message, std::string help) {
  LaunchFailure result;
  result.kind = kind;
  result.message = std::move(message);
  result.help = std::move(help);
  return result;
}
LaunchFailure failure(DeviceStatus status) {
  return failure(Kind::Machine, std::move(status.message), std::move(status.help));
}

} // namespace

CudaKernel::CudaKernel(const KernelImage &image, std::shared_ptr<CudaSystem> system,
                       std::shared_ptr<const CudaKernelOptions> options)
    : image(image), system(std::move(system)), options(std::move(options)),
      identity(std::make_shared<KernelIdentity>(KernelIdentity{image.kernelName, image.arguments})),
      threads(static_cast<unsigned>(image.gpu.threads)),
      sharedBytes(static_cast<unsigned>(image.gpu.sharedBytes)),
      clusterSize(static_cast<unsigned>(image.gpu.clusterBlocks)),
      isCooperative(image.gpu.isCooperative), isDependent(image.gpu.isDependent),
      hidden(image.gpu.hiddenParameters) {}

CudaKernel::~CudaKernel() {
  // A child of fork() must not touch the device, nor its locks.
  bool isUnloadable = !system->isForked() && !wasCaptured.load(std::memory_order_relaxed);
  for (std::atomic<const Loaded *> &each : loaded) {
    std::unique_ptr<const Loaded> on(each.load(std::memory_order_acquire));
    if (on && isUnloadable)
      on->device->deadModules.add(on->module);
  }
}

backends::KernelResources CudaKernel::resources() const {
  std::string_view arch = std::string_view(image.targetName).substr(kTargetPrefix.size());
  std::string reason;
  const auto &devices = system->devices(reason);
  for (size_t i = 0; i < std::min(devices.size(), kMostDevices); ++i) {
    LaunchFailure ignored;
    bool isOurs = loaded[i].load(std::memory_order_acquire) || devices[i]->info.arch == arch;
    if (const Loaded *on = isOurs ? loadedOn(static_cast<int32_t>(i), ignored) : nullptr)
      return {on->registers, on->localBytes};
  }
  // The device of this code is not here: what the assembler reported.
  return {std::max(image.gpu.registers, 0), std::max(image.gpu.localBytes, 0)};
}

const CudaKernel::Loaded *CudaKernel::loadedOn(int32_t ordinal, LaunchFailure &why) const {
  auto index = static_cast<size_t>(ordinal);
  if (index < kMostDevices) [[likely]]
    if (const Loaded *present = loaded[index].load(std::memory_order_acquire)) [[likely]]
      return present;
  return loadOn(ordinal, why);
}

const CudaKernel::Loaded *CudaKernel::loadOn(int32_t ordinal, LaunchFailure &why) const {
  DeviceStatus status;
  CudaDevice *device = system->device(ordinal, status);
  auto index = static_cast<size_t>(ordinal);
  if (!device || index >= kMostDevices) {
    if (device)
      status = {"device cuda:" + std::to_string(ordinal) + " is beyond the 64 that are supported",
                "name fewer in CUDA_VISIBLE_DEVICES"};
    status.message = image.kernelName + ": " + status.message;
    why = failure(std::move(status));
    return nullptr;
  }
  std::lock_guard lock(loading);
  if (const Loaded *present = loaded[index].load(std::memory_order_relaxed))
    return present;

  const CudaApi &api = device->api;
  auto fail = [&](const char *what, CudaResult result) {
    why = failure(explain(*device, image.kernelName + ": " + what, result));
    return nullptr;
  };
  ContextScope scope(*device);
  if (scope.result() != kCudaSuccess)
    return fail("no context can be made on the device", scope.result());
  CudaModule module = nullptr;
  std::vector<char> log(8 << 10);
  CudaJitOption jitOptions[] = {kJitErrorLog, kJitErrorLogBytes};
  void *jitValues[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CudaResult result = api.moduleLoadDataEx(&module, image.binary.c_str(), 2, jitOptions, jitValues);
  if (result != kCudaSuccess) {
    bool isPtx = !isCubin(image.binary);
    why = failure(explain(*device, image.kernelName + ": the code cannot be loaded", result));
    if (isPtx && log[0]) {
      why.message += "\n" + std::string(log.data());
      if (result == kCudaInvalidPtx)
        why.kind = Kind::Internal;
    }
    return nullptr;
  }
  // Loading has found no graph being captured.
  device->deadModules.unloadBatch(api);
  CudaFunction function = nullptr;
  result = api.moduleGetFunction(&function, module, image.entryPoint.c_str());
  if (result != kCudaSuccess || !fits(*device, function, why)) {
    (void)api.moduleUnload(module);
    if (result != kCudaSuccess) {
      fail("its entry point is missing", result);
      why.kind = Kind::Internal;
    }
    return nullptr;
  }
  auto attribute = [&](CudaFunctionAttribute which) {
    int value = 0;
    return api.functionGetAttribute(&value, which, function) == kCudaSuccess ? value : 0;
  };
  constexpr unsigned kAlwaysAllowed = 48 << 10, kPortableCluster = 8;
  if (sharedBytes > kAlwaysAllowed) {
    result = api.functionSetAttribute(function, kFunctionMaxDynamicSharedBytes,
                                      static_cast<int>(sharedBytes));
    if (result != kCudaSuccess) {
      (void)api.moduleUnload(module);
      return fail("shared memory cannot be reserved", result);
    }
  }
  if (clusterSize > kPortableCluster)
    (void)api.functionSetAttribute(function, kFunctionNonPortableClusterSize, 1);
  CudaResult ignored;
  auto *made = new Loaded{device,   device->context(ignored),      module,
                          function, attribute(kFunctionRegisters), attribute(kFunctionLocalBytes)};
  loaded[index].store(made, std::memory_order_release);
  return made;
}

/// Does the device have what every program needs?
bool CudaKernel::fits(const CudaDevice &device, CudaFunction function, LaunchFailure &why) const {
  auto attribute = [&](CudaFunctionAttribute which) {
    int value = 0;
    return device.api.functionGetAttribute(&value, which, function) == kCudaSuccess ? value : 0;
  };
  int64_t shared = sharedBytes + attribute(kFunctionSharedBytes);
  if (shared > device.info.sharedBytesPerBlock) {
    why = failure(Kind::Resources,
                  image.kernelName + ": needs " + std::to_string(shared) +
                      " bytes of shared memory, and " + device.info.name + " offers " +
                      std::to_string(device.info.sharedBytesPerBlock) + " to a program",
                  "use smaller blocks, or a smaller num_stages");
    return false;
  }
  const int lanes = image.gpu.lanes;
  if (static_cast<int>(threads) > device.info.maxThreadsPerBlock) {
    why = failure(
        Kind::Resources,
        image.kernelName + ": num_warps = " + std::to_string(static_cast<int>(threads) / lanes) +
            " are " + std::to_string(threads) + " threads, and " + device.info.name +
            " runs at most " + std::to_string(device.info.maxThreadsPerBlock) + " in a program",
        "use num_warps = " + std::to_string(device.info.maxThreadsPerBlock / lanes) + " or less");
    return false;
  }
  // What the compiled code allows: registers bound it.
  int most = attribute(kFunctionMaxThreadsPerBlock);
  if (most > 0 && static_cast<int>(threads) > most) {
    why = failure(Kind::Resources,
                  image.kernelName + ": " + std::to_string(threads) + " threads of " +
                      std::to_string(attribute(kFunctionRegisters)) + " registers each, and " +
                      device.info.name + " has " + std::to_string(device.info.registersPerBlock) +
                      " registers for a program",
                  "use smaller blocks or fewer warps, or limit registers with maxnreg");
    return false;
  }
  return true;
}

LaunchFailure CudaKernel::start(const Loaded &on, const Grid &grid,
                                const LaunchArguments &arguments, const Records *records) const {
  constexpr size_t kUsual = 32;
  size_t count = image.arguments.size();
  void *usual[kUsual + 2];
  std::unique_ptr<void *[]> many;
  void **parameters = usual;
  if (count > kUsual) [[unlikely]] {
    many = std::make_unique<void *[]>(count + 2);
    parameters = many.get();
  }
  for (size_t i = 0; i < count; ++i)
    parameters[i] = const_cast<uint64_t *>(&arguments.slots[i]);
  CudaAddress ranges = 0, buffer = 0;
  if (records) [[unlikely]] {
    ranges = records->rangeAddress();
    buffer = records->bufferAddress();
    if (hidden & backends::kHiddenRanges)
      parameters[count++] = &ranges;
    if (hidden & backends::kHiddenRecords)
      parameters[count++] = &buffer;
  }

  CudaLaunchAttribute attributes[3];
  CudaLaunchConfig config{static_cast<unsigned>(grid.x),
                          static_cast<unsigned>(grid.y),
                          static_cast<unsigned>(grid.z),
                          threads,
                          1,
                          1,
                          sharedBytes,
                          static_cast<CudaStream>(arguments.stream),
                          attributes,
                          0};
  auto addAttribute = [&](int id) -> CudaLaunchAttribute & {
    CudaLaunchAttribute &added = attributes[config.attributeCount++];
    added = {};
    added.id = id;
    return added;
  };
  if (clusterSize > 1) [[unlikely]] {
    CudaLaunchAttribute &cluster = addAttribute(kLaunchClusterDimension);
    cluster.cluster[0] = clusterSize;
    cluster.cluster[1] = cluster.cluster[2] = 1;
    config.gridX *= clusterSize;
  }
  if (isCooperative) [[unlikely]]
    addAttribute(kLaunchCooperative).isOn = 1;
  if (isDependent) [[unlikely]]
    addAttribute(kLaunchDependent).isOn = 1;
  CudaDevice &device = *on.device;
  // The legacy default stream cannot be captured.
  if (arguments.stream && !wasCaptured.load(std::memory_order_relaxed)) {
    int status = 0;
    if (device.api.streamIsCapturing(config.stream, &status) == kCudaSuccess && status != 0)
      wasCaptured.store(true, std::memory_order_relaxed);
  }
  device.history.note(identity, grid, arguments.stream, arguments.slots);

  // As ContextScope, without its calls where there is nothing to change.
  const CudaApi &api = device.api;
  CudaContext current = nullptr;
  CudaResult result = api.contextGetCurrent(&current);
  bool isOther = current != on.context;
  if (isOther && result == kCudaSuccess) [[unlikely]]
    result = api.contextSetCurrent(on.context);
  if (result == kCudaSuccess)
    result = api.launchKernelEx(&config, on.function, parameters, nullptr);
  if (isOther && current) [[unlikely]]
    (void)api.contextSetCurrent(current);
  if (result == kCudaSuccess) [[likely]]
    return {};
  return failure(explain(device, image.kernelName + ": launch", result));
}

LaunchFailure CudaKernel::launch(const Grid &grid, const LaunchArguments &arguments,
                                 const PrintHandler &print) const {
  constexpr int64_t kMostYZ = 65535;
  if (grid.y > kMostYZ || grid.z > kMostYZ) [[unlikely]] {
    bool isY = grid.y > kMostYZ;
    return failure(Kind::Call,
                   image.kernelName + ": grid axis " + (isY ? "y" : "z") + " has " +
                       std::to_string(isY ? grid.y : grid.z) +
                       " programs, and GPUs run at most 65535 along it",
                   "put the longest axis first: x may have 2147483647");
  }
  if (system->isForked()) [[unlikely]]
    return failure(Kind::Machine, image.kernelName + ": " + kForkedMessage, kForkedHelp);
  LaunchFailure why;
  const Loaded *on = loadedOn(arguments.device, why);
  if (!on) [[unlikely]]
    return why;
  if (hidden) [[unlikely]]
    return launchWithRecords(*on, grid, arguments, print);
  return start(*on, grid, arguments, nullptr);
}

LaunchFailure CudaKernel::launchWithRecords(const Loaded &on, const Grid &grid,
                                            const LaunchArguments &arguments,
                                            const PrintHandler &print) const {
  CudaDevice &device = *on.device;
  const CudaApi &api = device.api;
  auto fail = [&](const char *what, CudaResult result) {
    return failure(explain(device, image.kernelName + ": " + what, result));
  };
  ContextScope scope(device);
  if (scope.result() != kCudaSuccess)
    return fail("launch", scope.result());
  auto stream = static_cast<CudaStream>(arguments.stream);
  int captureStatus = 0;
  if (api.streamIsCapturing(stream, &captureStatus) == kCudaSuccess && captureStatus != 0)
    return failure(Kind::Call,
                   image.kernelName + ": a kernel that prints, asserts or checks bounds cannot be "
                                      "captured into a graph",
                   "capture it without device_print, debug=True and SECTILE_CHECK");
  CudaResult result = kCudaSuccess;
  size_t rangeWords = hidden & backends::kHiddenRanges ? 2 * image.arguments.size() : 0;
  size_t recordBytes = image.printSites.empty() ? 0 : options->recordBytes.load();
  std::unique_ptr<Records> records = device.records.take(api, recordBytes, rangeWords, result);
  if (!records)
    return fail("no pinned memory for its reports", result);
  for (size_t i = 0; i < rangeWords; ++i)
    records->ranges()[i] = arguments.ranges ? arguments.ranges[i] : i % 2 ? ~uint64_t{0} : 0;

  LaunchFailure why = start(on, grid, arguments, records.get());
  if (why.ok()) {
    result = api.streamSynchronize(stream);
    // What it printed before it crashed shows where it was.
    why = readRecords(image, grid, records->buffer(),
                      {options->printElements, options->printsAsTriton}, print);
    if (result != kCudaSuccess)
      why = fail("stopped", result);
  }
  if (result == kCudaSuccess)
    device.records.giveBack(std::move(records));
  else
    (void)records.release(); // the device may still write to it
  return why;
}

} // namespace sectile::nvidia
