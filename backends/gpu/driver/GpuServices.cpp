#include "backends/gpu/driver/GpuServices.h"

namespace sectile::gpu {

using backends::DeviceStatus;

template <class Body>
DeviceStatus GpuServices::on(int32_t place, const char *what, const Body &body) {
  DeviceStatus status;
  GpuDevice *device = system.device(place, status);
  if (!device)
    return status;
  DeviceScope scope(*device);
  GpuResult result = scope.result();
  if (result == kGpuSuccess)
    result = body(device->api);
  return result == kGpuSuccess ? status : explain(*device, device->name() + ": " + what, result);
}

DeviceStatus GpuServices::allocate(int32_t device, size_t bytes, uint64_t &address) {
  GpuAddress made = 0;
  // The driver refuses to allocate nothing.
  DeviceStatus status = on(device, "no memory", [&](const GpuApi &api) {
    return api.allocate(bytes ? bytes : 1, made);
  });
  if (!status.ok())
    status.message += " (" + std::to_string(bytes) + " bytes)";
  address = made;
  return status;
}

void GpuServices::release(int32_t device, uint64_t address) {
  (void)on(device, "release", [&](const GpuApi &api) { return api.release(address); });
}

DeviceStatus GpuServices::copyToDevice(int32_t device, uint64_t target, const void *source,
                                       size_t bytes, void *stream) {
  return on(device, "copy to the device", [&](const GpuApi &api) {
    GpuResult result = bytes ? api.copyToDevice(target, source, bytes, stream) : kGpuSuccess;
    return result == kGpuSuccess ? api.synchronize(stream) : result;
  });
}

DeviceStatus GpuServices::copyToHost(int32_t device, void *target, uint64_t source, size_t bytes,
                                     void *stream) {
  return on(device, "copy to the host", [&](const GpuApi &api) {
    GpuResult result = bytes ? api.copyToHost(target, source, bytes, stream) : kGpuSuccess;
    return result == kGpuSuccess ? api.synchronize(stream) : result;
  });
}

DeviceStatus GpuServices::fill(int32_t device, uint64_t address, uint8_t byte, size_t bytes,
                               void *stream) {
  return on(device, "fill", [&](const GpuApi &api) {
    return bytes ? api.fill(address, byte, bytes, stream) : kGpuSuccess;
  });
}

DeviceStatus GpuServices::makeStream(int32_t device, void *&stream) {
  GpuStream made = nullptr;
  DeviceStatus status =
      on(device, "stream", [&](const GpuApi &api) { return api.makeStream(made); });
  stream = made;
  return status;
}

void GpuServices::releaseStream(int32_t device, void *stream) {
  (void)on(device, "stream", [&](const GpuApi &api) { return api.releaseStream(stream); });
}

DeviceStatus GpuServices::synchronize(int32_t device, void *stream) {
  return on(device, "synchronize", [&](const GpuApi &api) { return api.synchronize(stream); });
}

DeviceStatus GpuServices::makeEvent(int32_t device, void *&event) {
  GpuEvent made = nullptr;
  DeviceStatus status = on(device, "event", [&](const GpuApi &api) { return api.makeEvent(made); });
  event = made;
  return status;
}

void GpuServices::releaseEvent(int32_t device, void *event) {
  (void)on(device, "event", [&](const GpuApi &api) { return api.releaseEvent(event); });
}

DeviceStatus GpuServices::recordEvent(int32_t device, void *event, void *stream) {
  return on(device, "event", [&](const GpuApi &api) { return api.record(event, stream); });
}

DeviceStatus GpuServices::elapsed(int32_t device, void *from, void *to, float &milliseconds) {
  return on(device, "event", [&](const GpuApi &api) {
    GpuResult result = api.wait(to);
    return result == kGpuSuccess ? api.elapsed(from, to, milliseconds) : result;
  });
}

uint64_t GpuServices::launchCount(int32_t place, void *&stream) {
  DeviceStatus ignored;
  GpuDevice *device = system.wasUsed() ? system.device(place, ignored) : nullptr;
  LaunchHistory::Last last = device ? device->history.last() : LaunchHistory::Last{};
  stream = last.stream;
  return last.count;
}

} // namespace sectile::gpu
