#include "Devices.h"

#include "Errors.h"
#include "jit/runtime/Runtime.h"

#include <pybind11/stl.h>

namespace sectile::bindings {

namespace {

backends::Driver &driver() {
  return jit::Runtime::instance().gpuDriver();
}

void check(const backends::DeviceStatus &status) {
  if (!status.ok())
    throwError({jit::Error::Kind::Machine, status.message, status.help, {}, {}, -1});
}

py::dict deviceProperties(int32_t index) {
  jit::Runtime &runtime = jit::Runtime::instance();
  jit::Status status;
  const backends::DeviceInfo *found = runtime.deviceInfo(runtime.gpuBackend(), index, status);
  if (!found)
    throwError(status.error());
  const backends::DeviceInfo &info = *found;
  py::dict result;
  result["name"] = info.name;
  result["arch"] = info.arch;
  result["capability"] = info.capability;
  result["max_shared_mem"] = info.sharedBytesPerBlock;
  result["max_num_regs"] = info.registersPerBlock;
  result["multiprocessor_count"] = info.multiprocessorCount;
  result["warpSize"] = info.warpSize;
  result["max_threads_per_block"] = info.maxThreadsPerBlock;
  result["max_threads_per_sm"] = info.maxThreadsPerMultiprocessor;
  result["shared_mem_per_sm"] = info.sharedBytesPerMultiprocessor;
  result["regs_per_sm"] = info.registersPerMultiprocessor;
  result["sm_clock_rate"] = info.clockKilohertz;
  result["mem_clock_rate"] = info.memoryClockKilohertz;
  result["mem_bus_width"] = info.memoryBusBits;
  result["l2_cache_size"] = info.l2Bytes;
  result["total_memory"] = info.memoryBytes;
  return result;
}

/// Times of work between pairs of events on one stream; before each, the L2 cache is overwritten.
class GpuTimer {
public:
  GpuTimer(int32_t device, uintptr_t stream)
      : device(device), stream(reinterpret_cast<void *>(stream)) {
    check(services().allocate(device, kFlushBytes, flushed));
  }
  GpuTimer(const GpuTimer &) = delete;
  ~GpuTimer() {
    for (void *event : events)
      services().releaseEvent(device, event);
    services().release(device, flushed);
  }
  void flush() { check(services().fill(device, flushed, 0, kFlushBytes, stream)); }
  /// Records the time at which the stream comes to this point.
  void mark() {
    void *event = nullptr;
    check(services().makeEvent(device, event));
    events.push_back(event);
    check(services().recordEvent(device, event, stream));
  }
  /// Milliseconds between marks 0 and 1, 2 and 3 ...; waits for the last, forgets all.
  std::vector<float> take() {
    std::vector<float> times(events.size() / 2);
    backends::DeviceStatus status;
    {
      py::gil_scoped_release release;
      status = services().synchronize(device, stream);
    }
    check(status);
    for (size_t i = 0; i < times.size(); ++i)
      check(services().elapsed(device, events[2 * i], events[2 * i + 1], times[i]));
    for (void *event : events)
      services().releaseEvent(device, event);
    events.clear();
    return times;
  }

private:
  // Several times the L2 cache of any GPU.
  static constexpr size_t kFlushBytes = size_t{256} << 20;
  static backends::DeviceServices &services() { return *driver().services(); }

  const int32_t device;
  void *const stream;
  uint64_t flushed = 0;
  std::vector<void *> events;
};

/// (launches so far, handle of the latest one's stream) of each device launched on; asks nothing of
/// a driver that has not been used.
py::dict launchCounts() {
  constexpr int32_t kMostDevices = 64;
  py::dict result;
  for (const char *backend : {"cuda", "hip"})
    for (int32_t i = 0; i < kMostDevices; ++i) {
      void *stream = nullptr;
      backends::DeviceServices *services = jit::Runtime::instance().driver(backend)->services();
      if (uint64_t launches = services->launchCount(i, stream))
        result[py::int_(i)] = py::make_tuple(launches, reinterpret_cast<uintptr_t>(stream));
    }
  return result;
}

} // namespace

void registerDevices(py::module_ &module) {
  module.def("device_properties", &deviceProperties);
  module.def("device_of", [](uint64_t address) { return driver().deviceOf(address); });
  module.def("gpu_assembler", [] { return jit::Runtime::instance().driver("cuda")->assembler(); });
  module.def("recent_launches", [](int32_t device) { return driver().recentLaunches(device); });
  module.def("launch_counts", &launchCounts);
  py::class_<GpuTimer>(module, "GpuTimer")
      .def(py::init<int32_t, uintptr_t>())
      .def("flush", &GpuTimer::flush)
      .def("mark", &GpuTimer::mark)
      .def("take", &GpuTimer::take);
}

} // namespace sectile::bindings
