#include "backends/amd/HipGpu.h"

#include <algorithm>
#include <vector>

namespace sectile::amd {

using backends::DeviceInfo;
using gpu::GpuAddress;
using gpu::GpuEvent;
using gpu::GpuFunction;
using gpu::GpuFunctionFacts;
using gpu::GpuLaunchShape;
using gpu::GpuLoadedCode;
using gpu::GpuModule;
using gpu::GpuPlace;
using gpu::GpuResult;
using gpu::GpuStream;

const gpu::GpuNames kHipNames = {
    .backend = "hip",
    .targetPrefix = "amdgcn:",
    .gpu = "AMD GPU",
    .driver = "AMD's HIP runtime",
    .system = "HIP",
    .whereToLook = "rocminfo, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES",
    .visibleDevices = "HIP_VISIBLE_DEVICES",
    .codeReservesShared = true,
};

namespace {

HipStream streamOf(GpuStream handle) {
  return static_cast<HipStream>(handle);
}
HipEvent eventOf(GpuEvent handle) {
  return static_cast<HipEvent>(handle);
}
HipModule moduleOf(GpuModule handle) {
  return reinterpret_cast<HipModule>(handle);
}
HipFunction functionOf(GpuFunction handle) {
  return reinterpret_cast<HipFunction>(handle);
}
void *pointerOf(GpuAddress address) {
  return reinterpret_cast<void *>(address);
}
/// A device as the place to go back to, which null is not.
GpuPlace placeOf(int device) {
  return reinterpret_cast<GpuPlace>(static_cast<intptr_t>(device) + 1);
}

} // namespace

GpuResult HipGpu::start(int &deviceCount, int &versionFound) {
  HipResult result = api.init(0);
  if (result == kHipSuccess)
    result = api.getDeviceCount(&deviceCount);
  if (api.runtimeGetVersion(&version) != kHipSuccess)
    version = 0;
  versionFound = version;
  return result;
}

DeviceInfo HipGpu::describeDevice(unsigned ordinal) const {
  const int device = static_cast<int>(ordinal);
  DeviceInfo info;
  auto attribute = [&](HipDeviceAttribute which) {
    int value = 0;
    return api.deviceGetAttribute(&value, which, device) == kHipSuccess ? value : 0;
  };
  char name[256] = "";
  if (api.deviceGetName(name, sizeof name, device) == kHipSuccess)
    info.name = name;
  // The architecture's full name stands nowhere else, and its place there differs by release.
  std::vector<char> properties(kHipPropertyBytes);
  if (api.getDeviceProperties(properties.data(), device) == kHipSuccess)
    info.arch = archIn(properties.data(), properties.size());
  if (info.name.empty())
    info.name = "AMD " + info.arch;
  info.capability =
      attribute(kHipComputeCapabilityMajor) * 10 + attribute(kHipComputeCapabilityMinor);
  info.multiprocessorCount = attribute(kHipMultiprocessorCount);
  info.warpSize = attribute(kHipWarpSize);
  info.maxThreadsPerBlock = attribute(kHipMaxThreadsPerBlock);
  info.maxThreadsPerMultiprocessor = attribute(kHipMaxThreadsPerMultiprocessor);
  info.registersPerBlock = attribute(kHipMaxRegistersPerBlock);
  info.registersPerMultiprocessor = info.registersPerBlock;
  info.sharedBytesPerBlock = attribute(kHipMaxSharedPerBlock);
  info.sharedBytesPerMultiprocessor =
      std::max<int64_t>(attribute(kHipMaxSharedPerMultiprocessor), info.sharedBytesPerBlock);
  info.l2Bytes = attribute(kHipL2CacheSize);
  info.memoryClockKilohertz = attribute(kHipMemoryClockRate);
  info.memoryBusBits = attribute(kHipMemoryBusWidth);
  info.clockKilohertz = attribute(kHipClockRate);
  size_t memory = 0;
  if (api.deviceTotalMem(&memory, device) == kHipSuccess)
    info.memoryBytes = static_cast<int64_t>(memory);
  return info;
}

gpu::GpuGridLimits HipGpu::mostPrograms(unsigned threads) const {
  // A launch counts threads along each axis in 32 bits. Blocks have all of theirs along x.
  constexpr int64_t kMost = 0xffff'ffff;
  return {kMost / threads, kMost, kMost, "use another axis, too, or let each program do more"};
}

GpuResult HipGpu::enter(unsigned device, GpuPlace &before) {
  int current = 0;
  HipResult result = api.getDevice(&current);
  const int wanted = static_cast<int>(device);
  if (result != kHipSuccess || current == wanted) [[likely]]
    return result;
  result = api.setDevice(wanted);
  if (result == kHipSuccess)
    before = placeOf(current);
  return result;
}

void HipGpu::leave(GpuPlace before) {
  (void)api.setDevice(static_cast<int>(reinterpret_cast<intptr_t>(before)) - 1);
}

GpuResult HipGpu::load(const std::string &code, GpuLoadedCode &loaded) const {
  HipModule module = nullptr;
  HipResult result = api.moduleLoadData(&module, code.data());
  loaded.module = reinterpret_cast<GpuModule>(module);
  return result;
}

GpuResult HipGpu::unload(GpuModule module) const {
  return api.moduleUnload(moduleOf(module));
}

GpuResult HipGpu::find(GpuModule module, const char *name, GpuFunction &function) const {
  HipFunction found = nullptr;
  HipResult result = api.moduleGetFunction(&found, moduleOf(module), name);
  function = reinterpret_cast<GpuFunction>(found);
  return result;
}

GpuFunctionFacts HipGpu::describeFunction(GpuFunction function) const {
  auto attribute = [&](HipFunctionAttribute which) {
    int value = 0;
    return api.funcGetAttribute(&value, which, functionOf(function)) == kHipSuccess ? value : 0;
  };
  return {attribute(kHipFunctionRegisters), attribute(kHipFunctionLocalBytes),
          attribute(kHipFunctionSharedBytes), attribute(kHipFunctionMaxThreadsPerBlock)};
}

GpuResult HipGpu::launch(GpuFunction function, const GpuLaunchShape &shape,
                         void **parameters) const {
  const unsigned *grid = shape.grid;
  if (!shape.isCooperative) [[likely]]
    return api.moduleLaunchKernel(functionOf(function), grid[0], grid[1], grid[2], shape.threads, 1,
                                  1, shape.sharedBytes, streamOf(shape.stream), parameters,
                                  nullptr);
  if (!api.moduleLaunchCooperativeKernel)
    return kHipNotSupported;
  return api.moduleLaunchCooperativeKernel(functionOf(function), grid[0], grid[1], grid[2],
                                           shape.threads, 1, 1, shape.sharedBytes,
                                           streamOf(shape.stream), parameters);
}

GpuResult HipGpu::allocate(size_t bytes, GpuAddress &address) const {
  void *memory = nullptr;
  HipResult result = api.malloc(&memory, bytes);
  address = reinterpret_cast<GpuAddress>(memory);
  return result;
}

GpuResult HipGpu::release(GpuAddress address) const {
  return api.free(pointerOf(address));
}

GpuResult HipGpu::copyToDevice(GpuAddress target, const void *source, size_t bytes,
                               GpuStream stream) const {
  return api.memcpyToDeviceAsync(pointerOf(target), source, bytes, streamOf(stream));
}

GpuResult HipGpu::copyToHost(void *target, GpuAddress source, size_t bytes,
                             GpuStream stream) const {
  return api.memcpyToHostAsync(target, pointerOf(source), bytes, streamOf(stream));
}

GpuResult HipGpu::fill(GpuAddress address, uint8_t byte, size_t bytes, GpuStream stream) const {
  return api.memsetAsync(pointerOf(address), byte, bytes, streamOf(stream));
}

GpuResult HipGpu::allocateHost(size_t bytes, void *&memory, GpuAddress &address) const {
  // Coherent: what a kernel wrote before it crashed is seen, and so is a `stop` of another program.
  HipResult result =
      api.hostMalloc(&memory, bytes, kHipHostPortable | kHipHostMapped | kHipHostCoherent);
  if (result != kHipSuccess)
    return result;
  void *seen = nullptr;
  result = api.hostGetDevicePointer(&seen, memory, 0);
  address = reinterpret_cast<GpuAddress>(seen);
  if (result != kHipSuccess)
    (void)api.hostFree(memory);
  return result;
}

int32_t HipGpu::deviceOf(GpuAddress address) const {
  int ordinal = -1;
  HipResult result =
      api.pointerGetAttribute(&ordinal, kHipPointerDeviceOrdinal, pointerOf(address));
  return result == kHipSuccess ? ordinal : -1;
}

bool HipGpu::isMemoryOf(unsigned device, GpuAddress address) const {
  // Null would be an error, which HIP keeps as the thread's last one: other libraries look at it.
  if (!address || version <= 0)
    return false;
  HipPointerAttributes found;
  if (api.pointerGetAttributes(&found, pointerOf(address)) != kHipSuccess)
    return false;
  const int ofDevices = version < kHipVersion6 ? kHipMemoryDeviceBefore6 : kHipMemoryDevice;
  return found.memoryType == ofDevices && !found.isManaged && found.allocationFlags == 0 &&
         found.device == static_cast<int>(device);
}

GpuResult HipGpu::makeStream(GpuStream &stream) const {
  HipStream made = nullptr;
  HipResult result = api.streamCreate(&made, kHipStreamNonBlocking);
  stream = made;
  return result;
}

GpuResult HipGpu::releaseStream(GpuStream stream) const {
  return api.streamDestroy(streamOf(stream));
}

GpuResult HipGpu::synchronize(GpuStream stream) const {
  return api.streamSynchronize(streamOf(stream));
}

GpuResult HipGpu::isCapturing(GpuStream stream, bool &answer) const {
  int status = 0;
  HipResult result = api.streamIsCapturing(streamOf(stream), &status);
  answer = status != 0;
  return result;
}

GpuResult HipGpu::makeEvent(GpuEvent &event) const {
  HipEvent made = nullptr;
  HipResult result = api.eventCreate(&made, 0);
  event = made;
  return result;
}

GpuResult HipGpu::releaseEvent(GpuEvent event) const {
  return api.eventDestroy(eventOf(event));
}

GpuResult HipGpu::record(GpuEvent event, GpuStream stream) const {
  return api.eventRecord(eventOf(event), streamOf(stream));
}

GpuResult HipGpu::wait(GpuEvent event) const {
  return api.eventSynchronize(eventOf(event));
}

GpuResult HipGpu::elapsed(GpuEvent from, GpuEvent to, float &milliseconds) const {
  return api.eventElapsedTime(&milliseconds, eventOf(from), eventOf(to));
}

} // namespace sectile::amd
