//===-- Device.h - what a GPU offers, and its memory ------------------------------------------===//
// Plain C++. Devices go by their index, as in "cuda:1"; addresses are the device's, streams and
// events the driver's own handles (null: the default stream). `DeviceServices` is for programs that
// use no other library to put data on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sectile::backends {

/// What a device offers. Sizes are in bytes, registers in 32 bits each.
struct DeviceInfo {
  std::string name; // "NVIDIA H200"
  std::string arch; // "sm_90a"
  int32_t capability = 0;
  int32_t multiprocessorCount = 0, warpSize = 32;
  int32_t maxThreadsPerBlock = 0, maxThreadsPerMultiprocessor = 0;
  int32_t registersPerBlock = 0, registersPerMultiprocessor = 0;
  int64_t sharedBytesPerBlock = 0, sharedBytesPerMultiprocessor = 0;
  int64_t l2Bytes = 0, memoryBytes = 0;
  int32_t memoryClockKilohertz = 0, memoryBusBits = 0, clockKilohertz = 0;
};

/// Why something could not be done; ok() when it was.
struct DeviceStatus {
  std::string message, help;
  bool ok() const { return message.empty(); }
};

/// Memory, streams and times of a device.
class DeviceServices {
public:
  virtual ~DeviceServices() = default;
  virtual DeviceStatus allocate(int32_t device, size_t bytes, uint64_t &address) = 0;
  virtual void release(int32_t device, uint64_t address) = 0;
  /// Both copies are over when the call returns.
  virtual DeviceStatus copyToDevice(int32_t device, uint64_t target, const void *source,
                                    size_t bytes, void *stream) = 0;
  virtual DeviceStatus copyToHost(int32_t device, void *target, uint64_t source, size_t bytes,
                                  void *stream) = 0;
  /// Asynchronous.
  virtual DeviceStatus fill(int32_t device, uint64_t address, uint8_t byte, size_t bytes,
                            void *stream) = 0;
  virtual DeviceStatus makeStream(int32_t device, void *&stream) = 0;
  virtual void releaseStream(int32_t device, void *stream) = 0;
  /// Waits for all that was put into the stream.
  virtual DeviceStatus synchronize(int32_t device, void *stream) = 0;
  virtual DeviceStatus makeEvent(int32_t device, void *&event) = 0;
  virtual void releaseEvent(int32_t device, void *event) = 0;
  virtual DeviceStatus recordEvent(int32_t device, void *event, void *stream) = 0;
  /// Waits for `to`.
  virtual DeviceStatus elapsed(int32_t device, void *from, void *to, float &milliseconds) = 0;
  /// How many launches there have been on the device, and the stream of the latest.
  virtual uint64_t launchCount(int32_t device, void *&stream) = 0;
};

} // namespace sectile::backends
