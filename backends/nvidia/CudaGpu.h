//===-- CudaGpu.h - NVIDIA's driver in the shape of all makers' -------------------------------===//
// Each device's primary context (the one that torch, CuPy and the CUDA runtime use too) is retained
// when something is first done on it, and kept.
#pragma once

#include "backends/gpu/driver/GpuApi.h"
#include "backends/nvidia/CudaApi.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace sectile::nvidia {

extern const gpu::GpuNames kCudaNames;

class CudaGpu final : public gpu::GpuApi {
public:
  explicit CudaGpu(const CudaApi &api) : api(api) {}

  const CudaApi &api;

  const gpu::GpuNames &names() const override { return kCudaNames; }
  std::string describe(gpu::GpuResult result) const override { return api.describe(result); }
  std::string remedyFor(gpu::GpuResult result) const override { return nvidia::remedyFor(result); }
  bool isSticky(gpu::GpuResult result) const override { return nvidia::isSticky(result); }
  gpu::GpuResult start(int &deviceCount, int &version) override;
  backends::DeviceInfo describeDevice(unsigned device) const override;
  bool runs(std::string_view arch, const backends::DeviceInfo &device) const override;
  int suitability(std::string_view arch, bool isMachineCode,
                  const backends::DeviceInfo &device) const override;
  gpu::GpuGridLimits mostPrograms(unsigned threads) const override;
  gpu::GpuResult enter(unsigned device, gpu::GpuPlace &before) override;
  void leave(gpu::GpuPlace before) override;

  gpu::GpuResult synchronizeDevice() const override { return api.contextSynchronize(); }
  gpu::GpuResult load(const std::string &code, gpu::GpuLoadedCode &loaded) const override;
  gpu::GpuResult unload(gpu::GpuModule module) const override;
  gpu::GpuResult find(gpu::GpuModule module, const char *name,
                      gpu::GpuFunction &function) const override;
  gpu::GpuFunctionFacts describeFunction(gpu::GpuFunction function) const override;
  int32_t residentBlocks(gpu::GpuFunction function,
                         const gpu::GpuLaunchShape &shape) const override;
  gpu::GpuResult prepare(gpu::GpuFunction function,
                         const gpu::GpuLaunchShape &shape) const override;
  gpu::GpuResult launch(gpu::GpuFunction function, const gpu::GpuLaunchShape &shape,
                        void **parameters) const override;
  gpu::GpuResult encodeTensorMap(const backends::TensorMap &map,
                                 const backends::TensorMapValues &values,
                                 gpu::GpuTensorMap &made) const override;
  gpu::GpuResult allocate(size_t bytes, gpu::GpuAddress &address) const override;
  gpu::GpuResult release(gpu::GpuAddress address) const override;
  gpu::GpuResult copyToDevice(gpu::GpuAddress target, const void *source, size_t bytes,
                              gpu::GpuStream stream) const override;
  gpu::GpuResult copyToHost(void *target, gpu::GpuAddress source, size_t bytes,
                            gpu::GpuStream stream) const override;
  gpu::GpuResult fill(gpu::GpuAddress address, uint8_t byte, size_t bytes,
                      gpu::GpuStream stream) const override;
  gpu::GpuResult allocateHost(size_t bytes, void *&memory, gpu::GpuAddress &address) const override;
  void releaseHost(void *memory) const override { (void)api.hostFree(memory); }
  int32_t deviceOf(gpu::GpuAddress address) const override;
  bool isMemoryOf(unsigned device, gpu::GpuAddress address) const override;
  gpu::GpuResult makeStream(gpu::GpuStream &stream) const override;
  gpu::GpuResult releaseStream(gpu::GpuStream stream) const override;
  gpu::GpuResult synchronize(gpu::GpuStream stream) const override;
  gpu::GpuResult isCapturing(gpu::GpuStream stream, bool &answer) const override;
  gpu::GpuResult makeEvent(gpu::GpuEvent &event) const override;
  gpu::GpuResult releaseEvent(gpu::GpuEvent event) const override;
  gpu::GpuResult record(gpu::GpuEvent event, gpu::GpuStream stream) const override;
  gpu::GpuResult wait(gpu::GpuEvent event) const override;
  gpu::GpuResult elapsed(gpu::GpuEvent from, gpu::GpuEvent to, float &milliseconds) const override;

private:
  struct Device {
    explicit Device(CudaDeviceHandle handle) : handle(handle) {}
    const CudaDeviceHandle handle;
    std::mutex retaining;
    std::atomic<CudaContext> retained{nullptr};
  };
  /// Null with `result` set.
  CudaContext contextOf(Device &device, CudaResult &result) const;
  /// The rest of two functions that are in the way of each launch, apart from their code.
  [[gnu::cold, gnu::noinline]] CudaContext retain(Device &device, CudaResult &result) const;
  [[gnu::cold, gnu::noinline]] gpu::GpuResult launchWithAttributes(gpu::GpuFunction function,
                                                                   const gpu::GpuLaunchShape &shape,
                                                                   CudaLaunchConfig &config,
                                                                   void **parameters) const;
  std::vector<std::unique_ptr<Device>> devices; // from start() on
};

} // namespace sectile::nvidia
