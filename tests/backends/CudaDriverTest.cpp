// The driver of NVIDIA GPUs without one: devices, launches, modules, memory.
#include "CudaDriverFixture.h"
#include "backends/gpu/driver/GpuDevice.h"
#include "backends/nvidia/TargetNames.h"

#include <algorithm>
#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::nvidia;
using namespace sectile::nvidia::test_driver;

namespace {

TEST_F(CudaDriverTest, DescribesDevices) {
  std::string reason;
  std::vector<backends::DeviceInfo> devices = driver().devices(reason);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "Fake GPU");
  EXPECT_EQ(devices[0].arch, "sm_90a");
  EXPECT_EQ(devices[0].sharedBytesPerBlock, 232448);
  EXPECT_EQ(devices[0].multiprocessorCount, 132);
  EXPECT_EQ(fake.count("retain"), 0) << "looking at devices makes no context";
}

TEST_F(CudaDriverTest, SaysWhyThereIsNoDevice) {
  fake.results["init"] = kCudaNotInitialized;
  std::string reason;
  EXPECT_TRUE(driver().devices(reason).empty());
  EXPECT_THAT(reason, HasSubstr("CUDA_ERROR_NOT_INITIALIZED"));
  EXPECT_THAT(reason, HasSubstr("spawn"));
  EXPECT_THAT(launch(test::addImage()).message,
              HasSubstr("add: there is no NVIDIA GPU to run on: NVIDIA's driver does not start"));
}

TEST_F(CudaDriverTest, NamesAFewDevicesWhenThereAreFewer) {
  auto kernel = load(test::addImage());
  EXPECT_EQ(launch(*kernel, 3).message, "add: there is no device cuda:3, only 1");
  EXPECT_EQ(launch(*kernel, -1).message, "add: there is no device cuda:-1, only 1");
}

TEST_F(CudaDriverTest, PassesArgumentsAndShape) {
  auto kernel = load(test::addImage());
  ASSERT_TRUE(kernel) << failure.message;
  EXPECT_TRUE(kernel->isAsynchronous());
  bool launched = false;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    launched = true;
    EXPECT_EQ(launch.config.gridX, 4u);
    EXPECT_EQ(launch.config.gridY, 2u);
    EXPECT_EQ(launch.config.gridZ, 3u);
    EXPECT_EQ(launch.config.blockX, 128u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.config.stream), 0x77u);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[i]), slots[i]);
  };
  EXPECT_TRUE(launch(*kernel, 0, 0x77, {4, 2, 3}).ok());
  EXPECT_TRUE(launched);
}

TEST_F(CudaDriverTest, LoadsOncePerDeviceAndKeepsTheCallersContext) {
  fake.deviceCount = 2;
  auto kernel = load(test::addImage());
  ASSERT_TRUE(kernel);
  EXPECT_EQ(fake.count("load"), 0);
  EXPECT_TRUE(launch(*kernel).ok());
  CudaContext first = fake.currentContext;
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(fake.count("load"), 1);
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) { EXPECT_NE(launch.context, first); };
  EXPECT_TRUE(launch(*kernel, 1).ok());
  EXPECT_TRUE(launch(*kernel, 1).ok());
  EXPECT_EQ(fake.count("load"), 2);
  EXPECT_EQ(fake.count("retain"), 2);
  EXPECT_EQ(fake.currentContext, first);
}

TEST_F(CudaDriverTest, LeavesItsContextWhereThereWasNone) {
  auto kernel = load(test::addImage());
  fake.currentContext = nullptr;
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_NE(fake.currentContext, nullptr);
}

