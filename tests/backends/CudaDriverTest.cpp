// The driver of the back end "cuda": against a table of functions of our own, where errors can be
// had, and against a GPU where there is one.

#include "backends/nvidia/Driver.h"

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace sectile::nvidia {
namespace {

using backends::KernelImage;
using backends::LaunchArguments;
using backends::LaunchFailure;
using testing::HasSubstr;
using Kind = LaunchFailure::Kind;

/// What the fake driver does, and what was asked of it.
struct FakeState {
  int deviceCount = 2;
  std::map<std::string, CudaResult> errors; // by function
  CudaContext current = nullptr;
  int modulesLoaded = 0, modulesUnloaded = 0, contextsRetained = 0, linked = 0;
  int maxThreads = 1024, dynamicShared = 0;
  std::string loadedCode, linkedPtx;
  struct Launch {
    CudaContext context;
    std::array<unsigned, 7> shape; // grid, block, shared bytes
    CudaStream stream;
    std::vector<uint64_t> arguments;
  };
  std::vector<Launch> launches;
  size_t argumentCount = 0;
};
FakeState fake;

CudaResult errorOf(const char *function) {
  auto found = fake.errors.find(function);
  return found == fake.errors.end() ? kCudaSuccess : found->second;
}
template <class Handle>
Handle handle(size_t number) {
  return reinterpret_cast<Handle>(number);
}

CudaApi makeFakeApi() {
  CudaApi api;
  api.init = [](unsigned) { return errorOf("init"); };
  api.driverGetVersion = [](int *version) {
    *version = 13000;
    return kCudaSuccess;
  };
  api.getErrorName = [](CudaResult result, const char **name) {
    *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_TEST";
    return kCudaSuccess;
  };
  api.getErrorString = [](CudaResult, const char **text) {
    *text = "as injected";
    return kCudaSuccess;
  };
  api.deviceGetCount = [](int *count) {
    *count = fake.deviceCount;
    return kCudaSuccess;
  };
  api.deviceGet = [](int *device, int ordinal) {
    *device = 10 + ordinal;
    return kCudaSuccess;
  };
  api.deviceGetName = [](char *name, int, int) {
    std::strcpy(name, "Fake GPU");
    return kCudaSuccess;
  };
  api.deviceGetAttribute = [](int *value, int attribute, int device) {
    *value = attribute == kMajorCapability       ? (device == 10 ? 9 : 8)
             : attribute == kMinorCapability     ? (device == 10 ? 0 : 6)
             : attribute == kMaxSharedBytesOptin ? 227 << 10
                                                 : 1024;
    return kCudaSuccess;
  };
  api.primaryContextRetain = [](CudaContext *context, int device) {
    ++fake.contextsRetained;
    *context = handle<CudaContext>(static_cast<size_t>(device) * 100);
    return errorOf("primaryContextRetain");
  };
  api.contextGetCurrent = [](CudaContext *context) {
    *context = fake.current;
    return kCudaSuccess;
  };
  api.contextSetCurrent = [](CudaContext context) {
    fake.current = context;
    return kCudaSuccess;
  };
  api.moduleLoadDataEx = [](CudaModule *module, const void *image, unsigned, int *, void **values) {
    if (CudaResult error = errorOf("moduleLoadDataEx")) {
      std::strcpy(static_cast<char *>(values[0]), "ptxas: line 7");
      return error;
    }
    fake.loadedCode = static_cast<const char *>(image);
    *module = handle<CudaModule>(static_cast<size_t>(++fake.modulesLoaded));
    return kCudaSuccess;
  };
  api.moduleUnload = [](CudaModule) {
    ++fake.modulesUnloaded;
    return kCudaSuccess;
  };
  api.moduleGetFunction = [](CudaFunction *function, CudaModule module, const char *) {
    *function = reinterpret_cast<CudaFunction>(module);
    return errorOf("moduleGetFunction");
  };
  api.functionGetAttribute = [](int *value, int attribute, CudaFunction) {
    *value = attribute == kFunctionMaxThreads   ? fake.maxThreads
             : attribute == kFunctionRegisters  ? 40
             : attribute == kFunctionLocalBytes ? 16
                                                : 0;
    return kCudaSuccess;
  };
  api.functionSetAttribute = [](CudaFunction, int attribute, int value) {
    if (attribute == kFunctionMaxDynamicShared)
      fake.dynamicShared = value;
    return errorOf("functionSetAttribute");
  };
  api.launchKernel = [](CudaFunction, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                        CudaStream stream, void **parameters, void **) {
    FakeState::Launch launch{
        fake.current, {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes}, stream, {}};
    for (size_t i = 0; i < fake.argumentCount; ++i)
      launch.arguments.push_back(*static_cast<uint64_t *>(parameters[i]));
    fake.launches.push_back(launch);
    return errorOf("launchKernel");
  };
  api.linkCreate = [](unsigned, int *, void **values, CudaLink *link) {
    std::strcpy(static_cast<char *>(values[0]), errorOf("linkComplete") ? "ptxas: line 9" : "");
    *link = handle<CudaLink>(1);
    return errorOf("linkCreate");
  };
  api.linkAddData = [](CudaLink, int, void *data, size_t bytes, const char *, unsigned, int *,
                       void **) {
    fake.linkedPtx.assign(static_cast<const char *>(data), bytes);
    return kCudaSuccess;
  };
  api.linkComplete = [](CudaLink, void **cubin, size_t *bytes) {
    static char code[] = "\x7f"
                         "ELF of the fake";
    *cubin = code;
    *bytes = sizeof code - 1;
    ++fake.linked;
    return errorOf("linkComplete");
  };
  api.linkDestroy = [](CudaLink) { return kCudaSuccess; };
  api.pointerGetAttribute = [](void *value, int, unsigned long long address) {
    *static_cast<int *>(value) = address >= 0x2000 ? 1 : 0;
    return address < 0x1000 ? 1 : kCudaSuccess;
  };
  return api;
}

class CudaDriver : public testing::Test {
protected:
  CudaDriver() : api(makeFakeApi()) {
    fake = {};
    image.kernelName = "add";
    image.backend = "cuda";
    image.targetName = "nvptx64:sm_90a";
    image.entryPoint = "add";
    image.properties = {{"threads", 128}, {"shared", 0}};
    image.binary = "// PTX";
    driver = createDriver(&api);
  }
  LaunchFailure launch(int32_t device = 0, backends::Grid grid = {3, 2, 1}) {
    LaunchFailure failure;
    if (!kernel)
      kernel = driver->load(image, failure);
    if (!kernel)
      return failure;
    LaunchArguments arguments;
    arguments.slots = slots;
    arguments.device = device;
    arguments.stream = handle<void *>(77);
    return kernel->launch(grid, arguments, {});
  }

  CudaApi api;
  KernelImage image;
  std::unique_ptr<backends::Driver> driver;
  std::unique_ptr<backends::LoadedKernel> kernel;
  uint64_t slots[2] = {0x1000, 42};
};

TEST_F(CudaDriver, describesDevices) {
  std::string reason;
  const auto &devices = driver->devices(reason);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].arch, "sm_90a");
  EXPECT_EQ(devices[1].arch, "sm_86");
  EXPECT_EQ(reason, "");
  EXPECT_EQ(driver->hostFingerprint(), "cuda:13000:sm_86:sm_90a");
  EXPECT_TRUE(driver->canRun("nvptx64:sm_86", reason));
  EXPECT_FALSE(driver->canRun("nvptx64:sm_80", reason));
  EXPECT_EQ(driver->deviceOf(0x2345), 1);
  EXPECT_EQ(driver->deviceOf(0x10), -1);
}

