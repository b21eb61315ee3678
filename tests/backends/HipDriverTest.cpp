// The driver of AMD GPUs without one: a fake HIP runtime answers. What all makers share is tested
// in CudaDriverTest.
#include "FakeHip.h"
#include "backends/amd/Driver.h"
#include "backends/plain/DeviceAbi.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::amd;
using backends::LaunchFailure;
using backends::RecordBuffer;
using testing::HasSubstr;
using Kind = LaunchFailure::Kind;

namespace {

backends::KernelImage addImage(const std::string &arch = "gfx942") {
  backends::KernelImage image;
  image.kernelName = image.entryPoint = "add";
  image.backend = "hip";
  image.targetName = "amdgcn:" + arch;
  auto pointer = lang::DType::pointer(lang::ScalarKind::Float32);
  image.arguments = {{"x", pointer, 0, false},
                     {"out", pointer, 1, true},
                     {"n", lang::DType::scalar(lang::ScalarKind::Int32), 2, false}};
  image.gpu.threads = 256;
  image.gpu.lanes = 64;
  image.gpu.sharedBytes = 512;
  image.binary = "\x7f"
                 "ELF code object";
  return image;
}

class HipDriverTest : public testing::Test {
protected:
  backends::Driver &driver() {
    if (!made)
      made = createDriver({{}, &fake.api});
    return *made;
  }
  std::unique_ptr<backends::LoadedKernel> load(backends::KernelImage given) {
    image = std::move(given);
    return driver().load(image, failure);
  }
  LaunchFailure launch(const backends::LoadedKernel &kernel, int32_t device = 0,
                       uint64_t stream = 0, backends::Grid grid = {4, 1, 1}) {
    return kernel.launch(grid, {slots, ranges, device, reinterpret_cast<void *>(stream)},
                         [this](std::string_view text) { printed += text; });
  }
  LaunchFailure launch(backends::KernelImage given) {
    auto kernel = load(std::move(given));
    EXPECT_TRUE(kernel);
    return launch(*kernel);
  }
  test::FakeHip fake;
  std::unique_ptr<backends::Driver> made;
  backends::KernelImage image;
  LaunchFailure failure;
  uint64_t slots[3] = {0x1000, 0x2000, 100};
  uint64_t ranges[6] = {0x1000, 0x1400, 0x2000, 0x2400, 0, 0};
  std::string printed;
};

TEST_F(HipDriverTest, DescribesDevices) {
  fake.archs = {"gfx90a:sramecc+:xnack-", "gfx1201"};
  // The structure of 6.0 and later, and the one before.
  for (size_t place : {1160, 396}) {
    fake.archPlace = place;
    made = nullptr;
    std::string reason;
    std::vector<backends::DeviceInfo> devices = driver().devices(reason);
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[0].name, "Fake Instinct");
    EXPECT_EQ(devices[0].arch, "gfx90a");
    EXPECT_EQ(devices[1].arch, "gfx1201");
    EXPECT_EQ(devices[0].warpSize, 64);
    EXPECT_EQ(devices[0].sharedBytesPerBlock, 65536);
    EXPECT_EQ(devices[0].capability, 94);
  }
}

TEST(HipArch, IsFoundInAnyStructure) {
  EXPECT_EQ(archIn("\0\0gfx942:sramecc+", 17), "gfx942");
  EXPECT_EQ(archIn("xgfx1100\0y", 10), "gfx1100");
  EXPECT_EQ(archIn("gfx950", 6), "gfx950") << "no zero behind it";
  EXPECT_EQ(archIn("nothing", 7), "");
}

TEST_F(HipDriverTest, SaysWhyThereIsNoDevice) {
  fake.results["init"] = kHipNoDevice;
  std::string reason;
  EXPECT_TRUE(driver().devices(reason).empty());
  EXPECT_THAT(reason, HasSubstr("AMD's HIP runtime does not start: hipErrorNoDevice"));
  EXPECT_THAT(reason, HasSubstr("/dev/kfd"));
  LaunchFailure why = launch(addImage());
  EXPECT_EQ(why.kind, Kind::Machine);
  EXPECT_THAT(why.message, HasSubstr("add: there is no AMD GPU to run on: "));
}

