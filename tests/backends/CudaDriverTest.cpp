// The driver of NVIDIA GPUs without one: a fake libcuda answers.
#include "FakeCuda.h"
#include "PtxKernels.h"
#include "backends/gpu/driver/GpuDevice.h"
#include "backends/gpu/driver/LaunchTensorMaps.h"
#include "backends/nvidia/Assembler.h"
#include "backends/nvidia/Driver.h"
#include "backends/nvidia/TargetNames.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::nvidia;
using backends::LaunchFailure;
using backends::RecordBuffer;
using backends::RecordHeader;
using testing::HasSubstr;
using Kind = LaunchFailure::Kind;

namespace {

class CudaDriverTest : public testing::Test {
protected:
  backends::Driver &driver() {
    if (!made) {
      options.api = &fake.api;
      made = createDriver(options);
    }
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
  test::FakeCuda fake;
  DriverOptions options;
  std::unique_ptr<backends::Driver> made;
  backends::KernelImage image;
  LaunchFailure failure;
  uint64_t slots[4] = {0x1000, 0x2000, 0x3000, 100};
  uint64_t ranges[8] = {0x1000, 0x1400, 0x2000, 0x2400, 0x3000, 0x3400, 0, 0};
  std::string printed;
};

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

//-- Tensor maps ----------------------------------------------------------------------------------

using Step = backends::LaunchExpression::Kind;

/// Adds arrays x of n rows of 64 elements, 2 * n elements apart, and y of n elements.
backends::KernelImage mappedImage() {
  backends::KernelImage image = test::addImage();
  backends::TensorMap rows, line;
  rows.argument = 0;
  rows.elementBytes = 2;
  rows.box = {16, 64};
  rows.extents = {{{{Step::Argument, 3}}}, {{{Step::Constant, 64}}}};
  rows.strides = {{{{Step::Argument, 3}, {Step::Constant, 2}, {Step::Multiply, 0}}},
                  {{{Step::Constant, 1}}}};
  line.argument = 1;
  line.elementBytes = 4;
  line.box = {8};
  line.extents = {{{{Step::Argument, 3}}}};
  line.strides = {{{{Step::Constant, 1}}}};
  line.swizzleBytes = 32;
  image.tensorMaps = {rows, line};
  return image;
}

/// What the fake puts into a map.
std::string mapOf(uint64_t address, int number) {
  std::string bytes(128, char(number));
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}
std::string mapAt(const test::FakeCuda::Launch &launch, size_t parameter) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.parameters[parameter]) % 64, 0u);
  return {static_cast<const char *>(launch.parameters[parameter]), 128};
}

TEST_F(CudaDriverTest, EncodesTensorMaps) {
  auto kernel = load(mappedImage());
  ASSERT_TRUE(kernel) << failure.message;
  slots[3] = 0xffff'ffff'0000'0028; // an i32 has 32 bits: 40
  int launches = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    ++launches;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[i]), slots[i]);
    EXPECT_EQ(mapAt(launch, 4), mapOf(0x1000, 1));
    EXPECT_EQ(mapAt(launch, 5), mapOf(0x2000, 2));
  };
  EXPECT_TRUE(launch(*kernel).ok());
  ASSERT_EQ(fake.encodedMaps.size(), 2u);
  using testing::ElementsAre, testing::IsEmpty;
  const test::FakeCuda::EncodedMap &rows = fake.encodedMaps[0], &line = fake.encodedMaps[1];
  EXPECT_EQ(rows.type, kTensorMapUInt16);
  EXPECT_EQ(rows.address, 0x1000u);
  EXPECT_THAT(rows.extents, ElementsAre(64, 40)) << "the innermost dimension comes first";
  EXPECT_THAT(rows.strideBytes, ElementsAre(160));
  EXPECT_THAT(rows.box, ElementsAre(64, 16));
  EXPECT_THAT(rows.elementStrides, ElementsAre(1, 1));
  EXPECT_EQ(rows.swizzle, kTensorMapSwizzle128);
  EXPECT_EQ(line.type, kTensorMapUInt32);
  EXPECT_EQ(line.address, 0x2000u);
  EXPECT_THAT(line.extents, ElementsAre(40));
  EXPECT_THAT(line.strideBytes, IsEmpty());
  EXPECT_THAT(line.box, ElementsAre(8));
  EXPECT_EQ(line.swizzle, kTensorMapSwizzle32);
  for (const test::FakeCuda::EncodedMap &map : fake.encodedMaps) {
    EXPECT_EQ(map.interleave, 0);
    EXPECT_EQ(map.promotion, 2);
    EXPECT_EQ(map.fill, 0);
    EXPECT_TRUE(map.isAligned);
    EXPECT_EQ(map.context, reinterpret_cast<CudaContext>(100 << 4));
  }
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(fake.encodedMaps.size(), 2u) << "the second launch finds them";
}