TEST_F(CudaDriver, saysWhyThereAreNoDevices) {
  fake.errors["init"] = 803;
  std::string reason;
  EXPECT_TRUE(driver->devices(reason).empty());
  EXPECT_THAT(reason, HasSubstr("does not start: CUDA_ERROR_OF_THE_TEST"));
  EXPECT_THAT(reason, HasSubstr("restart the machine"));
  LaunchFailure failure = launch();
  EXPECT_EQ(failure.kind, Kind::Machine);
  EXPECT_THAT(failure.message, HasSubstr("add: there is no NVIDIA GPU to run on"));
}

TEST_F(CudaDriver, passesArgumentsShapeAndStream) {
  image.arguments.resize(fake.argumentCount = 2);
  image.properties["shared"] = 100 << 10;
  ASSERT_TRUE(launch().ok());
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeState::Launch &made = fake.launches[0];
  EXPECT_EQ(made.shape, (std::array<unsigned, 7>{3, 2, 1, 128, 1, 1, 100 << 10}));
  EXPECT_EQ(made.stream, handle<CudaStream>(77));
  EXPECT_EQ(made.arguments, (std::vector<uint64_t>{0x1000, 42}));
  EXPECT_EQ(fake.dynamicShared, 100 << 10);
  EXPECT_EQ(kernel->resources().registers, 40);
  EXPECT_EQ(kernel->resources().localBytes, 16);
}