TEST_F(HipDriverTest, SaysWhatIsWrongWithTheLibrary) {
  std::string reason;
  EXPECT_FALSE(HipApi::load("/nonexistent/libamdhip64.so", reason));
  EXPECT_THAT(reason, HasSubstr("AMD's HIP runtime was not found: /nonexistent/libamdhip64.so"));
  EXPECT_FALSE(HipApi::load("libm.so.6", reason));
  EXPECT_THAT(reason, HasSubstr("too old: it has no hipInit"));
}

TEST_F(HipDriverTest, PassesArgumentsAndShape) {
  auto kernel = load(addImage());
  ASSERT_TRUE(kernel) << failure.message;
  EXPECT_TRUE(kernel->isAsynchronous());
  bool launched = false;
  fake.onLaunch = [&](const test::FakeHip::Launch &launch) {
    launched = true;
    EXPECT_THAT(launch.grid, testing::ElementsAre(4, 2, 3));
    EXPECT_THAT(launch.block, testing::ElementsAre(256, 1, 1));
    EXPECT_EQ(launch.sharedBytes, 0u) << "shared memory is part of the code";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.stream), 0x77u);
    EXPECT_FALSE(launch.isCooperative);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[i]), slots[i]);
  };
  EXPECT_TRUE(launch(*kernel, 0, 0x77, {4, 2, 3}).ok());
  EXPECT_TRUE(launched);
}

TEST_F(HipDriverTest, PutsTheCallersDeviceBack) {
  fake.archs = {"gfx942", "gfx942"};
  auto kernel = load(addImage());
  fake.currentDevice = 1;
  fake.onLaunch = [&](const test::FakeHip::Launch &launch) { EXPECT_EQ(launch.device, 0); };
  EXPECT_TRUE(launch(*kernel, 0).ok());
  EXPECT_EQ(fake.currentDevice, 1);
  fake.onLaunch = [&](const test::FakeHip::Launch &launch) { EXPECT_EQ(launch.device, 1); };
  EXPECT_TRUE(launch(*kernel, 1).ok());
  fake.currentDevice = 0;
  EXPECT_TRUE(launch(*kernel, 1).ok());
  EXPECT_EQ(fake.currentDevice, 0);
  EXPECT_EQ(fake.count("load"), 2) << "once on each";
  EXPECT_EQ(fake.wrongLaunches, 0);
}

TEST_F(HipDriverTest, CodeRunsOnItsOwnChipOnly) {
  fake.archs = {"gfx1100", "gfx942"};
  std::string reason;
  EXPECT_TRUE(driver().canRun("amdgcn:gfx942", reason));
  EXPECT_FALSE(driver().canRun("amdgcn:gfx90a", reason));
  EXPECT_EQ(reason, "the code is for gfx90a, and the device is gfx1100");
  EXPECT_FALSE(driver().canRun("nvptx64:sm_90a", reason));
  EXPECT_EQ(reason, "the code is not for AMD GPUs");
  auto kernel = load(addImage());
  EXPECT_TRUE(launch(*kernel, 1).ok());
  LaunchFailure why = launch(*kernel, 0);
  EXPECT_EQ(why.message, "add: the code is for gfx942, and hip:0 is gfx1100");
  EXPECT_THAT(why.help, HasSubstr("arch="));
  EXPECT_EQ(fake.count("load"), 1);
}

TEST_F(HipDriverTest, RefusesGridsOfTooManyThreads) {
  auto kernel = load(addImage());
  EXPECT_TRUE(launch(*kernel, 0, 0, {(int64_t{1} << 24) - 1, 70000, 70000}).ok());
  LaunchFailure why = launch(*kernel, 0, 0, {int64_t{1} << 24, 1, 1});
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message, "add: grid axis x has 16777216 programs of 256 threads, and AMD GPUs run "
                         "at most 16777215 along it");
  EXPECT_THAT(launch(*kernel, 0, 0, {1, int64_t{1} << 32, 1}).message,
              HasSubstr("grid axis y has 4294967296 programs of 256 threads, and"));
  EXPECT_EQ(fake.count("launch"), 1);
}