/// 132 multiprocessors that run two blocks each.
TEST_F(CudaDriverTest, BlocksRunSeveralPrograms) {
  backends::KernelImage given = mappedImage();
  given.gpu.hiddenParameters = backends::kHiddenPrograms;
  auto kernel = load(std::move(given));
  ASSERT_TRUE(kernel) << failure.message;
  EXPECT_TRUE(kernel->isAsynchronous());
  struct Case {
    backends::Grid grid;
    unsigned blocks;
  };
  const Case cases[] = {
      {{1, 1, 1}, 1},
      {{264, 1, 1}, 264},
      {{265, 1, 1}, 264},
      {{100'000, 1, 1}, 264},
      {{1000, 2, 1}, 132},
      {{1000, 2, 3}, 44},
      // 264 rows of two programs, one block for each row; 265 rows have blocks for their programs.
      {{2, 264, 1}, 1},
      {{2, 265, 1}, 2},
      // 140 blocks would take 16 rounds for what 264 at a time do in 9.
      {{16, 140, 1}, 16}};
  for (const Case &each : cases) {
    bool launched = false;
    fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
      launched = true;
      EXPECT_EQ(launch.config.gridX, each.blocks) << each.grid.x << " " << each.grid.y;
      EXPECT_EQ(launch.config.gridY, unsigned(each.grid.y));
      EXPECT_EQ(launch.config.gridZ, unsigned(each.grid.z));
      EXPECT_EQ(*static_cast<uint32_t *>(launch.parameters[4]), unsigned(each.grid.x));
      EXPECT_EQ(mapAt(launch, 5).substr(8), mapOf(0, 1).substr(8)) << "maps come last";
    };
    EXPECT_TRUE(launch(*kernel, 0, 0, each.grid).ok());
    EXPECT_TRUE(launched);
  }
}

TEST_F(CudaDriverTest, TensorMapsOfAllKinds) {
  const std::pair<int32_t, int> types[] = {{1, 0}, {2, 1}, {4, 2}, {8, 4}};
  const std::pair<int32_t, int> swizzles[] = {{32, 1}, {64, 2}, {128, 3}};
  for (auto [bytes, type] : types)
    for (auto [swizzleBytes, swizzle] : swizzles) {
      backends::KernelImage given = mappedImage();
      given.tensorMaps.erase(given.tensorMaps.begin());
      given.tensorMaps[0].elementBytes = bytes;
      given.tensorMaps[0].swizzleBytes = swizzleBytes;
      given.tensorMaps[0].box = {16 / bytes};
      EXPECT_TRUE(launch(given).ok());
      EXPECT_EQ(fake.encodedMaps.back().type, type);
      EXPECT_EQ(fake.encodedMaps.back().swizzle, swizzle);
    }
  EXPECT_EQ(fake.encodedMaps.size(), 12u);
}

TEST_F(CudaDriverTest, TensorMapsOfFiveDimensions) {
  backends::KernelImage given = mappedImage();
  backends::TensorMap &map = given.tensorMaps[0];
  auto constants = [](std::vector<int64_t> numbers) {
    std::vector<backends::LaunchExpression> result;
    for (int64_t number : numbers)
      result.push_back({{{Step::Constant, number}}});
    return result;
  };
  map.extents = constants({2, 3, 4, 5, 64});
  map.strides = constants({3840, 1280, 320, 64, 1});
  map.box = {1, 2, 4, 8, 64};
  EXPECT_TRUE(launch(given).ok());
  using testing::ElementsAre;
  EXPECT_THAT(fake.encodedMaps[0].extents, ElementsAre(64, 5, 4, 3, 2));
  EXPECT_THAT(fake.encodedMaps[0].strideBytes, ElementsAre(128, 640, 2560, 7680));
  EXPECT_THAT(fake.encodedMaps[0].box, ElementsAre(64, 8, 4, 2, 1));
  EXPECT_THAT(fake.encodedMaps[0].elementStrides, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(CudaDriverTest, RemembersTheLatestTensorMaps) {
  auto kernel = load(mappedImage());
  uint64_t expected = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    uint64_t address;
    std::memcpy(&address, launch.parameters[4], sizeof address);
    EXPECT_EQ(address, expected);
  };
  auto launched = [&](uint64_t array) { // how many sets of maps were encoded for it
    const size_t before = fake.encodedMaps.size();
    slots[0] = expected = 0x10000 * (array + 1);
    EXPECT_TRUE(launch(*kernel).ok());
    return (fake.encodedMaps.size() - before) / 2;
  };
  constexpr uint64_t kMost = gpu::LaunchTensorMaps::kLaunches;
  EXPECT_EQ(kMost, 8u);
  for (uint64_t array = 0; array < kMost; ++array)
    EXPECT_EQ(launched(array), 1u) << array;
  for (uint64_t array = 0; array < kMost; ++array)
    EXPECT_EQ(launched(array), 0u) << array;
  EXPECT_EQ(launched(0), 0u);
  EXPECT_EQ(launched(kMost), 1u) << "takes the place of 1, which was used longest ago";
  EXPECT_EQ(launched(0), 0u);
  EXPECT_EQ(launched(2), 0u);
  EXPECT_EQ(launched(1), 1u);
  // Another extent makes other maps of the same arrays.
  slots[3] = 104;
  EXPECT_EQ(launched(1), 1u);
}

TEST_F(CudaDriverTest, TensorMapsComeBehindHiddenParameters) {
  backends::KernelImage given = test::checkedImage();
  given.tensorMaps = {mappedImage().tensorMaps[1]};
  given.tensorMaps[0].extents = {{{{Step::Constant, 100}}}};
  auto kernel = load(given);
  ASSERT_TRUE(kernel) << failure.message;
  int launches = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    ++launches;
    auto *rangesSeen = reinterpret_cast<uint64_t *>(*static_cast<uint64_t *>(launch.parameters[2]));
    EXPECT_EQ(rangesSeen[1], ranges[1]);
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    EXPECT_EQ(buffer->stop, 0u);
    EXPECT_EQ(mapAt(launch, 4), mapOf(0x2000, 1));
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(launches, 1);
}

TEST_F(CudaDriverTest, TensorMapsComeBehindManyArguments) {
  backends::KernelImage given = mappedImage();
  while (given.arguments.size() < 50)
    given.arguments.push_back(given.arguments[3]);
  given.tensorMaps.resize(backends::kMostTensorMaps, given.tensorMaps[1]);
  auto kernel = load(given);
  ASSERT_TRUE(kernel) << failure.message;
  uint64_t many[50] = {0x1000, 0x2000, 0x3000};
  std::fill(many + 3, many + 50, 200);
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[49]), 200u);
    for (size_t i = 0; i < backends::kMostTensorMaps; ++i)
      EXPECT_EQ(mapAt(launch, 50 + i), mapOf(i ? 0x2000 : 0x1000, int(i + 1)));
  };
  EXPECT_TRUE(kernel->launch({1, 1, 1}, {many, nullptr, 0, nullptr}, {}).ok());
  EXPECT_EQ(fake.count("launch"), 1);
}

