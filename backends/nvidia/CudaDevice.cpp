#include "backends/nvidia/CudaDevice.h"

#include "backends/nvidia/TargetNames.h"

namespace sectile::nvidia {

using backends::DeviceInfo;
using backends::DeviceStatus;

const char *const kForkedMessage = "this process was forked from one that had started CUDA, which "
                                   "does not survive fork()";
const char *const kForkedHelp = "start processes with 'spawn' (multiprocessing.set_start_method), "
                                "or fork before the first launch";

namespace {

DeviceInfo describeDevice(const CudaApi &api, CudaDeviceHandle handle) {
  DeviceInfo info;
  auto attribute = [&](CudaDeviceAttribute which) {
    int value = 0;
    return api.deviceGetAttribute(&value, which, handle) == kCudaSuccess ? value : 0;
  };
  char name[256] = "";
  if (api.deviceGetName(name, sizeof name, handle) == kCudaSuccess)
    info.name = name;
  info.capability = attribute(kComputeCapabilityMajor) * 10 + attribute(kComputeCapabilityMinor);
  info.arch = archOfCapability(info.capability);
  info.multiprocessorCount = attribute(kMultiprocessorCount);
  info.warpSize = attribute(kWarpSize);
  info.maxThreadsPerBlock = attribute(kMaxThreadsPerBlock);
  info.maxThreadsPerMultiprocessor = attribute(kMaxThreadsPerMultiprocessor);
  info.registersPerBlock = attribute(kMaxRegistersPerBlock);
  info.registersPerMultiprocessor = attribute(kMaxRegistersPerMultiprocessor);
  info.sharedBytesPerBlock = attribute(kMaxSharedPerBlockOptin);
  info.sharedBytesPerMultiprocessor = attribute(kMaxSharedPerMultiprocessor);
  info.l2Bytes = attribute(kL2CacheSize);
  info.memoryClockKilohertz = attribute(kMemoryClockRate);
  info.memoryBusBits = attribute(kMemoryBusWidth);
  info.clockKilohertz = attribute(kClockRate);
  size_t memory = 0;
  if (api.deviceTotalMem(&memory, handle) == kCudaSuccess)
    info.memoryBytes = static_cast<int64_t>(memory);
  return info;
}

} // namespace

void DeadModules::add(CudaModule module) {
  std::lock_guard lock(guard);
  modules.push_back(module);
}

void DeadModules::unloadBatch(const CudaApi &api) {
  std::vector<CudaModule> batch;
  {
    std::lock_guard lock(guard);
    if (modules.size() >= kBatch)
      batch.swap(modules);
  }
  if (batch.empty())
    return;
  if (api.contextSynchronize() == kCudaSuccess) {
    for (CudaModule module : batch)
      (void)api.moduleUnload(module);
    return;
  }
  std::lock_guard lock(guard);
  modules.insert(modules.end(), batch.begin(), batch.end());
}

CudaDevice::CudaDevice(const CudaApi &api, unsigned ordinal, CudaDeviceHandle handle)
    : api(api), ordinal(ordinal), handle(handle), info(describeDevice(api, handle)) {}

CudaContext CudaDevice::context(CudaResult &result) {
  result = kCudaSuccess;
  if (CudaContext present = retained.load(std::memory_order_acquire)) [[likely]]
    return present;
  std::lock_guard lock(retaining);
  CudaContext made = retained.load(std::memory_order_relaxed);
  if (!made) {
    result = api.primaryContextRetain(&made, handle);
    if (result != kCudaSuccess)
      return nullptr;
    retained.store(made, std::memory_order_release);
  }
  return made;
}

ContextScope::ContextScope(CudaDevice &device) : api(device.api) {
  CudaContext wanted = device.context(outcome);
  if (!wanted)
    return;
  CudaContext current = nullptr;
  outcome = api.contextGetCurrent(&current);
  if (outcome != kCudaSuccess || current == wanted) [[likely]]
    return;
  outcome = api.contextSetCurrent(wanted);
  previous = current;
}

void CudaSystem::initialize() {
  if (isInitialized.load(std::memory_order_acquire) || isForked())
    return;
  std::lock_guard lock(initializing);
  if (isInitialized.load(std::memory_order_relaxed))
    return;
  startedIn.store(forkGeneration(), std::memory_order_release);
  loadedApi = loadApi(whyNone);
  if (loadedApi) {
    int count = 0;
    CudaResult result = loadedApi->init(0);
    if (result == kCudaSuccess)
      result = loadedApi->deviceGetCount(&count);
    if (result != kCudaSuccess) {
      whyNone = "NVIDIA's driver does not start: " + loadedApi->describe(result);
      if (std::string remedy = remedyFor(result); !remedy.empty())
        whyNone += "; " + remedy;
    } else if (count == 0) {
      whyNone = "NVIDIA's driver sees no device; see nvidia-smi, and CUDA_VISIBLE_DEVICES";
    }
    (void)loadedApi->driverGetVersion(&version);
    for (int ordinal = 0; ordinal < count && result == kCudaSuccess; ++ordinal) {
      CudaDeviceHandle handle = 0;
      if (loadedApi->deviceGet(&handle, ordinal) == kCudaSuccess)
        found.push_back(std::make_unique<CudaDevice>(*loadedApi, ordinal, handle));
    }
    for (const auto &device : found)
      allInfos.push_back(device->info);
  }
  isInitialized.store(true, std::memory_order_release);
}

const CudaApi *CudaSystem::api() {
  initialize();
  return isReady() ? loadedApi : nullptr;
}

int CudaSystem::driverVersion() {
  initialize();
  return isReady() ? version : 0;
}

const std::vector<std::unique_ptr<CudaDevice>> &CudaSystem::devices(std::string &reason) {
  initialize();
  if (!isForked()) {
    reason = whyNone;
    return found;
  }
  reason = std::string(kForkedMessage) + "; " + kForkedHelp;
  // The thread that was looking for them may be the parent's.
  static const std::vector<std::unique_ptr<CudaDevice>> none;
  return isReady() ? found : none;
}

CudaDevice *CudaSystem::device(int32_t ordinal, DeviceStatus &status) {
  initialize();
  if (isForked()) {
    status = {kForkedMessage, kForkedHelp};
    return nullptr;
  }
  if (ordinal >= 0 && static_cast<size_t>(ordinal) < found.size())
    return found[static_cast<size_t>(ordinal)].get();
  if (found.empty())
    status = {"there is no NVIDIA GPU to run on: " + whyNone,
              "`sectile doctor` shows what was found"};
  else
    status = {"there is no device cuda:" + std::to_string(ordinal) + ", only " +
                  std::to_string(found.size()),
              "see CUDA_VISIBLE_DEVICES"};
  return nullptr;
}

DeviceStatus explain(const CudaDevice &device, const std::string &what, CudaResult result) {
  DeviceStatus status{what + ": " + device.api.describe(result), remedyFor(result)};
  if (isSticky(result)) {
    std::vector<std::string> launches = device.history.describe();
    if (!launches.empty())
      status.message += "\n  it may come from an earlier launch; the latest on cuda:" +
                        std::to_string(device.ordinal) + ", newest first:";
    for (const std::string &launch : launches)
      status.message += "\n    " + launch;
  }
  return status;
}

} // namespace sectile::nvidia
