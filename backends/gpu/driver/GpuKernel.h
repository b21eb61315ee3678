//===-- GpuKernel.h - a compiled kernel on the GPUs of this process ---------------------------===//
// Loaded on a device when it first runs there; the modules of kernels that are gone are unloaded
// (DeadModules), but for those that a graph has captured: it may be launched at any time.
#pragma once

#include "backends/gpu/driver/GpuDevice.h"
#include "backends/gpu/driver/LaunchTensorMaps.h"
#include "backends/plain/DeviceAbi.h"
#include "backends/plain/Driver.h"

#include <array>
#include <atomic>
#include <memory>

namespace sectile::gpu {

/// May be set while kernels run.
struct GpuKernelOptions {
  std::atomic<uint64_t> recordBytes{0};   // for prints
  std::atomic<uint64_t> printElements{0}; // shown of a tile; 0: all
  std::atomic<bool> printsAsTriton{false};
};

class GpuKernel final : public backends::LoadedKernel {
public:
  GpuKernel(const backends::KernelImage &image, std::shared_ptr<GpuSystem> system,
            std::shared_ptr<const GpuKernelOptions> options);
  ~GpuKernel() override;

  backends::KernelResources resources() const override;
  bool isAsynchronous() const override { return !reports(); }
  bool combinesInDeviceMemory(const backends::LaunchArguments &arguments) const override;
  bool canMapArrays(const backends::LaunchArguments &arguments) const override;
  backends::LaunchFailure launch(const backends::Grid &grid,
                                 const backends::LaunchArguments &arguments,
                                 const backends::PrintHandler &print) const override;
  /// Null for kernels that report: each launch of theirs has records of its own.
  std::unique_ptr<backends::PreparedLaunch>
  prepare(const backends::Grid &grid, const backends::LaunchArguments &arguments) const override;

  struct Loaded {
    GpuDevice *device;
    GpuModule module;
    GpuFunction function;
    GpuFunctionFacts facts;
    GpuGridLimits limits;
    /// Blocks that the device runs at a time; of a kernel whose blocks run several programs.
    int64_t workers = 0;
  };
  /// On the device, now if it was not. Null with `failure` set.
  const Loaded *loadedOn(int32_t ordinal, backends::LaunchFailure &failure) const;

private:
  /// What the kernel's parameters are besides the arguments; null where it has none of a kind.
  struct Additional {
    const Records *records = nullptr;
    GpuTensorMap *maps = nullptr;
  };
  class Prepared;
  const Loaded *loadOn(int32_t ordinal, backends::LaunchFailure &failure) const;
  bool fits(const GpuDevice &device, const GpuFunctionFacts &facts,
            backends::LaunchFailure &failure) const;
  /// Returns along how many axes a launch tells the kernel the number of programs.
  size_t toldAxes() const {
    return hidden & backends::kHiddenGrid ? 3 : hidden & backends::kHiddenPrograms ? 1 : 0;
  }
  backends::LaunchFailure tooManyToShare(const backends::Grid &grid) const;
  backends::LaunchFailure tooLarge(const backends::Grid &grid, const GpuGridLimits &limits) const;
  bool reports() const { return hidden & (backends::kHiddenRanges | backends::kHiddenRecords); }
  bool isPersistent() const { return hidden & (backends::kHiddenPrograms | backends::kHiddenGrid); }
  /// Returns the grid whose rows the kernel's blocks share: all the programs may be one row.
  backends::Grid sharedGrid(const backends::Grid &grid) const {
    return hidden & backends::kHiddenGrid ? backends::Grid{grid.x * grid.y * grid.z, 1, 1} : grid;
  }
  GpuLaunchShape shapeOf(const backends::Grid &grid, GpuStream stream, int64_t workers = 0) const;
  backends::LaunchFailure launchWithRecords(const Loaded &loaded, const backends::Grid &grid,
                                            const backends::LaunchArguments &arguments,
                                            const backends::PrintHandler &print,
                                            GpuTensorMap *maps) const;
  backends::LaunchFailure launchWithMaps(const Loaded &loaded, const backends::Grid &grid,
                                         const backends::LaunchArguments &arguments,
                                         const backends::PrintHandler &print) const;
  backends::LaunchFailure start(const Loaded &loaded, const backends::Grid &grid,
                                const backends::LaunchArguments &arguments,
                                const Additional &additional) const;
  /// The driver's call, in the stream of `shape`.
  GpuResult begin(const Loaded &loaded, const backends::Grid &grid, const uint64_t *slots,
                  const GpuLaunchShape &shape, void **parameters) const;
  [[gnu::cold, gnu::noinline]] backends::LaunchFailure refuseForked() const;
  [[gnu::cold, gnu::noinline]] backends::LaunchFailure refused(const GpuDevice &device,
                                                               GpuResult result) const;

  static constexpr size_t kMostDevices = 64;
  const backends::KernelImage &image;
  /// Kernels may outlive the driver that loaded them.
  const std::shared_ptr<GpuSystem> system;
  const std::shared_ptr<const GpuKernelOptions> options;
  const std::shared_ptr<const KernelIdentity> identity;
  const unsigned threads, sharedBytes, clusterSize;
  const bool isCooperative, isDependent;
  const int32_t hidden;
  /// Of how many arguments the history keeps the values.
  const size_t notedSlots;
  /// Null where the image lists none.
  const std::unique_ptr<const LaunchTensorMaps> tensorMaps;
  mutable std::mutex loading;
  mutable std::array<std::atomic<const Loaded *>, kMostDevices> loaded{};
  mutable std::atomic<bool> wasCaptured{false};
};

} // namespace sectile::gpu