TEST_F(CudaDriverTest, KnowsWhetherArraysCanBeMapped) {
  auto kernel = load(mappedImage());
  auto isPossible = [&] { return kernel->canMapArrays({slots, ranges, 0, nullptr}); };
  EXPECT_TRUE(isPossible());
  EXPECT_EQ(fake.encodedMaps.size(), 2u);
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(fake.encodedMaps.size(), 2u) << "the launch finds what was made for the answer";

  fake.calls.clear();
  slots[1] = 0x2008;
  EXPECT_FALSE(isPossible());
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message, "add: the base 0x2008 of 'y' is no multiple of 16 bytes");
  EXPECT_THAT(why.help, HasSubstr("pointers_only"));
  slots[1] = 0x2000;
  slots[3] = 0;
  EXPECT_FALSE(isPossible());
  EXPECT_EQ(launch(*kernel).message, "add: dimension 0 of 'x' has 0 elements, not 1 to 2147418112");
  EXPECT_EQ(fake.count("encode map") + fake.count("launch"), 0);
  EXPECT_TRUE(load(test::addImage())->canMapArrays({slots, ranges, 0, nullptr}))
      << "there is nothing to map";
  EXPECT_TRUE(load(mappedImage())->canMapArrays({slots, ranges, 3, nullptr}))
      << "there is no such device, which the launch says";
}

