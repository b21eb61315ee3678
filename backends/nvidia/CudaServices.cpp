#include "backends/nvidia/CudaServices.h"

namespace sectile::nvidia {

using backends::DeviceStatus;

namespace {

CudaStream streamOf(void *handle) {
  return static_cast<CudaStream>(handle);
}
CudaEvent eventOf(void *handle) {
  return static_cast<CudaEvent>(handle);
}

} // namespace

template <class Body>
DeviceStatus CudaServices::on(int32_t place, const char *what, const Body &body) {
  DeviceStatus status;
  CudaDevice *device = system.device(place, status);
  if (!device)
    return status;
  ContextScope scope(*device);
  CudaResult result = scope.result();
  if (result == kCudaSuccess)
    result = body(device->api);
  return result == kCudaSuccess
             ? status
             : explain(*device, "cuda:" + std::to_string(place) + ": " + what, result);
}

DeviceStatus CudaServices::allocate(int32_t device, size_t bytes, uint64_t &address) {
  CudaAddress made = 0;
  // The driver refuses to allocate nothing.
  DeviceStatus status = on(device, "no memory", [&](const CudaApi &api) {
    return api.memAlloc(&made, bytes ? bytes : 1);
  });
  if (!status.ok())
    status.message += " (" + std::to_string(bytes) + " bytes)";
  address = made;
  return status;
}

void CudaServices::release(int32_t device, uint64_t address) {
  (void)on(device, "release", [&](const CudaApi &api) { return api.memFree(address); });
}

DeviceStatus CudaServices::copyToDevice(int32_t device, uint64_t target, const void *source,
                                        size_t bytes, void *stream) {
  return on(device, "copy to the device", [&](const CudaApi &api) {
    CudaResult result =
        bytes ? api.memcpyToDeviceAsync(target, source, bytes, streamOf(stream)) : kCudaSuccess;
    return result == kCudaSuccess ? api.streamSynchronize(streamOf(stream)) : result;
  });
}

DeviceStatus CudaServices::copyToHost(int32_t device, void *target, uint64_t source, size_t bytes,
                                      void *stream) {
  return on(device, "copy to the host", [&](const CudaApi &api) {
    CudaResult result =
        bytes ? api.memcpyToHostAsync(target, source, bytes, streamOf(stream)) : kCudaSuccess;
    return result == kCudaSuccess ? api.streamSynchronize(streamOf(stream)) : result;
  });
}

DeviceStatus CudaServices::fill(int32_t device, uint64_t address, uint8_t byte, size_t bytes,
                                void *stream) {
  return on(device, "fill", [&](const CudaApi &api) {
    return bytes ? api.memsetAsync(address, byte, bytes, streamOf(stream)) : kCudaSuccess;
  });
}

DeviceStatus CudaServices::makeStream(int32_t device, void *&stream) {
  CudaStream made = nullptr;
  DeviceStatus status = on(device, "stream", [&](const CudaApi &api) {
    return api.streamCreate(&made, kStreamNonBlocking);
  });
  stream = made;
  return status;
}

void CudaServices::releaseStream(int32_t device, void *stream) {
  (void)on(device, "stream",
           [&](const CudaApi &api) { return api.streamDestroy(streamOf(stream)); });
}

DeviceStatus CudaServices::synchronize(int32_t device, void *stream) {
  return on(device, "synchronize",
            [&](const CudaApi &api) { return api.streamSynchronize(streamOf(stream)); });
}

DeviceStatus CudaServices::makeEvent(int32_t device, void *&event) {
  CudaEvent made = nullptr;
  DeviceStatus status =
      on(device, "event", [&](const CudaApi &api) { return api.eventCreate(&made, 0); });
  event = made;
  return status;
}

void CudaServices::releaseEvent(int32_t device, void *event) {
  (void)on(device, "event", [&](const CudaApi &api) { return api.eventDestroy(eventOf(event)); });
}

DeviceStatus CudaServices::recordEvent(int32_t device, void *event, void *stream) {
  return on(device, "event",
            [&](const CudaApi &api) { return api.eventRecord(eventOf(event), streamOf(stream)); });
}

DeviceStatus CudaServices::elapsed(int32_t device, void *from, void *to, float &milliseconds) {
  return on(device, "event", [&](const CudaApi &api) {
    CudaResult result = api.eventSynchronize(eventOf(to));
    return result == kCudaSuccess ? api.eventElapsedTime(&milliseconds, eventOf(from), eventOf(to))
                                  : result;
  });
}

uint64_t CudaServices::launchCount(int32_t place, void *&stream) {
  DeviceStatus ignored;
  CudaDevice *device = system.wasUsed() ? system.device(place, ignored) : nullptr;
  LaunchHistory::Last last = device ? device->history.last() : LaunchHistory::Last{};
  stream = last.stream;
  return last.count;
}

} // namespace sectile::nvidia
