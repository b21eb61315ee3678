//===-- CudaDevice.h - the GPUs of this process -----------------------------------------------===//
// CudaSystem is initialised at first use, not before; each device's primary context (the one that
// torch, CuPy and the CUDA runtime use too) is retained when something is first done on it, and
// kept. CUDA does not survive fork(): a child of a process that used it gets an error that says so.
//
//   CudaSystem &system = ...;
//   DeviceStatus status;
//   CudaDevice *device = system.device(0, status);      // null: `status` says why
//   ContextScope scope(*device, status);                // its context is current in this block
#pragma once

#include "backends/nvidia/CudaApi.h"
#include "backends/nvidia/LaunchHistory.h"
#include "backends/nvidia/Records.h"
#include "backends/plain/Device.h"
#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace sectile::nvidia {

/// Modules whose kernels are gone, until they can be unloaded. When a kernel dies its work may
/// still be queued, another thread may be capturing a graph (which waiting would spoil), or the
/// process may be ending: so nothing is asked of the driver then. The next load waits for the
/// device and unloads them; loading is refused by the driver while a graph is captured, so it has
/// not come to that.
class DeadModules {
public:
  /// Waiting for the device once for so many.
  static constexpr size_t kBatch = 32;
  void add(CudaModule module);
  /// After a load; the device's context is current. What cannot be unloaded now is left for later.
  void unloadBatch(const CudaApi &api);

private:
  std::mutex guard;
  std::vector<CudaModule> modules;
};

class CudaDevice {
public:
  CudaDevice(const CudaApi &api, unsigned ordinal, CudaDeviceHandle handle);

  const CudaApi &api;
  const unsigned ordinal;
  const CudaDeviceHandle handle;
  const backends::DeviceInfo info;
  LaunchHistory history;
  RecordPool records;
  DeadModules deadModules;

  /// Retained now if it was not. Null with `result` set.
  CudaContext context(CudaResult &result);

private:
  std::mutex retaining;
  std::atomic<CudaContext> retained{nullptr};
};

/// Makes the device's context current, and the previous one again at the end. Where there was none,
/// it stays, as it does with the CUDA runtime.
class ContextScope {
public:
  explicit ContextScope(CudaDevice &device);
  ~ContextScope() {
    if (previous) [[unlikely]]
      (void)api.contextSetCurrent(previous);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  CudaResult result() const { return outcome; }

private:
  const CudaApi &api;
  CudaContext previous = nullptr;
  CudaResult outcome = kCudaSuccess;
};

class CudaSystem {
public:
  using ApiLoader = std::function<const CudaApi *(std::string &reason)>;
  explicit CudaSystem(ApiLoader loadApi) : loadApi(std::move(loadApi)) {}

  /// Null with `status` set: no driver, no such device, or a child of fork().
  CudaDevice *device(int32_t ordinal, backends::DeviceStatus &status);
  /// Empty with `reason` set where there is none.
  const std::vector<std::unique_ptr<CudaDevice>> &devices(std::string &reason);
  const std::vector<backends::DeviceInfo> &infos(std::string &reason) {
    (void)devices(reason);
    static const std::vector<backends::DeviceInfo> none;
    return isReady() ? allInfos : none;
  }
  /// 13000 for CUDA 13.0; 0 without a driver.
  int driverVersion();
  const CudaApi *api();
  /// CUDA was initialised here, or begun to be, by another process that then forked.
  bool isForked() const {
    uint64_t generation = startedIn.load(std::memory_order_acquire);
    return generation != kNever && generation != forkGeneration();
  }
  bool wasUsed() const { return isReady(); }

private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  /// False also in a child that was forked while it was initialised: nothing may be read then.
  bool isReady() const { return isInitialized.load(std::memory_order_acquire); }
  void initialize();
  const ApiLoader loadApi;
  std::mutex initializing;
  std::atomic<bool> isInitialized{false};
  /// The fork generation of the process that initialises it.
  std::atomic<uint64_t> startedIn{kNever};
  const CudaApi *loadedApi = nullptr;
  std::string whyNone;
  int version = 0;
  std::vector<std::unique_ptr<CudaDevice>> found;
  std::vector<backends::DeviceInfo> allInfos;
};

/// "add: launch: CUDA_ERROR_... (...)" with a remedy, and the device's latest launches where the
/// error may be theirs.
backends::DeviceStatus explain(const CudaDevice &device, const std::string &what,
                               CudaResult result);

extern const char *const kForkedMessage, *const kForkedHelp;

} // namespace sectile::nvidia