TEST_F(CudaDriverTest, WhatTheDriverRefusesIsNotMapped) {
  auto kernel = load(mappedImage());
  fake.results["encode map"] = kCudaNotSupported;
  EXPECT_FALSE(kernel->canMapArrays({slots, ranges, 0, nullptr}));
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message,
            "add: no tensor map can be made of 'x': CUDA_ERROR_NOT_SUPPORTED (a text)");
  EXPECT_EQ(fake.count("launch"), 0);
  fake.results.clear();
  EXPECT_TRUE(kernel->canMapArrays({slots, ranges, 0, nullptr})) << "failures are not remembered";
  EXPECT_TRUE(launch(*kernel).ok());
}

TEST_F(CudaDriverTest, DriversWithoutTensorMapsLaunchOtherKernels) {
  fake.api.tensorMapEncodeTiled = nullptr;
  auto kernel = load(mappedImage());
  EXPECT_FALSE(kernel->canMapArrays({slots, ranges, 0, nullptr}));
  EXPECT_EQ(launch(*kernel).message,
            "add: no tensor map can be made of 'x': CUDA_ERROR_NOT_SUPPORTED (a text)");
  EXPECT_TRUE(launch(test::addImage()).ok());
}

TEST_F(CudaDriverTest, RefusesMalformedTensorMaps) {
  backends::KernelImage given = mappedImage();
  given.tensorMaps[1].extents[0].steps.clear();
  EXPECT_FALSE(load(given));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_EQ(failure.message, "add: its tensor maps are malformed");
}

TEST_F(CudaDriverTest, AForkedChildMakesNoTensorMaps) {
  auto kernel = load(mappedImage());
  ASSERT_TRUE(launch(*kernel).ok());
  slots[0] = 0x8000;
  pid_t child = fork();
  if (child == 0) {
    bool isRight = kernel->canMapArrays({slots, ranges, 0, nullptr}) &&
                   launch(*kernel).kind == Kind::Machine && fake.encodedMaps.size() == 2;
    _exit(isRight ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(launch(*kernel).ok()) << "the parent goes on";
  EXPECT_EQ(fake.encodedMaps.size(), 4u);
}

//-- Reports of kernels ---------------------------------------------------------------------------

TEST_F(CudaDriverTest, ReportsTraps) {
  auto kernel = load(test::checkedImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto *rangesSeen = reinterpret_cast<uint64_t *>(*static_cast<uint64_t *>(launch.parameters[2]));
    EXPECT_EQ(rangesSeen[1], ranges[1]);
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    EXPECT_EQ(buffer->stop, 0u);
    buffer->stop = 1;
    buffer->trapSite = 0;
    buffer->trapProgram = 3;
    buffer->trapAddress = 0x1400;
  };
  for (int round = 0; round < 2; ++round) { // the buffer is clean the second time
    LaunchFailure why = launch(*kernel);
    EXPECT_EQ(why.kind, Kind::Trap);
    EXPECT_EQ(why.site, 0);
    EXPECT_EQ(why.program, 3);
    EXPECT_EQ(why.address, 0x1400u);
  }
  EXPECT_EQ(fake.count("synchronize"), 2);
  EXPECT_EQ(fake.count("pin"), 1) << "the buffer is used again";
}

/// A record as a kernel writes it.
void writeRecord(RecordBuffer &buffer, int64_t program, float first, uint32_t bytes = 144) {
  char *place = reinterpret_cast<char *>(&buffer + 1) + buffer.cursor;
  RecordHeader header{0, bytes, program};
  std::memcpy(place, &header, sizeof header);
  for (int i = 0; i < 32; ++i) {
    float value = first + static_cast<float>(i);
    std::memcpy(place + sizeof header + 4 * i, &value, sizeof value);
  }
  buffer.cursor += 144;
}

TEST_F(CudaDriverTest, PrintsWhatKernelsPrinted) {
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto &buffer =
        *reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1]));
    writeRecord(buffer, 2, 0.5f);
    writeRecord(buffer, 1, 100);
    writeRecord(buffer, 2, -1);
    buffer.lost = 5;
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_THAT(printed, testing::StartsWith("pid (1, 0, 0) value: fp32[32]\n[100.0 101.0 "));
  EXPECT_THAT(printed, HasSubstr(" 131.0]\npid (2, 0, 0) value: fp32[32]\n[ 0.5  1.5 "));
  EXPECT_THAT(printed, HasSubstr("31.5]\npid (2, 0, 0) value: fp32[32]\n[-1.0  0.0 "));
  EXPECT_THAT(printed, HasSubstr("printing: device_print: 5 prints of programs are missing"));
}

