//===-- GpuDriver.h - loads and launches kernels on the GPUs of one maker ---------------------===//
// What is the same for all makers. A maker's Driver.cpp adds what its code needs to be finished and
// keyed.
#pragma once

#include "backends/gpu/driver/GpuDevice.h"
#include "backends/gpu/driver/GpuKernel.h"
#include "backends/gpu/driver/GpuServices.h"

#include <memory>
#include <string>
#include <vector>

namespace sectile::gpu {

class GpuDriver : public backends::Driver {
public:
  GpuDriver(const GpuNames &names, GpuSystem::ApiLoader loadApi)
      : sharedSystem(std::make_shared<GpuSystem>(names, std::move(loadApi))), system(*sharedSystem),
        gpuServices(system) {}

  void configure(const backends::DriverSettings &settings) override;
  bool canRun(std::string_view targetName, std::string &reason) const override;
  int suitability(std::string_view targetName, bool isMachineCode, int32_t device) override;
  const std::vector<backends::DeviceInfo> &devices(std::string &reason) override {
    return system.infos(reason);
  }
  int32_t deviceOf(uint64_t address) override;
  backends::DeviceServices *services() override { return &gpuServices; }
  std::vector<std::string> recentLaunches(int32_t ordinal) override;
  std::unique_ptr<backends::LoadedKernel> load(const backends::KernelImage &image,
                                               backends::LaunchFailure &failure) override;

protected:
  bool isOurs(std::string_view targetName) const {
    return targetName.starts_with(system.names.targetPrefix);
  }

private:
  const std::shared_ptr<GpuKernelOptions> kernelOptions = std::make_shared<GpuKernelOptions>();
  const std::shared_ptr<GpuSystem> sharedSystem;

protected:
  GpuSystem &system;

private:
  GpuServices gpuServices;
};

} // namespace sectile::gpu