TEST_F(CudaDriver, loadsOncePerDeviceAndPutsTheContextBack) {
  fake.current = handle<CudaContext>(5);
  for (int32_t device : {0, 1, 0, 1})
    ASSERT_TRUE(launch(device).ok());
  EXPECT_EQ(fake.modulesLoaded, 2);
  EXPECT_EQ(fake.contextsRetained, 2);
  EXPECT_EQ(fake.launches[0].context, handle<CudaContext>(1000));
  EXPECT_EQ(fake.launches[1].context, handle<CudaContext>(1100));
  EXPECT_EQ(fake.current, handle<CudaContext>(5));
  LaunchFailure failure = launch(2);
  EXPECT_THAT(failure.message, HasSubstr("there is no device cuda:2, only 2"));
}

TEST_F(CudaDriver, errorsNameTheKernelTheErrorAndARemedy) {
  fake.errors["launchKernel"] = 700;
  LaunchFailure failure = launch();
  EXPECT_EQ(failure.kind, Kind::Machine);
  EXPECT_EQ(failure.message, "add: launch: CUDA_ERROR_ILLEGAL_ADDRESS (as injected)");
  EXPECT_THAT(failure.help, HasSubstr("missing mask"));
}

TEST_F(CudaDriver, failsToLoadEachTimeItIsTried) {
  fake.errors["moduleLoadDataEx"] = 218;
  for (int i = 0; i < 2; ++i) {
    LaunchFailure failure = launch();
    EXPECT_THAT(failure.message, HasSubstr("the code cannot be loaded"));
    EXPECT_THAT(failure.message, HasSubstr("ptxas: line 7"));
  }
  fake.errors.clear();
  EXPECT_TRUE(launch().ok());
}

TEST_F(CudaDriver, refusesWhatDoesNotFit) {
  image.properties["shared"] = 300 << 10;
  LaunchFailure failure = launch();
  EXPECT_EQ(failure.kind, Kind::Resources);
  EXPECT_THAT(failure.message, HasSubstr("needs 307200 bytes of shared memory"));
  EXPECT_EQ(fake.modulesUnloaded, 1);

  kernel.reset();
  image.properties = {{"threads", 1024}};
  fake.maxThreads = 512;
  failure = launch();
  EXPECT_EQ(failure.kind, Kind::Resources);
  EXPECT_THAT(failure.message, HasSubstr("at most 512"));

  kernel.reset();
  image.properties = {{"threads", 128}};
  failure = launch(0, {1, 65536, 1});
  EXPECT_EQ(failure.kind, Kind::Call);
  EXPECT_THAT(failure.message, HasSubstr("grid axis y has 65536 programs"));
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CudaDriver, assemblesForADeviceThatIsThere) {
  LaunchFailure failure;
  ASSERT_TRUE(driver->finish(image, failure));
  EXPECT_EQ(image.binary, "\x7f"
                          "ELF of the fake");
  EXPECT_EQ(image.stages["ptx"], "// PTX");
  EXPECT_EQ(fake.linkedPtx, std::string("// PTX\0", 7));

  image.binary = "// other PTX";
  image.targetName = "nvptx64:sm_100a";
  ASSERT_TRUE(driver->finish(image, failure));
  EXPECT_EQ(image.binary, "// other PTX");
  EXPECT_EQ(fake.linked, 1);
}