TEST_F(CudaDriverTest, CutsLargeTilesShort) {
  options.settings.printElements = 31;
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(*reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1])),
                0, 0);
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "pid (0, 0, 0) value: fp32[32], 26 of 32 elements left out "
                     "(SECTILE_PRINT_ELEMENTS=32 shows all)\n"
                     "[ 0.0  1.0  2.0 ... 29.0 30.0 31.0]\n");
}

TEST_F(CudaDriverTest, DoesNotTrustRecords) {
  auto kernel = load(test::printImage());
  auto buffer = [](const test::FakeCuda::Launch &launch) -> RecordBuffer & {
    return *reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1]));
  };
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    buffer(launch).cursor = ~uint64_t{0}; // nothing was ever written
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(buffer(launch), 0, 1, 0xffffff00); // beyond the end
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(buffer(launch), 0, 1, 24); // shorter than what the site says
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
}

TEST_F(CudaDriverTest, PrintsBeforeItTellsOfACrash) {
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(*reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1])),
                0, 1);
    fake.results["synchronize"] = kCudaIllegalAddress;
  };
  LaunchFailure why = launch(*kernel);
  EXPECT_THAT(printed, HasSubstr("value: fp32[32]\n[ 1.0  2.0 "));
  EXPECT_THAT(why.message, HasSubstr("printing: stopped: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(CudaDriverTest, RefusesToCaptureReports) {
  auto kernel = load(test::printImage());
  fake.isCapturing = true;
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_THAT(why.message, HasSubstr("cannot be captured into a graph"));
  EXPECT_EQ(fake.count("launch"), 0);
}

//-- Assembling -----------------------------------------------------------------------------------

TEST_F(CudaDriverTest, AssemblesWithTheDriver) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.assembler = "driver";
  fake.assemblerLog = "ptxas info    : 8 bytes stack frame, 0 bytes spill stores\n"
                      "ptxas info    : Used 40 registers, used 1 barriers\n";
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_EQ(image.binary, fake.cubin);
  EXPECT_THAT(image.stages["ptx"], HasSubstr(".entry add"));
  EXPECT_EQ(image.gpu.registers, 40);
  EXPECT_EQ(image.gpu.localBytes, 8);
  EXPECT_EQ(fake.assembledFor, 90 + kJitTargetAccelerated);
  EXPECT_EQ(fake.count("link destroy"), 1);
  EXPECT_TRUE(driver().finish(image, failure)) << "machine code already";
}

TEST_F(CudaDriverTest, ProductsOfSeveralWarpsAreNotLinked) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  image.binary += "// wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n";
  options.settings.assembler = "driver";
  options.settings.ptxas = "/nonexistent/ptxas";
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
  EXPECT_EQ(fake.count("link add"), 0);
}

