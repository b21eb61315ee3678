//===-- HipGpu.h - AMD's HIP runtime in the shape of all makers' drivers ----------------------===//
// HIP has no contexts to speak of: a thread has a current device, which is put back after each use.
#pragma once

#include "backends/amd/HipApi.h"
#include "backends/gpu/driver/GpuApi.h"

namespace sectile::amd {

extern const gpu::GpuNames kHipNames;

class HipGpu final : public gpu::GpuApi {
public:
  explicit HipGpu(const HipApi &api) : api(api) {}

  const gpu::GpuNames &names() const override { return kHipNames; }
  std::string describe(gpu::GpuResult result) const override { return api.describe(result); }
  std::string remedyFor(gpu::GpuResult result) const override { return amd::remedyFor(result); }
  bool isSticky(gpu::GpuResult result) const override { return amd::isSticky(result); }
  gpu::GpuResult start(int &deviceCount, int &version) override;
  backends::DeviceInfo describeDevice(unsigned device) const override;
  /// Code objects run on the chip that they were made for, and on no other.
  bool runs(std::string_view arch, const backends::DeviceInfo &device) const override {
    return arch == device.arch;
  }
  int suitability(std::string_view arch, bool /*isMachineCode*/,
                  const backends::DeviceInfo &device) const override {
    return runs(arch, device);
  }
  gpu::GpuGridLimits mostPrograms(unsigned threads) const override;
  gpu::GpuResult enter(unsigned device, gpu::GpuPlace &before) override;
  void leave(gpu::GpuPlace before) override;

  gpu::GpuResult synchronizeDevice() const override { return api.deviceSynchronize(); }
  gpu::GpuResult load(const std::string &code, gpu::GpuLoadedCode &loaded) const override;
  gpu::GpuResult unload(gpu::GpuModule module) const override;
  gpu::GpuResult find(gpu::GpuModule module, const char *name,
                      gpu::GpuFunction &function) const override;
  gpu::GpuFunctionFacts describeFunction(gpu::GpuFunction function) const override;
  /// HIP is not asked: only kernels that a copy engine feeds want to know.
  int32_t residentBlocks(gpu::GpuFunction, const gpu::GpuLaunchShape &) const override { return 1; }
  /// Shared memory is part of the code: there is nothing to reserve.
  gpu::GpuResult prepare(gpu::GpuFunction, const gpu::GpuLaunchShape &) const override {
    return gpu::kGpuSuccess;
  }
  gpu::GpuResult launch(gpu::GpuFunction function, const gpu::GpuLaunchShape &shape,
                        void **parameters) const override;
  /// AMD's GPUs have no engine that reads arrays by tensor maps.
  gpu::GpuResult encodeTensorMap(const backends::TensorMap &, const backends::TensorMapValues &,
                                 gpu::GpuTensorMap &) const override {
    return kHipNotSupported;
  }
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
  const HipApi &api;
  int version = 0; // 0: not known
};

} // namespace sectile::amd
