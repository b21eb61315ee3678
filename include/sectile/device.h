//===-- device.h - where arrays lie and kernels run, from C++ -------------------------------===//
//   Device device = Device::best();                  // the first GPU, or else the CPU
//   DeviceBuffer<float> x(device, host), out(device, host.size());
//   add.launch({cdiv(n, 1024)}, x, out, n, Const{1024});
//   std::vector<float> result = out.download();      // waits for the kernel
//
// A launch runs where its buffers are; pointers into memory of a GPU say nothing, so name the
// device: add.on(Device::gpu(0)).launch(...). Launches on a GPU are asynchronous; `Stream` puts
// them in order of its own, Device::synchronize() waits. Everything here throws
// Error(Kind::Machine).
#pragma once

#include "jit/runtime/Runtime.h"

#include <cstring>
#include <new>
#include <sectile/error.h>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sectile {

class Device {
public:
  static Device cpu() { return Device(-1); }
  /// A GPU of this process: NVIDIA's where there are any, else AMD's.
  static Device gpu(int index = 0) { return Device(index); }
  /// The same, by the name that programs for NVIDIA's GPUs know.
  static Device cuda(int index = 0) { return gpu(index); }
  /// The first GPU, or the CPU where there is none.
  static Device best() { return gpuCount() > 0 ? gpu(0) : cpu(); }
  static int gpuCount() {
    std::string reason;
    return static_cast<int>(driver().devices(reason).size());
  }

  bool isGpu() const { return number >= 0; }
  /// The index of the GPU; -1 for the CPU.
  int index() const { return number; }
  /// "cpu", "cuda:0", "hip:0".
  std::string name() const { return isGpu() ? jit::Runtime::instance().deviceName(number) : "cpu"; }
  /// For people: "NVIDIA H200", "the CPU". Throws where there is no such device.
  std::string description() const {
    if (!isGpu())
      return "the CPU";
    jit::Runtime &runtime = jit::Runtime::instance();
    jit::Status status;
    const backends::DeviceInfo *info = runtime.deviceInfo(runtime.gpuBackend(), number, status);
    if (!info)
      throw Error(Error::Kind::Machine, status.error().text());
    return info->name;
  }
  /// Waits for what was put into the default stream.
  void synchronize() const {
    if (isGpu())
      check(services().synchronize(number, nullptr));
  }

  /// Internal to these headers.
  static backends::Driver &driver() { return jit::Runtime::instance().gpuDriver(); }
  static backends::DeviceServices &services() { return *driver().services(); }
  static void check(const backends::DeviceStatus &status) {
    if (!status.ok())
      throw Error(Error::Kind::Machine, status.help.empty()
                                            ? status.message
                                            : status.message + "\n  help: " + status.help);
  }

  friend bool operator==(const Device &, const Device &) = default;

private:
  explicit Device(int number) : number(number) {}
  int number;
};

/// Work on a GPU in order; on the CPU there is nothing to it, because launches return when done.
class Stream {
public:
  explicit Stream(Device device) : owner(device) {
    if (device.isGpu())
      Device::check(Device::services().makeStream(device.index(), stream));
    isOwned = true;
  }
  /// A stream of another library: a CUstream, cudaStream_t or hipStream_t.
  static Stream wrap(Device device, void *handle) { return Stream(device, handle); }
  ~Stream() {
    if (isOwned && stream)
      Device::services().releaseStream(owner.index(), stream);
  }
  Stream(Stream &&other) noexcept
      : owner(other.owner), stream(std::exchange(other.stream, nullptr)), isOwned(other.isOwned) {}
  Stream &operator=(Stream &&other) = delete;

  void synchronize() const {
    if (owner.isGpu())
      Device::check(Device::services().synchronize(owner.index(), stream));
  }
  Device device() const { return owner; }
  void *handle() const { return stream; }

private:
  Stream(Device device, void *handle) : owner(device), stream(handle) {}
  Device owner;
  void *stream = nullptr;
  bool isOwned = false;
};

/// An array of `size` elements on a device, given back at the end. Elements without a C++ type of
/// their own (f16, bf16, fp8) are anything of their size.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "DeviceBuffer: elements are copied as bytes");

public:
  DeviceBuffer(Device device, size_t size) : place(device), count(size) {
    if (device.isGpu())
      Device::check(Device::services().allocate(device.index(), size * sizeof(T), address));
    else
      address = reinterpret_cast<uintptr_t>(::operator new(size * sizeof(T), kAlignment));
  }
  DeviceBuffer(Device device, std::span<const T> values) : DeviceBuffer(device, values.size()) {
    upload(values);
  }
  DeviceBuffer(Device device, const std::vector<T> &values)
      : DeviceBuffer(device, std::span<const T>(values)) {}
  ~DeviceBuffer() {
    if (!address)
      return;
    if (place.isGpu())
      Device::services().release(place.index(), address);
    else
      ::operator delete(data(), kAlignment);
  }
  DeviceBuffer(DeviceBuffer &&other) noexcept
      : place(other.place), count(other.count), address(std::exchange(other.address, 0)) {}
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    std::swap(place, other.place);
    std::swap(count, other.count);
    std::swap(address, other.address);
    return *this;
  }

  void upload(std::span<const T> values) {
    checkSize(values.size());
    if (place.isGpu())
      Device::check(Device::services().copyToDevice(place.index(), address, values.data(),
                                                    values.size_bytes(), nullptr));
    else if (count)
      std::memcpy(data(), values.data(), values.size_bytes());
  }
  /// Behind the kernels launched so far on the default stream.
  void download(std::span<T> values) const {
    checkSize(values.size());
    if (place.isGpu())
      Device::check(Device::services().copyToHost(place.index(), values.data(), address,
                                                  values.size_bytes(), nullptr));
    else if (count)
      std::memcpy(values.data(), data(), values.size_bytes());
  }
  std::vector<T> download() const {
    std::vector<T> values(count);
    download(std::span<T>(values));
    return values;
  }

  size_t size() const { return count; }
  Device device() const { return place; }
  /// In the memory of device().
  T *data() const { return reinterpret_cast<T *>(static_cast<uintptr_t>(address)); }

private:
  static constexpr std::align_val_t kAlignment{256};
  void checkSize(size_t given) const {
    if (given != count)
      throw Error(Error::Kind::Call, "buffer: " + detail::decimal(int64_t(given)) +
                                         " elements for " + detail::decimal(int64_t(count)));
  }
  Device place;
  size_t count;
  uint64_t address = 0;
};

namespace detail {
template <class T>
inline constexpr bool isDeviceBuffer = false;
template <class T>
inline constexpr bool isDeviceBuffer<DeviceBuffer<T>> = true;
} // namespace detail

} // namespace sectile
