#include "FakeCuda.h"

namespace sectile::test {

using namespace nvidia;

namespace {

FakeCuda &fake() {
  return *FakeCuda::current;
}
template <class T>
T handle(uintptr_t number) {
  return reinterpret_cast<T>(number);
}

} // namespace

FakeCuda::FakeCuda() {
  current = this;
  currentContext = nullptr;
  api.init = [](unsigned) { return fake().note("init"); };
  api.driverGetVersion = [](int *version) {
    *version = fake().driverVersion;
    return CudaResult{kCudaSuccess};
  };
  api.getErrorName = [](CudaResult result, const char **name) {
    *name = result == kCudaIllegalAddress        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == kCudaNotInitialized      ? "CUDA_ERROR_NOT_INITIALIZED"
            : result == kCudaOutOfMemory         ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == kCudaInvalidPtx          ? "CUDA_ERROR_INVALID_PTX"
            : result == kCudaJitCompilerNotFound ? "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"
            : result == kCudaNotSupported        ? "CUDA_ERROR_NOT_SUPPORTED"
                                                 : nullptr;
    return CudaResult{kCudaSuccess};
  };
  api.getErrorString = [](CudaResult, const char **text) {
    *text = "a text";
    return CudaResult{kCudaSuccess};
  };
  api.deviceGetCount = [](int *count) {
    *count = fake().deviceCount;
    return CudaResult{kCudaSuccess};
  };
  api.deviceGet = [](CudaDeviceHandle *device, int ordinal) {
    *device = 100 + ordinal;
    return CudaResult{kCudaSuccess};
  };
  api.deviceGetName = [](char *name, int size, CudaDeviceHandle) {
    std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
    return CudaResult{kCudaSuccess};
  };
  api.deviceGetAttribute = [](int *value, CudaDeviceAttribute attribute, CudaDeviceHandle) {
    std::lock_guard lock(fake().guard);
    *value = fake().attributes[attribute];
    return CudaResult{kCudaSuccess};
  };
  api.deviceTotalMem = [](size_t *bytes, CudaDeviceHandle) {
    *bytes = size_t{1} << 34;
    return CudaResult{kCudaSuccess};
  };
  api.primaryContextRetain = [](CudaContext *context, CudaDeviceHandle device) {
    *context = handle<CudaContext>(static_cast<uintptr_t>(device) << 4);
    return fake().note("retain");
  };
  api.contextGetCurrent = [](CudaContext *context) {
    *context = fake().currentContext;
    return CudaResult{kCudaSuccess};
  };
  api.contextSetCurrent = [](CudaContext context) {
    fake().currentContext = context;
    return fake().note("set context");
  };
  api.moduleLoadDataEx = [](CudaModule *module, const void *, unsigned, CudaJitOption *, void **) {
    std::lock_guard lock(fake().guard);
    fake().modules[fake().modulesLoaded] = fake().currentContext;
    *module = handle<CudaModule>(0x500 + fake().modulesLoaded++);
    return fake().note("load");
  };
  api.moduleUnload = [](CudaModule module) {
    std::lock_guard lock(fake().guard);
    uintptr_t number = reinterpret_cast<uintptr_t>(module) - 0x500;
    fake().modules.erase(number);
    fake().unloaded.push_back({number, fake().currentContext});
    return fake().note("unload");
  };
  api.contextSynchronize = [] { return fake().note("synchronize context"); };
  api.moduleGetFunction = [](CudaFunction *function, CudaModule module, const char *) {
    *function = handle<CudaFunction>(reinterpret_cast<uintptr_t>(module));
    return fake().note("find");
  };
  api.functionSetAttribute = [](CudaFunction, CudaFunctionAttribute attribute, int value) {
    std::lock_guard lock(fake().guard);
    fake().attributesSet.emplace_back(attribute, value);
    return fake().note("set attribute");
  };
  api.functionGetAttribute = [](int *value, CudaFunctionAttribute attribute, CudaFunction) {
    std::lock_guard lock(fake().guard);
    *value = fake().functionAttributes[attribute];
    return CudaResult{kCudaSuccess};
  };
  api.occupancy = [](int *blocks, CudaFunction, int, size_t) {
    *blocks = fake().blocksPerMultiprocessor;
    return CudaResult{kCudaSuccess};
  };
  api.launchKernelEx = [](const CudaLaunchConfig *config, CudaFunction function, void **parameters,
                          void **) {
    CudaResult result = fake().note("launch");
    {
      std::lock_guard lock(fake().guard);
      auto module = fake().modules.find(reinterpret_cast<uintptr_t>(function) - 0x500);
      fake().wrongLaunches +=
          module == fake().modules.end() || module->second != fake().currentContext;
    }
    FakeCuda::Launch launch{*config, {}, false, false, fake().currentContext, parameters};
    for (unsigned i = 0; i < config->attributeCount; ++i) {
      const CudaLaunchAttribute &attribute = config->attributes[i];
      if (attribute.id == kLaunchClusterDimension)
        launch.cluster.assign(attribute.cluster, attribute.cluster + 3);
      if (attribute.id == kLaunchCooperative)
        launch.isCooperative = attribute.isOn;
      if (attribute.id == kLaunchDependent)
        launch.isDependent = attribute.isOn;
    }
    if (result == kCudaSuccess && fake().onLaunch)
      fake().onLaunch(launch);
    return result;
  };
  api.tensorMapEncodeTiled = [](void *map, CudaTensorMapDataType type, unsigned rank, void *address,
                                const uint64_t *extents, const uint64_t *strideBytes,
                                const unsigned *box, const unsigned *elementStrides, int interleave,
                                CudaTensorMapSwizzle swizzle, int promotion, int fill) {
    std::lock_guard lock(fake().guard);
    CudaResult result = fake().note("encode map");
    if (result != kCudaSuccess)
      return result;
    const auto number = reinterpret_cast<uintptr_t>(address);
    fake().encodedMaps.push_back({type,
                                  number,
                                  {extents, extents + rank},
                                  {strideBytes, strideBytes + rank - 1},
                                  {box, box + rank},
                                  {elementStrides, elementStrides + rank},
                                  interleave,
                                  swizzle,
                                  promotion,
                                  fill,
                                  reinterpret_cast<uintptr_t>(map) % 64 == 0,
                                  fake().currentContext});
    std::memset(map, static_cast<int>(fake().encodedMaps.size()), 128);
    std::memcpy(map, &number, sizeof number);
    return result;
  };
  api.linkCreate = [](unsigned count, CudaJitOption *options, void **values, CudaLinkState *state) {
    std::lock_guard lock(fake().guard);
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kJitTarget)
        fake().assembledFor = static_cast<int>(reinterpret_cast<uintptr_t>(values[i]));
      if (options[i] == kJitInfoLog || options[i] == kJitErrorLog)
        std::strcpy(static_cast<char *>(values[i]), fake().assemblerLog.c_str());
    }
    *state = handle<CudaLinkState>(0x700);
    return fake().note("link create");
  };
  api.linkAddData = [](CudaLinkState, int, void *, size_t, const char *, unsigned, CudaJitOption *,
                       void **) { return fake().note("link add"); };
  api.linkComplete = [](CudaLinkState, void **cubin, size_t *size) {
    *cubin = fake().cubin.data();
    *size = fake().cubin.size();
    return fake().note("link complete");
  };
  api.linkDestroy = [](CudaLinkState) { return fake().note("link destroy"); };
  api.memAlloc = [](CudaAddress *address, size_t bytes) {
    CudaResult result = fake().note("allocate");
    if (result == kCudaSuccess)
      *address = reinterpret_cast<uintptr_t>(std::malloc(bytes));
    return result;
  };
  api.memFree = [](CudaAddress address) {
    std::free(handle<void *>(address));
    return fake().note("free");
  };
  api.memcpyToDeviceAsync = [](CudaAddress target, const void *source, size_t bytes, CudaStream) {
    std::memcpy(handle<void *>(target), source, bytes);
    return fake().note("copy in");
  };
  api.memcpyToHostAsync = [](void *target, CudaAddress source, size_t bytes, CudaStream) {
    std::memcpy(target, handle<void *>(source), bytes);
    return fake().note("copy out");
  };
  api.memsetAsync = [](CudaAddress address, unsigned char byte, size_t bytes, CudaStream) {
    std::memset(handle<void *>(address), byte, bytes);
    return fake().note("fill");
  };
  api.hostAlloc = [](void **memory, size_t bytes, unsigned) {
    CudaResult result = fake().note("pin");
    *memory = result == kCudaSuccess ? std::malloc(bytes) : nullptr;
    return result;
  };
  api.hostFree = [](void *memory) {
    std::free(memory);
    return CudaResult{kCudaSuccess};
  };
  api.hostGetDevicePointer = [](CudaAddress *address, void *memory, unsigned) {
    *address = reinterpret_cast<uintptr_t>(memory);
    return CudaResult{kCudaSuccess};
  };
  api.pointerGetAttribute = [](void *value, int attribute, CudaAddress address) {
    *static_cast<int *>(value) = attribute == kPointerMemoryType  ? fake().memoryType
                                 : attribute == kPointerIsManaged ? fake().isManaged
                                                                  : address >= 0x2000;
    return address < 0x1000 ? CudaResult{kCudaInvalidValue} : CudaResult{kCudaSuccess};
  };
  api.streamCreate = [](CudaStream *stream, unsigned) {
    *stream = handle<CudaStream>(0x800);
    return fake().note("stream");
  };
  api.streamDestroy = [](CudaStream) { return CudaResult{kCudaSuccess}; };
  api.streamSynchronize = [](CudaStream) { return fake().note("synchronize"); };
  api.streamIsCapturing = [](CudaStream, int *status) {
    *status = fake().isCapturing;
    return CudaResult{kCudaSuccess};
  };
  api.eventCreate = [](CudaEvent *event, unsigned) {
    *event = handle<CudaEvent>(0x900);
    return fake().note("event");
  };
  api.eventDestroy = [](CudaEvent) { return CudaResult{kCudaSuccess}; };
  api.eventRecord = [](CudaEvent, CudaStream) { return fake().note("record"); };
  api.eventSynchronize = [](CudaEvent) { return fake().note("wait"); };
  api.eventElapsedTime = [](float *milliseconds, CudaEvent, CudaEvent) {
    *milliseconds = 1.5f;
    return CudaResult{kCudaSuccess};
  };
}

} // namespace sectile::test
