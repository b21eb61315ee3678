//===-- Records.h - the buffers that kernels report to ----------------------------------------===//
// Pinned host memory that the device sees (DeviceAbi.h). One buffer belongs to one launch at a
// time; a device keeps those it has made for later launches.
//
//   std::unique_ptr<Records> records = pool.take(api, bytes, rangeWords, result);
//   ... launch with records->bufferAddress(), wait for the kernel ...
//   LaunchFailure failure = readRecords(image, grid, records->buffer(), style, print);
//   pool.giveBack(std::move(records));
#pragma once

#include "backends/gpu/driver/GpuApi.h"
#include "backends/plain/DeviceAbi.h"
#include "backends/plain/Driver.h"
#include "backends/plain/ForkSafeMutex.h"
#include "backends/plain/PrintFormat.h"

#include <memory>
#include <vector>

namespace sectile::gpu {

class Records {
public:
  /// Null with `result` set. The thread has entered the device.
  static std::unique_ptr<Records> make(const GpuApi &api, size_t recordBytes, size_t rangeWords,
                                       GpuResult &result);
  ~Records();
  Records(const Records &) = delete;
  Records &operator=(const Records &) = delete;

  backends::RecordBuffer &buffer() { return *header; }
  uint64_t *ranges() { return rangeMemory; }
  size_t rangeCapacity() const { return rangeWords; }
  /// As kernels see them.
  GpuAddress bufferAddress() const { return address; }
  GpuAddress rangeAddress() const {
    return address + static_cast<GpuAddress>(reinterpret_cast<char *>(rangeMemory) -
                                             reinterpret_cast<char *>(header));
  }
  /// As kernels expect to find it.
  void clear();

private:
  Records(const GpuApi &api) : api(api) {}
  const GpuApi &api;
  backends::RecordBuffer *header = nullptr;
  uint64_t *rangeMemory = nullptr;
  size_t rangeWords = 0;
  GpuAddress address = 0;
};

class RecordPool {
public:
  std::unique_ptr<Records> take(const GpuApi &api, size_t recordBytes, size_t rangeWords,
                                GpuResult &result);
  void giveBack(std::unique_ptr<Records> records);

private:
  ForkSafeMutex mutex;
  std::vector<std::unique_ptr<Records>> idle;
};

/// Prints the records in the order of the programs (as `style` says, see
/// PrintFormat.h), reports what was lost, and returns the trap if there was one. The content of the
/// buffer comes from the device and is not trusted.
backends::LaunchFailure readRecords(const backends::KernelImage &image, const backends::Grid &grid,
                                    const backends::RecordBuffer &buffer,
                                    backends::PrintStyle style,
                                    const backends::PrintHandler &print);

} // namespace sectile::gpu
