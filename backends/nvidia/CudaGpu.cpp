#include "backends/nvidia/CudaGpu.h"

#include "backends/nvidia/TargetNames.h"

namespace sectile::nvidia {

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

const gpu::GpuNames kCudaNames = {
    .backend = "cuda",
    .targetPrefix = kTargetPrefix,
    .gpu = "NVIDIA GPU",
    .driver = "NVIDIA's driver",
    .system = "CUDA",
    .whereToLook = "nvidia-smi, and CUDA_VISIBLE_DEVICES",
    .visibleDevices = "CUDA_VISIBLE_DEVICES",
};

namespace {

CudaStream streamOf(GpuStream handle) {
  return static_cast<CudaStream>(handle);
}
CudaEvent eventOf(GpuEvent handle) {
  return static_cast<CudaEvent>(handle);
}
CudaModule moduleOf(GpuModule handle) {
  return reinterpret_cast<CudaModule>(handle);
}
CudaFunction functionOf(GpuFunction handle) {
  return reinterpret_cast<CudaFunction>(handle);
}

} // namespace

GpuResult CudaGpu::start(int &deviceCount, int &version) {
  int count = 0;
  CudaResult result = api.init(0);
  if (result == kCudaSuccess)
    result = api.deviceGetCount(&count);
  (void)api.driverGetVersion(&version);
  for (int ordinal = 0; ordinal < count && result == kCudaSuccess; ++ordinal) {
    CudaDeviceHandle handle = 0;
    if (api.deviceGet(&handle, ordinal) == kCudaSuccess)
      devices.push_back(std::make_unique<Device>(handle));
  }
  deviceCount = static_cast<int>(devices.size());
  return result;
}

DeviceInfo CudaGpu::describeDevice(unsigned device) const {
  const CudaDeviceHandle handle = devices[device]->handle;
  DeviceInfo info;
  auto attribute = [&](CudaDeviceAttribute which) {
    int value = 0;
    return api.deviceGetAttribute(&value, which, handle) == kCudaSuccess ? value : 0;
  };
  char name[256] = "";
  if (api.deviceGetName(name, sizeof name, handle) == kCudaSuccess)
    info.name = name;
  info.capability = attribute(kComputeCapabilityMajor) * 10 + attribute(kComputeCapabilityMinor);
  info.arch = archOfCapability(info.capability);
  info.multiprocessorCount = attribute(kMultiprocessorCount);
  info.warpSize = attribute(kWarpSize);
  info.maxThreadsPerBlock = attribute(kMaxThreadsPerBlock);
  info.maxThreadsPerMultiprocessor = attribute(kMaxThreadsPerMultiprocessor);
  info.registersPerBlock = attribute(kMaxRegistersPerBlock);
  info.registersPerMultiprocessor = attribute(kMaxRegistersPerMultiprocessor);
  info.sharedBytesPerBlock = attribute(kMaxSharedPerBlockOptin);
  info.sharedBytesPerMultiprocessor = attribute(kMaxSharedPerMultiprocessor);
  info.l2Bytes = attribute(kL2CacheSize);
  info.memoryClockKilohertz = attribute(kMemoryClockRate);
  info.memoryBusBits = attribute(kMemoryBusWidth);
  info.clockKilohertz = attribute(kClockRate);
  size_t memory = 0;
  if (api.deviceTotalMem(&memory, handle) == kCudaSuccess)
    info.memoryBytes = static_cast<int64_t>(memory);
  return info;
}

bool CudaGpu::runs(std::string_view arch, const DeviceInfo &device) const {
  return arch == device.arch ||
         (!isArchitectureSpecific(arch) && capabilityOf(arch) <= device.capability);
}

int CudaGpu::suitability(std::string_view arch, bool isMachineCode,
                         const DeviceInfo &device) const {
  constexpr int kCompatible = 10'000, kExact = 20'000;
  const int capability = capabilityOf(arch);
  if (arch == device.arch)
    return kExact + isMachineCode;
  if (isArchitectureSpecific(arch) || capability == 0 || capability > device.capability)
    return 0;
  // Machine code runs on later devices of its generation, PTX on all later ones.
  if (isMachineCode)
    return capability / 10 == device.capability / 10 ? kCompatible + capability : 0;
  return capability;
}

gpu::GpuGridLimits CudaGpu::mostPrograms(unsigned /*threads*/) const {
  return {0x7fff'ffff, 65535, 65535, "put the longest axis first: x may have 2147483647"};
}

CudaContext CudaGpu::contextOf(Device &device, CudaResult &result) const {
  result = kCudaSuccess;
  if (CudaContext present = device.retained.load(std::memory_order_acquire)) [[likely]]
    return present;
  return retain(device, result);
}

CudaContext CudaGpu::retain(Device &device, CudaResult &result) const {
  std::lock_guard lock(device.retaining);
  CudaContext made = device.retained.load(std::memory_order_relaxed);
  if (!made) {
    result = api.primaryContextRetain(&made, device.handle);
    if (result != kCudaSuccess)
      return nullptr;
    device.retained.store(made, std::memory_order_release);
  }
  return made;
}

GpuResult CudaGpu::enter(unsigned device, GpuPlace &before) {
  CudaResult result;
  CudaContext wanted = contextOf(*devices[device], result);
  if (!wanted)
    return result;
  CudaContext current = nullptr;
  result = api.contextGetCurrent(&current);
  if (result != kCudaSuccess || current == wanted) [[likely]]
    return result;
  before = current;
  return api.contextSetCurrent(wanted);
}

void CudaGpu::leave(GpuPlace before) {
  (void)api.contextSetCurrent(static_cast<CudaContext>(before));
}

GpuResult CudaGpu::load(const std::string &code, GpuLoadedCode &loaded) const {
  std::string log(8 << 10, '\0');
  CudaJitOption options[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CudaModule module = nullptr;
  CudaResult result = api.moduleLoadDataEx(&module, code.c_str(), 2, options, values);
  loaded.module = reinterpret_cast<GpuModule>(module);
  if (result != kCudaSuccess && !isCubin(code) && log[0]) {
    loaded.log = log.c_str();
    loaded.isRejected = result == kCudaInvalidPtx;
  }
  return result;
}

GpuResult CudaGpu::unload(GpuModule module) const {
  return api.moduleUnload(moduleOf(module));
}

GpuResult CudaGpu::find(GpuModule module, const char *name, GpuFunction &function) const {
  CudaFunction found = nullptr;
  CudaResult result = api.moduleGetFunction(&found, moduleOf(module), name);
  function = reinterpret_cast<GpuFunction>(found);
  return result;
}

GpuFunctionFacts CudaGpu::describeFunction(GpuFunction function) const {
  auto attribute = [&](CudaFunctionAttribute which) {
    int value = 0;
    return api.functionGetAttribute(&value, which, functionOf(function)) == kCudaSuccess ? value
                                                                                         : 0;
  };
  return {attribute(kFunctionRegisters), attribute(kFunctionLocalBytes),
          attribute(kFunctionSharedBytes), attribute(kFunctionMaxThreadsPerBlock)};
}

int32_t CudaGpu::residentBlocks(GpuFunction function, const GpuLaunchShape &shape) const {
  int blocks = 0;
  const bool isKnown = api.occupancy(&blocks, functionOf(function), static_cast<int>(shape.threads),
                                     shape.sharedBytes) == kCudaSuccess;
  return isKnown && blocks > 1 ? blocks : 1;
}

GpuResult CudaGpu::prepare(GpuFunction function, const GpuLaunchShape &shape) const {
  constexpr unsigned kAlwaysAllowed = 48 << 10, kPortableCluster = 8;
  CudaResult result = kCudaSuccess;
  if (shape.sharedBytes > kAlwaysAllowed)
    result = api.functionSetAttribute(functionOf(function), kFunctionMaxDynamicSharedBytes,
                                      static_cast<int>(shape.sharedBytes));
  if (result == kCudaSuccess && shape.clusterBlocks > kPortableCluster)
    (void)api.functionSetAttribute(functionOf(function), kFunctionNonPortableClusterSize, 1);
  return result;
}

GpuResult CudaGpu::launch(GpuFunction function, const GpuLaunchShape &shape,
                          void **parameters) const {
  CudaLaunchConfig config{shape.grid[0],
                          shape.grid[1],
                          shape.grid[2],
                          shape.threads,
                          1,
                          1,
                          shape.sharedBytes,
                          streamOf(shape.stream),
                          nullptr,
                          0};
  if (shape.clusterBlocks > 1 || shape.isCooperative || shape.isDependent) [[unlikely]]
    return launchWithAttributes(function, shape, config, parameters);
  return api.launchKernelEx(&config, functionOf(function), parameters, nullptr);
}

GpuResult CudaGpu::launchWithAttributes(GpuFunction function, const GpuLaunchShape &shape,
                                        CudaLaunchConfig &config, void **parameters) const {
  CudaLaunchAttribute attributes[3];
  config.attributes = attributes;
  auto addAttribute = [&](int id) -> CudaLaunchAttribute & {
    CudaLaunchAttribute &added = attributes[config.attributeCount++];
    added = {};
    added.id = id;
    return added;
  };
  if (shape.clusterBlocks > 1) {
    CudaLaunchAttribute &cluster = addAttribute(kLaunchClusterDimension);
    cluster.cluster[0] = shape.clusterBlocks;
    cluster.cluster[1] = cluster.cluster[2] = 1;
  }
  if (shape.isCooperative)
    addAttribute(kLaunchCooperative).isOn = 1;
  if (shape.isDependent)
    addAttribute(kLaunchDependent).isOn = 1;
  return api.launchKernelEx(&config, functionOf(function), parameters, nullptr);
}

GpuResult CudaGpu::encodeTensorMap(const backends::TensorMap &map,
                                   const backends::TensorMapValues &values,
                                   gpu::GpuTensorMap &made) const {
  if (!api.tensorMapEncodeTiled)
    return kCudaNotSupported;
  // CUDA's first dimension is the innermost one, whose stride it takes for granted.
  uint64_t extents[backends::kMostTensorRank], strideBytes[backends::kMostTensorRank] = {};
  unsigned box[backends::kMostTensorRank], elementStrides[backends::kMostTensorRank];
  const auto rank = static_cast<unsigned>(values.rank);
  for (unsigned dimension = 0; dimension < rank; ++dimension) {
    const unsigned ours = rank - 1 - dimension;
    extents[dimension] = static_cast<uint64_t>(values.extents[ours]);
    box[dimension] = static_cast<unsigned>(map.box[ours]);
    elementStrides[dimension] = 1;
    if (dimension > 0)
      strideBytes[dimension - 1] = static_cast<uint64_t>(values.strides[ours] * map.elementBytes);
  }
  const CudaTensorMapDataType type = map.elementBytes == 1   ? kTensorMapUInt8
                                     : map.elementBytes == 2 ? kTensorMapUInt16
                                     : map.elementBytes == 4 ? kTensorMapUInt32
                                                             : kTensorMapUInt64;
  const CudaTensorMapSwizzle swizzle = map.swizzleBytes == 32   ? kTensorMapSwizzle32
                                       : map.swizzleBytes == 64 ? kTensorMapSwizzle64
                                                                : kTensorMapSwizzle128;
  return api.tensorMapEncodeTiled(made.bytes, type, rank, reinterpret_cast<void *>(values.base),
                                  extents, strideBytes, box, elementStrides,
                                  kTensorMapInterleaveNone, swizzle, kTensorMapPromoteTo128,
                                  kTensorMapFillZeros);
}

GpuResult CudaGpu::allocate(size_t bytes, GpuAddress &address) const {
  CudaAddress made = 0;
  CudaResult result = api.memAlloc(&made, bytes);
  address = made;
  return result;
}

GpuResult CudaGpu::release(GpuAddress address) const {
  return api.memFree(address);
}

GpuResult CudaGpu::copyToDevice(GpuAddress target, const void *source, size_t bytes,
                                GpuStream stream) const {
  return api.memcpyToDeviceAsync(target, source, bytes, streamOf(stream));
}

GpuResult CudaGpu::copyToHost(void *target, GpuAddress source, size_t bytes,
                              GpuStream stream) const {
  return api.memcpyToHostAsync(target, source, bytes, streamOf(stream));
}

GpuResult CudaGpu::fill(GpuAddress address, uint8_t byte, size_t bytes, GpuStream stream) const {
  return api.memsetAsync(address, byte, bytes, streamOf(stream));
}

GpuResult CudaGpu::allocateHost(size_t bytes, void *&memory, GpuAddress &address) const {
  CudaResult result = api.hostAlloc(&memory, bytes, kHostAllocPortable | kHostAllocMapped);
  if (result != kCudaSuccess)
    return result;
  CudaAddress seen = 0;
  result = api.hostGetDevicePointer(&seen, memory, 0);
  address = seen;
  if (result != kCudaSuccess)
    (void)api.hostFree(memory);
  return result;
}

int32_t CudaGpu::deviceOf(GpuAddress address) const {
  int ordinal = -1;
  return api.pointerGetAttribute(&ordinal, kPointerDeviceOrdinal, address) == kCudaSuccess ? ordinal
                                                                                           : -1;
}

bool CudaGpu::isMemoryOf(unsigned device, GpuAddress address) const {
  auto attribute = [&](int which) {
    unsigned value = 0; // some are written as one byte
    bool isKnown = api.pointerGetAttribute(&value, which, address) == kCudaSuccess;
    return isKnown ? static_cast<int64_t>(value) : -1;
  };
  return attribute(kPointerMemoryType) == kMemoryTypeDevice && attribute(kPointerIsManaged) == 0 &&
         attribute(kPointerDeviceOrdinal) == device;
}

GpuResult CudaGpu::makeStream(GpuStream &stream) const {
  CudaStream made = nullptr;
  CudaResult result = api.streamCreate(&made, kStreamNonBlocking);
  stream = made;
  return result;
}

GpuResult CudaGpu::releaseStream(GpuStream stream) const {
  return api.streamDestroy(streamOf(stream));
}

GpuResult CudaGpu::synchronize(GpuStream stream) const {
  return api.streamSynchronize(streamOf(stream));
}

GpuResult CudaGpu::isCapturing(GpuStream stream, bool &answer) const {
  int status = 0;
  CudaResult result = api.streamIsCapturing(streamOf(stream), &status);
  answer = status != 0;
  return result;
}

GpuResult CudaGpu::makeEvent(GpuEvent &event) const {
  CudaEvent made = nullptr;
  CudaResult result = api.eventCreate(&made, 0);
  event = made;
  return result;
}

GpuResult CudaGpu::releaseEvent(GpuEvent event) const {
  return api.eventDestroy(eventOf(event));
}

GpuResult CudaGpu::record(GpuEvent event, GpuStream stream) const {
  return api.eventRecord(eventOf(event), streamOf(stream));
}

GpuResult CudaGpu::wait(GpuEvent event) const {
  return api.eventSynchronize(eventOf(event));
}

GpuResult CudaGpu::elapsed(GpuEvent from, GpuEvent to, float &milliseconds) const {
  return api.eventElapsedTime(&milliseconds, eventOf(from), eventOf(to));
}

} // namespace sectile::nvidia