TEST_F(CudaDriverTest, ProductsThatWaitAreRemarkedOn) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  std::string folder = ::testing::TempDir(), cubin = folder + "/waiting.cubin",
              ptxas = folder + "/waiting-ptxas";
  std::ofstream(cubin) << fake.cubin;
  std::ofstream(ptxas) << "#!/bin/sh\n"
                          "echo \"ptxas info : (C7510) Potential Performance Loss: wgmma\"\n"
                          "while [ $# -gt 1 ]; do shift; done\n"
                          "cp " +
                              cubin + " \"$1\"\n";
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  options.settings.ptxas = ptxas;
  ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
  EXPECT_EQ(image.binary, fake.cubin);
  ASSERT_EQ(image.remarks.size(), 1u);
  EXPECT_EQ(image.remarks[0].kind, "products-wait");
  EXPECT_EQ(image.remarks[0].text, "matrix products wait for each other: ptxas says (C7510) "
                                   "Potential Performance Loss: wgmma");
}

TEST_F(CudaDriverTest, RejectedPtxIsTheCompilersFault) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.assembler = "driver";
  fake.results["link add"] = kCudaInvalidPtx;
  fake.assemblerLog = "line 7: no such register";
  EXPECT_FALSE(driver().finish(image, failure));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_THAT(failure.message, HasSubstr("line 7: no such register"));
  EXPECT_EQ(fake.count("link destroy"), 1);
}

TEST_F(CudaDriverTest, CodeForAnOlderArchitectureStaysPtx) {
  image = test::addImage(); // sm_80
  EXPECT_TRUE(driver().finish(image, failure));
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
  std::string reason;
  EXPECT_TRUE(driver().canRun("nvptx64:sm_80", reason));
  EXPECT_TRUE(driver().canRun("nvptx64:sm_90a", reason));
  EXPECT_FALSE(driver().canRun("nvptx64:sm_100a", reason));
  EXPECT_EQ(reason, "the code is for sm_100a, and the device is sm_90a");
  EXPECT_FALSE(driver().canRun("x86_64:znver5", reason));
}

TEST_F(CudaDriverTest, WithoutAnAssemblerTheCodeStaysPtx) {
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  options.settings.ptxas = "/nonexistent/ptxas";
  fake.results["link add"] = kCudaJitCompilerNotFound;
  EXPECT_TRUE(driver().finish(image, failure));
  EXPECT_THAT(image.binary, HasSubstr(".entry add"));
}

TEST_F(CudaDriverTest, PtxasAssemblesWithoutADevice) {
  std::string ptxas = findPtxas("");
  if (ptxas.empty())
    GTEST_SKIP() << "there is no ptxas";
  fake.deviceCount = 0;
  for (backends::KernelImage kernel :
       {test::addImage(), test::checkedImage(), test::printImage()}) {
    image = kernel;
    image.targetName = "nvptx64:sm_90a";
    ASSERT_TRUE(driver().finish(image, failure)) << failure.message;
    EXPECT_TRUE(isCubin(image.binary));
    EXPECT_GT(image.gpu.registers, 0);
    EXPECT_EQ(image.gpu.localBytes, 0);
  }
  image = test::addImage();
  image.targetName = "nvptx64:sm_90a";
  image.binary += ".visible .entry broken() { no.such.instruction; }\n";
  EXPECT_FALSE(driver().finish(image, failure));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_THAT(failure.message, HasSubstr("Unknown modifier '.such'"));
}

TEST_F(CudaDriverTest, PtxIsWhatTheDriverTakes) {
  backends::CompileOptions compile;
  driver().completeOptions(compile);
  EXPECT_EQ(compile.ptxVersion, 90);
  compile.ptxVersion = 80;
  driver().completeOptions(compile);
  EXPECT_EQ(compile.ptxVersion, 80);
}

TEST_F(CudaDriverTest, SaysWhichAssemblerItUses) {
  options.settings.ptxas = "/some/ptxas";
  EXPECT_EQ(driver().assembler(), "/some/ptxas");
  made.reset();
  options.settings.assembler = "driver";
  EXPECT_EQ(driver().assembler(), "that of NVIDIA's driver");
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
