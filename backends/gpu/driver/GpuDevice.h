//===-- GpuDevice.h - one maker's GPUs in this process ----------------------------------------===//
// GpuSystem starts the maker's driver at first use, not before. No such driver survives fork(): a
// child of a process that used it gets an error that says so.
//
//   GpuSystem &system = ...;
//   DeviceStatus status;
//   GpuDevice *device = system.device(0, status);       // null: `status` says why
//   DeviceScope scope(*device);                         // it is the thread's device in this block
#pragma once

#include "backends/gpu/driver/GpuApi.h"
#include "backends/gpu/driver/LaunchHistory.h"
#include "backends/gpu/driver/Records.h"
#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace sectile::gpu {

/// Modules whose kernels are gone, until they can be unloaded. When a kernel dies its work may
/// still be queued, another thread may be capturing a graph (which waiting would spoil), or the
/// process may be ending: so nothing is asked of the driver then. The next load waits for the
/// device and unloads them; loading is refused by the driver while a graph is captured, so it has
/// not come to that.
class DeadModules {
public:
  /// Waiting for the device once for so many.
  static constexpr size_t kBatch = 32;
  void add(GpuModule module);
  /// Called after a load, on the device. What cannot be unloaded now is left for later.
  void unloadBatch(const GpuApi &api);

private:
  std::mutex guard;
  std::vector<GpuModule> modules;
};

class GpuDevice {
public:
  GpuDevice(GpuApi &api, unsigned ordinal)
      : api(api), ordinal(ordinal), info(api.describeDevice(ordinal)) {}

  GpuApi &api;
  const unsigned ordinal;
  const backends::DeviceInfo info;
  LaunchHistory history;
  RecordPool records;
  DeadModules deadModules;
  /// "cuda:0".
  std::string name() const {
    return std::string(api.names().backend) + ":" + std::to_string(ordinal);
  }
};

/// Makes the device the thread's own, and the previous one again at the end. Where there was none,
/// it stays, as it does with the CUDA runtime.
class DeviceScope {
public:
  explicit DeviceScope(GpuDevice &device)
      : api(device.api), outcome(api.enter(device.ordinal, before)) {}
  ~DeviceScope() {
    if (before) [[unlikely]]
      api.leave(before);
  }
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;
  GpuResult result() const { return outcome; }

private:
  GpuApi &api;
  GpuPlace before = nullptr;
  const GpuResult outcome;
};

class GpuSystem {
public:
  /// Returns the maker's driver; null with `reason` set where there is none.
  using ApiLoader = std::function<std::unique_ptr<GpuApi>(std::string &reason)>;
  GpuSystem(const GpuNames &names, ApiLoader loadApi)
      : names(names), loadApi(std::move(loadApi)),
        forkedMessage("this process was forked from one that had started " +
                      std::string(names.system) + ", which does not survive fork()") {}

  const GpuNames &names;
  /// Null with `status` set: no driver, no such device, or a child of fork().
  GpuDevice *device(int32_t ordinal, backends::DeviceStatus &status);
  /// Empty with `reason` set where there is none.
  const std::vector<std::unique_ptr<GpuDevice>> &devices(std::string &reason);
  const std::vector<backends::DeviceInfo> &infos(std::string &reason) {
    (void)devices(reason);
    static const std::vector<backends::DeviceInfo> none;
    return isReady() ? allInfos : none;
  }
  /// May code for `arch` run on one of them? Otherwise `reason` says what is lacking.
  bool canRun(std::string_view arch, std::string &reason);
  /// As the maker numbers it: 13000 for CUDA 13.0. 0 without a driver.
  int driverVersion();
  /// Null without a driver.
  GpuApi *api();
  /// The driver was started here, or begun to be, by another process that then forked.
  bool isForked() const {
    uint64_t generation = startedIn.load(std::memory_order_acquire);
    return generation != kNever && generation != forkGeneration();
  }
  backends::DeviceStatus forkedStatus() const;
  bool wasUsed() const { return isReady(); }

private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  /// False also in a child that was forked while it was initialised: nothing may be read then.
  bool isReady() const { return isInitialized.load(std::memory_order_acquire); }
  void initialize();
  const ApiLoader loadApi;
  const std::string forkedMessage;
  std::mutex initializing;
  std::atomic<bool> isInitialized{false};
  /// The fork generation of the process that initialises it.
  std::atomic<uint64_t> startedIn{kNever};
  std::unique_ptr<GpuApi> loadedApi;
  std::string whyNone;
  int version = 0;
  std::vector<std::unique_ptr<GpuDevice>> found;
  std::vector<backends::DeviceInfo> allInfos;
};

/// "add: launch: CUDA_ERROR_... (...)" with a remedy, and the device's latest launches where the
/// error may be theirs.
backends::DeviceStatus explain(const GpuDevice &device, const std::string &what, GpuResult result);

} // namespace sectile::gpu
