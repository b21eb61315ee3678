//===-- LaunchTensorMaps.h - the tensor maps of a kernel's launches ---------------------------===//
// A launch makes the maps that its kernel's image lists from its arguments. The driver needs some
// tenths of a microsecond to encode each, so those of the latest launches are kept, by the values
// that they were made of: launches with the same arrays find theirs.
//
//   LaunchTensorMaps maps(image);
//   GpuTensorMap made[backends::kMostTensorMaps];
//   if (!maps.make(device, arguments.slots, made)) ... maps.problem(device, arguments.slots)
//
// Maps do not depend on the device, nor on what lies in the arrays. Thread-safe; must not be used
// by a child of fork(), as everything that asks a GPU's driver.
#pragma once

#include "backends/gpu/driver/GpuDevice.h"
#include "backends/plain/ForkSafeMutex.h"
#include "backends/plain/KernelImage.h"

#include <array>
#include <string>
#include <vector>

namespace sectile::gpu {

class LaunchTensorMaps {
public:
  /// How many launches with different values are remembered.
  static constexpr size_t kLaunches = 8;

  /// The image must outlive this, and its maps be well-formed.
  explicit LaunchTensorMaps(const backends::KernelImage &image);

  size_t count() const { return image.tensorMaps.size(); }
  /// Fills in count() maps. False where an array breaks a rule, or the driver refuses it.
  bool make(GpuDevice &device, const uint64_t *slots, GpuTensorMap *made) const;
  /// Why make() failed.
  std::string problem(GpuDevice &device, const uint64_t *slots) const;

private:
  using Values = backends::TensorMapValues;
  struct Entry {
    uint64_t lastUse = 0; // 0: empty
    std::vector<Values> values;
    std::vector<GpuTensorMap> maps;
  };
  bool find(const Values *values, GpuTensorMap *made) const;
  void keep(const Values *values, const GpuTensorMap *made) const;
  bool isOf(const Entry &entry, const Values *values) const;

  const backends::KernelImage &image;
  mutable ForkSafeMutex mutex;
  mutable std::array<Entry, kLaunches> entries; // guarded by `mutex`, as the following
  mutable size_t latest = 0;
  mutable uint64_t uses = 0;
};

} // namespace sectile::gpu