TEST_F(CudaDriverTest, AsksForLargeSharedMemory) {
  backends::KernelImage large = test::addImage();
  large.gpu.sharedBytes = 100000;
  auto kernel = load(large);
  ASSERT_TRUE(kernel);
  fake.onLaunch = [](const test::FakeCuda::Launch &launch) {
    EXPECT_EQ(launch.config.sharedBytes, 100000u);
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_THAT(fake.attributesSet,
              testing::ElementsAre(std::pair<int, int>(kFunctionMaxDynamicSharedBytes, 100000)));
}

TEST_F(CudaDriverTest, RefusesWhatTheDeviceDoesNotHave) {
  backends::KernelImage large = test::addImage();
  large.gpu.sharedBytes = 300000;
  failure = launch(large);
  EXPECT_EQ(failure.kind, Kind::Resources);
  EXPECT_EQ(failure.message,
            "add: needs 300000 bytes of shared memory, and Fake GPU offers 232448 to a program");

  large = test::addImage();
  large.gpu.threads = 2048;
  failure = launch(large);
  EXPECT_EQ(failure.kind, Kind::Resources);
  EXPECT_EQ(failure.message, "add: num_warps = 64 are 2048 threads, and Fake GPU runs at most 1024 "
                             "in a program");
  large.gpu.lanes = 64;
  failure = launch(large);
  EXPECT_EQ(failure.message, "add: num_warps = 32 are 2048 threads, and Fake GPU runs at most 1024 "
                             "in a program");
  EXPECT_EQ(failure.help, "use num_warps = 16 or less");

  fake.functionAttributes[kFunctionMaxThreadsPerBlock] = 96;
  fake.functionAttributes[kFunctionRegisters] = 255;
  failure = launch(test::addImage());
  EXPECT_EQ(failure.kind, Kind::Resources);
  EXPECT_EQ(failure.message, "add: 128 threads of 255 registers each, and Fake GPU has 65536 "
                             "registers for a program");
  EXPECT_EQ(fake.count("launch"), 0);
}

TEST_F(CudaDriverTest, RefusesLongAxes) {
  auto kernel = load(test::addImage());
  LaunchFailure why = launch(*kernel, 0, 0, {1, 65536, 1});
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message,
            "add: grid axis y has 65536 programs of 128 threads, and NVIDIA GPUs run at most 65535 "
            "along it");
  EXPECT_THAT(launch(*kernel, 0, 0, {(int64_t{1} << 32) + 1, 1, 1}).message,
              HasSubstr("grid axis x has 4294967297 programs"));
  EXPECT_EQ(fake.count("launch"), 0);
}

TEST_F(CudaDriverTest, NamesTheLatestLaunchesWhenTheDeviceHasFailed) {
  auto kernel = load(test::addImage());
  EXPECT_TRUE(launch(*kernel).ok());
  slots[3] = 7;
  fake.results["launch"] = kCudaIllegalAddress;
  LaunchFailure why = launch(*kernel, 0, 0x10, {2, 1, 1});
  EXPECT_EQ(why.kind, Kind::Machine);
  EXPECT_EQ(why.message,
            "add: launch: CUDA_ERROR_ILLEGAL_ADDRESS (a text)\n"
            "  it may come from an earlier launch; the latest on cuda:0, newest first:\n"
            "    add[2, 1, 1](x = 0x0000000000001000, y = 0x0000000000002000, "
            "out = 0x0000000000003000, n = 7) on stream 0x10\n"
            "    add[4, 1, 1](x = 0x0000000000001000, y = 0x0000000000002000, "
            "out = 0x0000000000003000, n = 100) on stream 0x0");
  EXPECT_THAT(why.help, HasSubstr("SECTILE_CHECK=bounds"));
}

