//===-- GpuServices.h - memory, streams and times of GPUs -------------------------------------===//
#pragma once

#include "backends/gpu/driver/GpuDevice.h"

namespace sectile::gpu {

class GpuServices final : public backends::DeviceServices {
public:
  explicit GpuServices(GpuSystem &system) : system(system) {}

  backends::DeviceStatus allocate(int32_t device, size_t bytes, uint64_t &address) override;
  void release(int32_t device, uint64_t address) override;
  backends::DeviceStatus copyToDevice(int32_t device, uint64_t target, const void *source,
                                      size_t bytes, void *stream) override;
  backends::DeviceStatus copyToHost(int32_t device, void *target, uint64_t source, size_t bytes,
                                    void *stream) override;
  backends::DeviceStatus fill(int32_t device, uint64_t address, uint8_t byte, size_t bytes,
                              void *stream) override;
  backends::DeviceStatus makeStream(int32_t device, void *&stream) override;
  void releaseStream(int32_t device, void *stream) override;
  backends::DeviceStatus synchronize(int32_t device, void *stream) override;
  backends::DeviceStatus makeEvent(int32_t device, void *&event) override;
  void releaseEvent(int32_t device, void *event) override;
  backends::DeviceStatus recordEvent(int32_t device, void *event, void *stream) override;
  backends::DeviceStatus elapsed(int32_t device, void *from, void *to,
                                 float &milliseconds) override;
  uint64_t launchCount(int32_t device, void *&stream) override;

private:
  /// `body(api)` on the device; what it returns is explained as `what`.
  template <class Body>
  backends::DeviceStatus on(int32_t device, const char *what, const Body &body);
  GpuSystem &system;
};

} // namespace sectile::gpu
