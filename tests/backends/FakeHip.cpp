#include "FakeHip.h"

namespace sectile::test {

using namespace amd;

namespace {

FakeHip &fake() {
  return *FakeHip::current;
}
template <class T>
T handle(uintptr_t number) {
  return reinterpret_cast<T>(number);
}

HipResult launch(HipFunction function, const FakeHip::Launch &launch) {
  HipResult result = fake().note("launch");
  {
    std::lock_guard lock(fake().guard);
    auto module = fake().modules.find(reinterpret_cast<uintptr_t>(function) - 0x500);
    fake().wrongLaunches +=
        module == fake().modules.end() || module->second != FakeHip::currentDevice;
  }
  if (result == kHipSuccess && fake().onLaunch)
    fake().onLaunch(launch);
  return result;
}

} // namespace

FakeHip::FakeHip() {
  current = this;
  currentDevice = 0;
  api.init = [](unsigned) { return fake().note("init"); };
  api.runtimeGetVersion = [](int *version) {
    *version = fake().version;
    return fake().version ? HipResult{kHipSuccess} : HipResult{kHipInvalidValue};
  };
  api.getErrorName = [](HipResult result) -> const char * {
    return result == kHipIllegalAddress   ? "hipErrorIllegalAddress"
           : result == kHipNoDevice       ? "hipErrorNoDevice"
           : result == kHipOutOfMemory    ? "hipErrorOutOfMemory"
           : result == kHipNotSupported   ? "hipErrorNotSupported"
           : result == kHipNoBinaryForGpu ? "hipErrorNoBinaryForGpu"
           : result == kHipNotFound       ? "hipErrorNotFound"
                                          : nullptr;
  };
  api.getErrorString = [](HipResult) { return "a text"; };
  api.getDeviceCount = [](int *count) {
    *count = static_cast<int>(fake().archs.size());
    return HipResult{kHipSuccess};
  };
  api.getDeviceProperties = [](void *properties, int device) {
    auto *bytes = static_cast<char *>(properties);
    std::strcpy(bytes, "Instinct");
    std::strcpy(bytes + fake().archPlace, fake().archs[static_cast<size_t>(device)].c_str());
    return HipResult{kHipSuccess};
  };
  api.deviceGetName = [](char *name, int size, int) {
    std::strncpy(name, "Fake Instinct", static_cast<size_t>(size));
    return HipResult{kHipSuccess};
  };
  api.deviceGetAttribute = [](int *value, HipDeviceAttribute attribute, int) {
    std::lock_guard lock(fake().guard);
    auto found = fake().attributes.find(attribute);
    if (found == fake().attributes.end())
      return HipResult{kHipInvalidValue};
    *value = found->second;
    return HipResult{kHipSuccess};
  };
  api.deviceTotalMem = [](size_t *bytes, int) {
    *bytes = size_t{1} << 34;
    return HipResult{kHipSuccess};
  };
  api.getDevice = [](int *device) {
    *device = FakeHip::currentDevice;
    return HipResult{kHipSuccess};
  };
  api.setDevice = [](int device) {
    FakeHip::currentDevice = device;
    return fake().note("set device");
  };
  api.deviceSynchronize = [] { return fake().note("synchronize device"); };
  api.moduleLoadData = [](HipModule *module, const void *) {
    std::lock_guard lock(fake().guard);
    fake().modules[fake().modulesLoaded] = FakeHip::currentDevice;
    *module = handle<HipModule>(0x500 + fake().modulesLoaded++);
    return fake().note("load");
  };
  api.moduleUnload = [](HipModule module) {
    std::lock_guard lock(fake().guard);
    fake().modules.erase(reinterpret_cast<uintptr_t>(module) - 0x500);
    return fake().note("unload");
  };
  api.moduleGetFunction = [](HipFunction *function, HipModule module, const char *) {
    *function = handle<HipFunction>(reinterpret_cast<uintptr_t>(module));
    return fake().note("find");
  };
  api.funcGetAttribute = [](int *value, HipFunctionAttribute attribute, HipFunction) {
    std::lock_guard lock(fake().guard);
    *value = fake().functionAttributes[attribute];
    return HipResult{kHipSuccess};
  };
  api.moduleLaunchKernel = [](HipFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                              unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                              HipStream stream, void **parameters, void **) {
    return launch(function, {{gridX, gridY, gridZ},
                             {blockX, blockY, blockZ},
                             shared,
                             stream,
                             false,
                             FakeHip::currentDevice,
                             parameters});
  };
  api.moduleLaunchCooperativeKernel =
      [](HipFunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
         unsigned blockY, unsigned blockZ, unsigned shared, HipStream stream, void **parameters) {
        return launch(function, {{gridX, gridY, gridZ},
                                 {blockX, blockY, blockZ},
                                 shared,
                                 stream,
                                 true,
                                 FakeHip::currentDevice,
                                 parameters});
      };
  api.malloc = [](void **memory, size_t bytes) {
    HipResult result = fake().note("allocate");
    if (result == kHipSuccess)
      *memory = std::malloc(bytes);
    return result;
  };
  api.free = [](void *memory) {
    std::free(memory);
    return fake().note("free");
  };
  api.memcpyToDeviceAsync = [](void *target, const void *source, size_t bytes, HipStream) {
    std::memcpy(target, source, bytes);
    return fake().note("copy in");
  };
  api.memcpyToHostAsync = [](void *target, void *source, size_t bytes, HipStream) {
    std::memcpy(target, source, bytes);
    return fake().note("copy out");
  };
  api.memsetAsync = [](void *address, unsigned char byte, size_t bytes, HipStream) {
    std::memset(address, byte, bytes);
    return fake().note("fill");
  };
  api.hostMalloc = [](void **memory, size_t bytes, unsigned flags) {
    HipResult result = fake().note("pin");
    fake().hostFlags = flags;
    *memory = result == kHipSuccess ? std::malloc(bytes) : nullptr;
    return result;
  };
  api.hostFree = [](void *memory) {
    std::free(memory);
    return HipResult{kHipSuccess};
  };
  api.hostGetDevicePointer = [](void **address, void *memory, unsigned) {
    *address = memory;
    return HipResult{kHipSuccess};
  };
  api.pointerGetAttribute = [](void *value, int, void *address) {
    auto number = reinterpret_cast<uintptr_t>(address);
    *static_cast<int *>(value) = number >= 0x2000;
    return number < 0x1000 ? HipResult{kHipInvalidValue} : HipResult{kHipSuccess};
  };
  api.pointerGetAttributes = [](HipPointerAttributes *attributes, const void *address) {
    std::lock_guard lock(fake().guard);
    ++fake().memoryQuestions;
    auto found = fake().memory.find(reinterpret_cast<uintptr_t>(address));
    *attributes = {};
    if (found == fake().memory.end()) {
      attributes->device = -2;
      return fake().version < kHipVersion6 ? HipResult{kHipInvalidValue} : HipResult{kHipSuccess};
    }
    *attributes = found->second;
    return HipResult{kHipSuccess};
  };
  api.streamCreate = [](HipStream *stream, unsigned) {
    *stream = handle<HipStream>(0x800);
    return fake().note("stream");
  };
  api.streamDestroy = [](HipStream) { return HipResult{kHipSuccess}; };
  api.streamSynchronize = [](HipStream) { return fake().note("synchronize"); };
  api.streamIsCapturing = [](HipStream, int *status) {
    *status = fake().isCapturing;
    return HipResult{kHipSuccess};
  };
  api.eventCreate = [](HipEvent *event, unsigned) {
    *event = handle<HipEvent>(0x900);
    return fake().note("event");
  };
  api.eventDestroy = [](HipEvent) { return HipResult{kHipSuccess}; };
  api.eventRecord = [](HipEvent, HipStream) { return fake().note("record"); };
  api.eventSynchronize = [](HipEvent) { return fake().note("wait"); };
  api.eventElapsedTime = [](float *milliseconds, HipEvent, HipEvent) {
    *milliseconds = 1.5f;
    return HipResult{kHipSuccess};
  };
}

} // namespace sectile::test