TEST_F(CudaDriver, rejectedPtxIsAFaultOfTheCompiler) {
  fake.errors["linkComplete"] = 218;
  LaunchFailure failure;
  EXPECT_FALSE(driver->finish(image, failure));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_THAT(failure.message, HasSubstr("ptxas: line 9"));
  EXPECT_EQ(image.binary, "// PTX");
}

TEST_F(CudaDriver, aForkedChildGetsAnError) {
  ASSERT_TRUE(launch().ok());
  pid_t child = ::fork();
  if (child == 0) {
    LaunchFailure failure = launch();
    bool isRight = failure.kind == Kind::Machine &&
                   failure.message.find("does not survive fork()") != std::string::npos &&
                   failure.help.find("spawn") != std::string::npos && fake.launches.size() == 1;
    ::_exit(isRight ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

//-- With a GPU -----------------------------------------------------------------------------------

constexpr const char *kVectorAdd = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<8>; .reg .f32 %f<3>;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u64 %d3, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r2, %r2, %r3, %r4;
  setp.ge.s32 %p, %r2, %r1;
  @%p bra done;
  mul.wide.s32 %d4, %r2, 4;
  add.s64 %d5, %d1, %d4; add.s64 %d6, %d2, %d4; add.s64 %d7, %d3, %d4;
  ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6];
  add.f32 %f1, %f1, %f2;
  st.global.f32 [%d7], %f1;
done:
  ret;
}
)";

TEST(CudaDriverOnAGpu, addsVectors) {
  auto driver = createDriver();
  std::string reason;
  const auto &devices = driver->devices(reason);
  if (devices.empty())
    GTEST_SKIP() << reason;
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto allocate = reinterpret_cast<CudaResult (*)(unsigned long long *, size_t)>(
      ::dlsym(library, "cuMemAlloc_v2"));
  auto release =
      reinterpret_cast<CudaResult (*)(unsigned long long)>(::dlsym(library, "cuMemFree_v2"));
  auto toDevice = reinterpret_cast<CudaResult (*)(unsigned long long, const void *, size_t)>(
      ::dlsym(library, "cuMemcpyHtoD_v2"));
  auto toHost = reinterpret_cast<CudaResult (*)(void *, unsigned long long, size_t)>(
      ::dlsym(library, "cuMemcpyDtoH_v2"));

  KernelImage image;
  image.kernelName = image.entryPoint = "add";
  image.backend = "cuda";
  image.targetName = "nvptx64:" + devices[0].arch;
  image.arguments.resize(4);
  image.properties = {{"threads", 128}, {"shared", 0}};
  image.binary = kVectorAdd;
  LaunchFailure failure;
  ASSERT_TRUE(driver->finish(image, failure)) << failure.message;
  EXPECT_EQ(image.binary.substr(1, 3), "ELF");
  auto kernel = driver->load(image, failure);
  ASSERT_NE(kernel, nullptr) << failure.message;
  EXPECT_GT(kernel->resources().registers, 0); // makes the context, too

  constexpr unsigned kCount = 1000;
  std::vector<float> x(kCount), y(kCount), out(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i * 7 % 101);
    y[i] = static_cast<float>(i * 13 % 211) / 4;
  }
  uint64_t slots[4] = {0, 0, 0, kCount};
  for (int i = 0; i < 3; ++i) {
    unsigned long long address = 0;
    ASSERT_EQ(allocate(&address, kCount * sizeof(float)), kCudaSuccess);
    slots[i] = address;
  }
  ASSERT_EQ(toDevice(slots[0], x.data(), kCount * sizeof(float)), kCudaSuccess);
  ASSERT_EQ(toDevice(slots[1], y.data(), kCount * sizeof(float)), kCudaSuccess);
  LaunchArguments arguments;
  arguments.slots = slots;
  failure = kernel->launch({8, 1, 1}, arguments, {});
  ASSERT_TRUE(failure.ok()) << failure.message;
  ASSERT_EQ(toHost(out.data(), slots[2], kCount * sizeof(float)), kCudaSuccess);
  for (unsigned i = 0; i < kCount; ++i)
    ASSERT_EQ(out[i], x[i] + y[i]) << i;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(release(slots[i]), kCudaSuccess);
}

} // namespace
} // namespace sectile::nvidia
