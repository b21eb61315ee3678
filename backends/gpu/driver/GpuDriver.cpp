#include "backends/gpu/driver/GpuDriver.h"

namespace sectile::gpu {

using backends::LaunchFailure;

void GpuDriver::configure(const backends::DriverSettings &settings) {
  kernelOptions->recordBytes = settings.printBufferBytes;
  kernelOptions->printElements = settings.printElements;
  kernelOptions->printsAsTriton = settings.printsAsTriton;
}

bool GpuDriver::canRun(std::string_view targetName, std::string &reason) const {
  if (isOurs(targetName))
    return system.canRun(targetName.substr(system.names.targetPrefix.size()), reason);
  reason = "the code is not for " + std::string(system.names.gpu) + "s";
  return false;
}

int GpuDriver::suitability(std::string_view targetName, bool isMachineCode, int32_t ordinal) {
  backends::DeviceStatus ignored;
  GpuDevice *device = isOurs(targetName) ? system.device(ordinal, ignored) : nullptr;
  return device ? device->api.suitability(targetName.substr(system.names.targetPrefix.size()),
                                          isMachineCode, device->info)
                : 0;
}

int32_t GpuDriver::deviceOf(uint64_t address) {
  const GpuApi *api = system.api();
  return api && !system.isForked() ? api->deviceOf(address) : -1;
}

std::vector<std::string> GpuDriver::recentLaunches(int32_t ordinal) {
  backends::DeviceStatus ignored;
  GpuDevice *device = system.wasUsed() ? system.device(ordinal, ignored) : nullptr;
  return device ? device->history.describe() : std::vector<std::string>();
}

std::unique_ptr<backends::LoadedKernel> GpuDriver::load(const backends::KernelImage &image,
                                                        LaunchFailure &failure) {
  if (isOurs(image.targetName)) {
    if (areWellFormed(image.tensorMaps, image.arguments))
      return std::make_unique<GpuKernel>(image, sharedSystem, kernelOptions);
    failure.kind = LaunchFailure::Kind::Internal;
    failure.message = image.kernelName + ": its tensor maps are malformed";
    failure.help = "this is a fault of the compiler, not of the kernel";
    return nullptr;
  }
  failure.kind = LaunchFailure::Kind::Machine;
  failure.message = image.kernelName + ": compiled for " + image.targetName + ", not for an " +
                    std::string(system.names.gpu);
  failure.help = "compile it for one";
  return nullptr;
}

} // namespace sectile::gpu