TEST_F(HipDriverTest, RefusesWhatTheDeviceDoesNotHave) {
  fake.functionAttributes[kHipFunctionSharedBytes] = 100000;
  LaunchFailure why = launch(addImage());
  EXPECT_EQ(why.kind, Kind::Resources);
  EXPECT_THAT(why.message, HasSubstr("needs 100000 bytes of shared memory"));
  EXPECT_EQ(fake.count("unload"), 1);
}

TEST_F(HipDriverTest, CooperativeLaunchesNeedANewerRuntime) {
  backends::KernelImage cooperative = addImage();
  cooperative.gpu.isCooperative = true;
  fake.onLaunch = [](const test::FakeHip::Launch &launch) { EXPECT_TRUE(launch.isCooperative); };
  EXPECT_TRUE(launch(cooperative).ok());
  fake.api.moduleLaunchCooperativeKernel = nullptr;
  LaunchFailure why = launch(cooperative);
  EXPECT_THAT(why.message, HasSubstr("add: launch: hipErrorNotSupported"));
  EXPECT_THAT(why.help, HasSubstr("newer ROCm"));
}

TEST_F(HipDriverTest, NamesTheLatestLaunchesWhenTheDeviceHasFailed) {
  auto kernel = load(addImage());
  EXPECT_TRUE(launch(*kernel).ok());
  fake.results["synchronize"] = kHipIllegalAddress;
  backends::DeviceStatus status = driver().services()->synchronize(0, nullptr);
  EXPECT_THAT(status.message, HasSubstr("hip:0: synchronize: hipErrorIllegalAddress (a text)"));
  EXPECT_THAT(status.message,
              HasSubstr("the latest on hip:0, newest first:\n    add[4, 1, 1](x = "));
  EXPECT_THAT(status.message, HasSubstr("n = 100) on stream 0x0"));
  EXPECT_THAT(status.help, HasSubstr("SECTILE_CHECK=bounds"));
}

TEST_F(HipDriverTest, ReportsComeThroughCoherentMemory) {
  backends::KernelImage checked = addImage();
  checked.gpu.hiddenParameters = backends::kHiddenRecords;
  checked.trapSites.emplace_back();
  auto kernel = load(checked);
  EXPECT_FALSE(kernel->isAsynchronous());
  fake.onLaunch = [&](const test::FakeHip::Launch &launch) {
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    buffer->stop = 1;
    buffer->trapProgram = 3;
  };
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Trap);
  EXPECT_EQ(why.program, 3);
  EXPECT_EQ(fake.hostFlags, kHipHostPortable | kHipHostMapped | kHipHostCoherent);
  fake.isCapturing = true;
  EXPECT_THAT(launch(*kernel).message, HasSubstr("cannot be captured into a graph"));
}

TEST_F(HipDriverTest, FindsTheDeviceOfAnAddress) {
  fake.archs = {"gfx942", "gfx942"};
  EXPECT_EQ(driver().deviceOf(0x10), -1);
  EXPECT_EQ(driver().deviceOf(0x1000), 0);
  EXPECT_EQ(driver().deviceOf(0x2000), 1);
}

