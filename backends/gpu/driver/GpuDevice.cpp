#include "backends/gpu/driver/GpuDevice.h"

namespace sectile::gpu {

using backends::DeviceStatus;

void DeadModules::add(GpuModule module) {
  std::lock_guard lock(guard);
  modules.push_back(module);
}

void DeadModules::unloadBatch(const GpuApi &api) {
  std::vector<GpuModule> batch;
  {
    std::lock_guard lock(guard);
    if (modules.size() >= kBatch)
      batch.swap(modules);
  }
  if (batch.empty())
    return;
  if (api.synchronizeDevice() == kGpuSuccess) {
    for (GpuModule module : batch)
      (void)api.unload(module);
    return;
  }
  std::lock_guard lock(guard);
  modules.insert(modules.end(), batch.begin(), batch.end());
}

void GpuSystem::initialize() {
  if (isInitialized.load(std::memory_order_acquire) || isForked())
    return;
  std::lock_guard lock(initializing);
  if (isInitialized.load(std::memory_order_relaxed))
    return;
  startedIn.store(forkGeneration(), std::memory_order_release);
  loadedApi = loadApi(whyNone);
  if (loadedApi) {
    int count = 0;
    GpuResult result = loadedApi->start(count, version);
    const std::string driver(names.driver), look(names.whereToLook);
    if (result != kGpuSuccess) {
      whyNone = driver + " does not start: " + loadedApi->describe(result);
      if (std::string remedy = loadedApi->remedyFor(result); !remedy.empty())
        whyNone += "; " + remedy;
      count = 0;
    } else if (count == 0) {
      whyNone = driver + " sees no device; see " + look;
    }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      found.push_back(std::make_unique<GpuDevice>(*loadedApi, static_cast<unsigned>(ordinal)));
      allInfos.push_back(found.back()->info);
    }
  }
  isInitialized.store(true, std::memory_order_release);
}

GpuApi *GpuSystem::api() {
  initialize();
  return isReady() ? loadedApi.get() : nullptr;
}

int GpuSystem::driverVersion() {
  initialize();
  return isReady() ? version : 0;
}

DeviceStatus GpuSystem::forkedStatus() const {
  return {forkedMessage, "start processes with 'spawn' (multiprocessing.set_start_method), or fork "
                         "before the first launch"};
}

const std::vector<std::unique_ptr<GpuDevice>> &GpuSystem::devices(std::string &reason) {
  initialize();
  if (!isForked()) {
    reason = whyNone;
    return found;
  }
  DeviceStatus status = forkedStatus();
  reason = status.message + "; " + status.help;
  // The thread that was looking for them may be the parent's.
  static const std::vector<std::unique_ptr<GpuDevice>> none;
  return isReady() ? found : none;
}

GpuDevice *GpuSystem::device(int32_t ordinal, DeviceStatus &status) {
  initialize();
  if (isForked()) {
    status = forkedStatus();
    return nullptr;
  }
  if (ordinal >= 0 && static_cast<size_t>(ordinal) < found.size())
    return found[static_cast<size_t>(ordinal)].get();
  if (found.empty())
    status = {"there is no " + std::string(names.gpu) + " to run on: " + whyNone,
              "`sectile doctor` shows what was found"};
  else
    status = {"there is no device " + std::string(names.backend) + ":" + std::to_string(ordinal) +
                  ", only " + std::to_string(found.size()),
              "see " + std::string(names.visibleDevices)};
  return nullptr;
}

bool GpuSystem::canRun(std::string_view arch, std::string &reason) {
  const auto &present = devices(reason);
  for (const auto &device : present)
    if (device->api.runs(arch, device->info))
      return true;
  if (!present.empty())
    reason =
        "the code is for " + std::string(arch) + ", and the device is " + present[0]->info.arch;
  return false;
}

DeviceStatus explain(const GpuDevice &device, const std::string &what, GpuResult result) {
  DeviceStatus status{what + ": " + device.api.describe(result), device.api.remedyFor(result)};
  if (device.api.isSticky(result)) {
    std::vector<std::string> launches = device.history.describe();
    if (!launches.empty())
      status.message += "\n  it may come from an earlier launch; the latest on " + device.name() +
                        ", newest first:";
    for (const std::string &launch : launches)
      status.message += "\n    " + launch;
  }
  return status;
}

} // namespace sectile::gpu