TEST_F(CudaDriverTest, EqualLaunchesAreNamedOnce) {
  auto kernel = load(test::addImage()), other = load(test::addImage());
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_TRUE(launch(*kernel, 0, 0x10).ok());
  EXPECT_TRUE(launch(*kernel, 0, 0x10, {4, 2, 1}).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(launch(*other, 0, 0x10, {4, 2, 1}).ok());
  ++slots[3];
  for (int i = 0; i < 12; ++i)
    EXPECT_TRUE(launch(*other, 0, 0x10, {4, 2, 1}).ok());
  std::vector<std::string> ends;
  for (const std::string &line : driver().recentLaunches(0))
    ends.push_back(line.substr(0, line.find('(')) + line.substr(line.find(", n = ")));
  EXPECT_THAT(ends, testing::ElementsAre("add[4, 2, 1], n = 101) on stream 0x10, 12 times",
                                         "add[4, 2, 1], n = 100) on stream 0x10, 2 times",
                                         "add[4, 2, 1], n = 100) on stream 0x10",
                                         "add[4, 1, 1], n = 100) on stream 0x10",
                                         "add[4, 1, 1], n = 100) on stream 0x0, 3 times"));
}

TEST_F(CudaDriverTest, RemembersOnlyTheLatestLaunches) {
  auto kernel = load(test::addImage());
  for (uint64_t i = 0; i < 20; ++i) {
    slots[3] = i;
    EXPECT_TRUE(launch(*kernel).ok());
  }
  std::vector<std::string> launches = driver().recentLaunches(0);
  ASSERT_EQ(launches.size(), 8u);
  EXPECT_THAT(launches[0], HasSubstr("n = 19"));
  EXPECT_THAT(launches[7], HasSubstr("n = 12"));
}

TEST_F(CudaDriverTest, LaunchesClusters) {
  backends::KernelImage clustered = test::addImage();
  clustered.gpu.clusterBlocks = 2;
  auto kernel = load(clustered);
  fake.onLaunch = [](const test::FakeCuda::Launch &launch) {
    EXPECT_EQ(launch.config.gridX, 8u);
    EXPECT_THAT(launch.cluster, testing::ElementsAre(2u, 1u, 1u));
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(fake.count("launch"), 1);
}

TEST_F(CudaDriverTest, TellsRegisters) {
  auto kernel = load(test::addImage());
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(kernel->resources().registers, 24);
  EXPECT_EQ(kernel->resources().localBytes, 16);
  fake.deviceCount = 0;
  made.reset();
  backends::KernelImage elsewhere = test::addImage();
  elsewhere.gpu.registers = 40;
  kernel = load(elsewhere);
  EXPECT_EQ(kernel->resources().registers, 40) << "as the assembler said";
}

TEST_F(CudaDriverTest, TriesToLoadEachTime) {
  auto kernel = load(test::addImage());
  fake.results["load"] = kCudaInvalidPtx;
  for (int round = 0; round < 2; ++round)
    EXPECT_THAT(launch(*kernel).message, HasSubstr("add: the code cannot be loaded: "
                                                   "CUDA_ERROR_INVALID_PTX"));
  fake.results.clear();
  EXPECT_TRUE(launch(*kernel).ok());
}

TEST_F(CudaDriverTest, LaunchesAsItsOptionsSay) {
  for (bool isCooperative : {false, true})
    for (bool isDependent : {false, true}) {
      backends::KernelImage given = test::addImage();
      given.gpu.isCooperative = isCooperative;
      given.gpu.isDependent = isDependent;
      bool wasLaunched = false;
      fake.onLaunch = [&](const test::FakeCuda::Launch &launched) {
        wasLaunched = true;
        EXPECT_EQ(launched.isCooperative, isCooperative);
        EXPECT_EQ(launched.isDependent, isDependent);
        EXPECT_EQ(launched.config.attributeCount, unsigned(isCooperative + isDependent));
      };
      EXPECT_TRUE(launch(given).ok());
      EXPECT_TRUE(wasLaunched);
    }
  fake.results["launch"] = kCudaCooperativeTooLarge;
  EXPECT_THAT(launch(test::addImage()).help, HasSubstr("all programs at once"));
}

TEST_F(CudaDriverTest, UnloadsModulesOfDeadKernelsWhenItLoads) {
  fake.deviceCount = 2;
  for (size_t number = 0; number < gpu::DeadModules::kBatch; ++number)
    EXPECT_TRUE(launch(*load(test::addImage())).ok());
  EXPECT_TRUE(launch(*load(test::addImage()), 1).ok());
  EXPECT_EQ(fake.count("unload") + fake.count("synchronize context"), 0)
      << "nothing is asked of the driver when a kernel dies";
  fake.calls.clear();
  EXPECT_TRUE(launch(*load(test::addImage())).ok());
  ASSERT_EQ(fake.unloaded.size(), gpu::DeadModules::kBatch);
  for (auto [number, context] : fake.unloaded) {
    EXPECT_LT(number, gpu::DeadModules::kBatch) << "device 1 has but one dead kernel";
    EXPECT_EQ(context, reinterpret_cast<CudaContext>(100 << 4));
  }
  auto place = [&](const char *name) { return std::ranges::find(fake.calls, name); };
  EXPECT_LT(place("load"), place("synchronize context"));
  EXPECT_LT(place("synchronize context"), place("unload"));
  EXPECT_EQ(fake.count("synchronize context"), 1);
}

TEST_F(CudaDriverTest, KeepsModulesThatAGraphHasCaptured) {
  for (size_t number = 0; number < gpu::DeadModules::kBatch; ++number) {
    auto kernel = load(test::addImage());
    EXPECT_TRUE(launch(*kernel, 0, 0x77).ok());
    fake.isCapturing = number == 3;
    EXPECT_TRUE(launch(*kernel, 0, 0x77).ok());
    fake.isCapturing = false;
    EXPECT_TRUE(launch(*kernel, 0, 0x77).ok());
  }
  EXPECT_TRUE(launch(*load(test::addImage())).ok());
  EXPECT_TRUE(fake.unloaded.empty()) << "one is missing to the batch";
  EXPECT_TRUE(launch(*load(test::addImage())).ok());
  EXPECT_EQ(fake.unloaded.size(), gpu::DeadModules::kBatch);
  for (auto [number, context] : fake.unloaded)
    EXPECT_NE(number, 3u);
}

TEST_F(CudaDriverTest, UnloadsNothingThatMayStillRun) {
  for (size_t number = 0; number < gpu::DeadModules::kBatch; ++number)
    EXPECT_TRUE(launch(*load(test::addImage())).ok());
  fake.results["synchronize context"] = kCudaInvalidValue;
  auto kernel = load(test::addImage());
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(fake.count("unload"), 0);
  fake.results.clear();
  auto another = load(test::addImage());
  EXPECT_TRUE(launch(*another).ok());
  EXPECT_EQ(fake.unloaded.size(), gpu::DeadModules::kBatch);
  made.reset();
  kernel.reset(); // outlives the driver
}

TEST_F(CudaDriverTest, FindsTheDeviceOfAnAddress) {
  EXPECT_EQ(driver().deviceOf(0x2345), 1);
  EXPECT_EQ(driver().deviceOf(0x10), -1);
}

TEST_F(CudaDriverTest, KnowsMemoryOfTheDeviceItself) {
  backends::KernelImage image = test::addImage();
  image.atomicArguments = {2};
  auto kernel = load(image);
  ASSERT_TRUE(kernel) << failure.message;
  auto isOfDevice = [&](uint64_t address) {
    uint64_t given[] = {0x10, 0x10, address, 100};
    return kernel->combinesInDeviceMemory({given, ranges, 0, nullptr});
  };
  EXPECT_TRUE(isOfDevice(0x1000));
  EXPECT_FALSE(isOfDevice(0x2345)) << "another GPU's";
  EXPECT_FALSE(isOfDevice(0x10)) << "nobody's";
  fake.isManaged = 1;
  EXPECT_FALSE(isOfDevice(0x1000));
  fake.isManaged = 0;
  fake.memoryType = 1;
  EXPECT_FALSE(isOfDevice(0x1000)) << "the host's";
}

TEST(CudaTargetNames, RoundTrip) {
  EXPECT_EQ(archOfCapability(86), "sm_86");
  EXPECT_EQ(archOfCapability(90), "sm_90a");
  EXPECT_EQ(archOfCapability(120), "sm_120a");
  EXPECT_EQ(capabilityOf("sm_90a"), 90);
  EXPECT_EQ(capabilityOf("120"), 120);
  EXPECT_EQ(capabilityOf("sm_90x"), 0);
  EXPECT_EQ(capabilityOf("gfx942"), 0);
  EXPECT_EQ(newestPtxVersion(11080), 78);
  EXPECT_EQ(newestPtxVersion(12040), 84);
  EXPECT_EQ(newestPtxVersion(12060), 85);
  EXPECT_EQ(newestPtxVersion(13000), 90);
}

TEST_F(CudaDriverTest, AForkedChildIsTold) {
  auto kernel = load(test::addImage());
  ASSERT_TRUE(launch(*kernel).ok());
  pid_t child = fork();
  if (child == 0) {
    LaunchFailure why = launch(*kernel);
    bool isTold = why.kind == Kind::Machine &&
                  why.message.find("does not survive fork()") != std::string::npos &&
                  fake.count("launch") == 1;
    std::string reason;
    isTold &= why.help.find("spawn") != std::string::npos &&
              launch(test::addImage()).kind == Kind::Machine;
    _exit(isTold ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fake.onLaunch = nullptr;
  EXPECT_TRUE(launch(*kernel).ok()) << "the parent goes on";
}

TEST_F(CudaDriverTest, HandsOutMemoryAndTimes) {
  backends::DeviceServices &services = *driver().services();
  uint64_t address = 0;
  int32_t device = 0;
  ASSERT_TRUE(services.allocate(device, 16, address).ok());
  char in[16] = "fifteen letters", out[16] = "";
  EXPECT_TRUE(services.copyToDevice(device, address, in, 16, nullptr).ok());
  EXPECT_TRUE(services.copyToHost(device, out, address, 16, nullptr).ok());
  EXPECT_STREQ(out, in);
  services.release(device, address);
  fake.results["allocate"] = kCudaOutOfMemory;
  backends::DeviceStatus status = services.allocate(device, 1000, address);
  EXPECT_EQ(status.message, "cuda:0: no memory: CUDA_ERROR_OUT_OF_MEMORY (a text) (1000 bytes)");
  EXPECT_THAT(status.help, HasSubstr("free memory"));
}

} // namespace