TEST_F(HipDriverTest, KnowsOrdinaryMemoryOfTheDeviceItself) {
  fake.archs = {"gfx90a", "gfx90a"};
  enum : uintptr_t { kHost = 0x1000, kDevice, kOther, kManaged, kFineGrained, kUnknown };
  struct {
    int version, host, device, managed;
  } releases[] = {{50221153, 0, 1, 1}, {50731921, 0, 1, 4}, {60032830, 1, 2, 3}};
  for (auto [version, host, device, managed] : releases) {
    SCOPED_TRACE(version);
    fake.version = version;
    fake.memory = {{kHost, {.memoryType = host, .hostPointer = &fake}},
                   {kDevice, {.memoryType = device}},
                   {kOther, {.memoryType = device, .device = 1}},
                   {kManaged, {.memoryType = managed, .isManaged = 1}},
                   {kFineGrained, {.memoryType = device, .allocationFlags = 1}}};
    made = nullptr;
    backends::KernelImage adding = addImage("gfx90a");
    adding.atomicArguments = {1};
    auto kernel = load(adding);
    auto isOfDevice = [&](uint64_t out, int32_t on = 0, uint64_t x = kHost) {
      uint64_t given[] = {x, out, 100};
      return kernel->combinesInDeviceMemory({given, ranges, on, nullptr});
    };
    EXPECT_TRUE(isOfDevice(kDevice));
    EXPECT_FALSE(isOfDevice(kDevice, 1));
    EXPECT_TRUE(isOfDevice(kOther, 1));
    EXPECT_FALSE(isOfDevice(kOther));
    for (uintptr_t address : {kHost, kManaged, kFineGrained, kUnknown})
      EXPECT_FALSE(isOfDevice(address)) << address;
    int questions = fake.memoryQuestions;
    EXPECT_FALSE(isOfDevice(0)) << "HIP would keep the error";
    EXPECT_FALSE(isOfDevice(kDevice, 2)) << "there is no such device";
    EXPECT_EQ(fake.memoryQuestions, questions);
    image.atomicArguments = {1, 0};
    EXPECT_FALSE(isOfDevice(kDevice, 0, kHost));
    EXPECT_TRUE(isOfDevice(kDevice, 0, kDevice));
    fake.isCapturing = true;
    EXPECT_TRUE(isOfDevice(kDevice, 0, kDevice));
    fake.isCapturing = false;
  }
  fake.version = 0;
  made = nullptr;
  auto kernel = load(addImage("gfx90a"));
  image.atomicArguments = {1};
  uint64_t given[] = {kDevice, kDevice, 100};
  EXPECT_FALSE(kernel->combinesInDeviceMemory({given, ranges, 0, nullptr}))
      << "a release whose numbers are not known";
}

TEST_F(HipDriverTest, ThereAreNoTensorMaps) {
  backends::KernelImage adding = addImage();
  backends::TensorMap map;
  map.elementBytes = 4;
  map.box = {32};
  map.extents = map.strides = {{{{backends::LaunchExpression::Kind::Constant, 1}}}};
  adding.tensorMaps = {map};
  auto kernel = load(adding);
  ASSERT_TRUE(kernel) << failure.message;
  EXPECT_FALSE(kernel->canMapArrays({slots, ranges, 0, nullptr}));
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message, "add: no tensor map can be made of 'x': hipErrorNotSupported (a text)");
  EXPECT_EQ(fake.count("launch"), 0);
}

TEST_F(HipDriverTest, AForkedChildIsTold) {
  auto kernel = load(addImage());
  ASSERT_TRUE(launch(*kernel).ok());
  pid_t child = fork();
  if (child == 0) {
    LaunchFailure why = launch(*kernel);
    bool isTold =
        why.kind == Kind::Machine && fake.count("launch") == 1 &&
        why.message.find("had started HIP, which does not survive fork()") != std::string::npos;
    _exit(isTold ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(launch(*kernel).ok()) << "the parent goes on";
}

TEST_F(HipDriverTest, HandsOutMemoryAndTimes) {
  backends::DeviceServices &services = *driver().services();
  uint64_t address = 0;
  ASSERT_TRUE(services.allocate(0, 16, address).ok());
  char in[16] = "fifteen letters", out[16] = "";
  EXPECT_TRUE(services.copyToDevice(0, address, in, 16, nullptr).ok());
  EXPECT_TRUE(services.copyToHost(0, out, address, 16, nullptr).ok());
  EXPECT_STREQ(out, in);
  services.release(0, address);
  fake.results["allocate"] = kHipOutOfMemory;
  EXPECT_EQ(services.allocate(0, 1000, address).message,
            "hip:0: no memory: hipErrorOutOfMemory (a text) (1000 bytes)");
  void *event = nullptr;
  float milliseconds = 0;
  EXPECT_TRUE(services.makeEvent(0, event).ok());
  EXPECT_TRUE(services.recordEvent(0, event, nullptr).ok());
  EXPECT_TRUE(services.elapsed(0, event, event, milliseconds).ok());
  EXPECT_EQ(milliseconds, 1.5f);
}

} // namespace
