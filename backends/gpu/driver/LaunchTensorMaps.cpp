#include "backends/gpu/driver/LaunchTensorMaps.h"

#include <algorithm>

namespace sectile::gpu {

using backends::TensorMap;
using backends::TensorMapValues;

LaunchTensorMaps::LaunchTensorMaps(const backends::KernelImage &image) : image(image) {
  for (Entry &entry : entries) {
    entry.values.resize(count());
    entry.maps.resize(count());
  }
}

bool LaunchTensorMaps::make(GpuDevice &device, const uint64_t *slots, GpuTensorMap *made) const {
  const std::vector<TensorMap> &maps = image.tensorMaps;
  TensorMapValues values[backends::kMostTensorMaps];
  for (size_t i = 0; i < maps.size(); ++i)
    values[i] = valuesOf(maps[i], image.arguments, slots);
  if (find(values, made)) [[likely]]
    return true;
  for (size_t i = 0; i < maps.size(); ++i)
    if (!isReadable(maps[i], values[i]))
      return false;
  DeviceScope scope(device);
  if (scope.result() != kGpuSuccess)
    return false;
  for (size_t i = 0; i < maps.size(); ++i)
    if (device.api.encodeTensorMap(maps[i], values[i], made[i]) != kGpuSuccess)
      return false;
  keep(values, made);
  return true;
}

std::string LaunchTensorMaps::problem(GpuDevice &device, const uint64_t *slots) const {
  for (const TensorMap &map : image.tensorMaps) {
    const std::string broken =
        problemOf(map, image.arguments, valuesOf(map, image.arguments, slots));
    if (!broken.empty())
      return broken;
  }
  DeviceScope scope(device);
  for (const TensorMap &map : image.tensorMaps) {
    GpuTensorMap ignored;
    GpuResult result = scope.result();
    if (result == kGpuSuccess)
      result = device.api.encodeTensorMap(map, valuesOf(map, image.arguments, slots), ignored);
    if (result != kGpuSuccess)
      return "no tensor map can be made of '" + image.arguments[map.argument].name +
             "': " + device.api.describe(result);
  }
  return "the driver refused a tensor map, and does not any more";
}

bool LaunchTensorMaps::isOf(const Entry &entry, const Values *values) const {
  return entry.lastUse && std::equal(entry.values.begin(), entry.values.end(), values);
}

bool LaunchTensorMaps::find(const Values *values, GpuTensorMap *made) const {
  std::lock_guard lock(mutex);
  if (!isOf(entries[latest], values)) {
    auto found = std::find_if(entries.begin(), entries.end(),
                              [&](const Entry &entry) { return isOf(entry, values); });
    if (found == entries.end())
      return false;
    latest = static_cast<size_t>(found - entries.begin());
  }
  Entry &entry = entries[latest];
  entry.lastUse = ++uses;
  std::copy(entry.maps.begin(), entry.maps.end(), made);
  return true;
}

void LaunchTensorMaps::keep(const Values *values, const GpuTensorMap *made) const {
  std::lock_guard lock(mutex);
  // Another thread may have kept the same ones meanwhile.
  auto place = std::find_if(entries.begin(), entries.end(),
                            [&](const Entry &entry) { return isOf(entry, values); });
  if (place == entries.end())
    place =
        std::min_element(entries.begin(), entries.end(), [](const Entry &one, const Entry &other) {
          return one.lastUse < other.lastUse;
        });
  std::copy_n(values, count(), place->values.begin());
  std::copy_n(made, count(), place->maps.begin());
  place->lastUse = ++uses;
  latest = static_cast<size_t>(place - entries.begin());
}

} // namespace sectile::gpu
