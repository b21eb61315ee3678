// The driver of NVIDIA GPUs without one, used by many threads: several devices, kernels that die,
// reports, memory; and forks at bad moments.
#include "FakeCuda.h"
#include "PtxKernels.h"
#include "backends/gpu/driver/GpuDevice.h"
#include "backends/nvidia/Driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/jit/Together.h"

#include <atomic>
#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::nvidia;
using backends::LaunchFailure;
using backends::RecordBuffer;
using jit::test::together;

namespace {

class CudaThreadsTest : public testing::Test {
protected:
  CudaThreadsTest() {
    fake.deviceCount = 4;
    options.api = &fake.api;
    driver = createDriver(options);
  }
  std::unique_ptr<backends::LoadedKernel> load(const backends::KernelImage &image) {
    LaunchFailure failure;
    return driver->load(image, failure);
  }
  LaunchFailure launch(const backends::LoadedKernel &kernel, int32_t device,
                       const backends::PrintHandler &print = {}) {
    uint64_t slots[] = {0x1000, 0x2000, 0x3000, uint64_t(device)};
    uint64_t ranges[] = {0x1000, 0x1400, 0x2000, 0x2400, 0x3000, 0x3400, 0, 0};
    return kernel.launch({4, 1, 1}, {slots, ranges, device, nullptr}, print);
  }
  test::FakeCuda fake;
  DriverOptions options;
  std::unique_ptr<backends::Driver> driver;
};

TEST_F(CudaThreadsTest, OneKernelOnSeveralDevices) {
  backends::KernelImage image = test::addImage();
  auto kernel = load(image);
  std::atomic<int> wrong{0}, launches{0};
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto device = *static_cast<int32_t *>(launch.parameters[3]);
    wrong += launch.context != reinterpret_cast<CudaContext>(uintptr_t(100 + device) << 4);
    ++launches;
  };
  // The first looks at the devices while others do; each goes through all, from one of its own.
  together(8, [&](int thread) {
    for (int round = 0; round < 100; ++round)
      wrong += !launch(*kernel, (thread + round) % 4).ok();
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fake.wrongLaunches, 0);
  EXPECT_EQ(launches, 800);
  EXPECT_EQ(fake.count("init"), 1);
  EXPECT_EQ(fake.count("retain"), 4);
  EXPECT_EQ(fake.count("load"), 4) << "once on each device";
}

TEST_F(CudaThreadsTest, KernelsDieAndAreUnloadedWhileOthersLaunch) {
  backends::KernelImage image = test::addImage();
  auto lasting = load(image);
  std::atomic<int> wrong{0};
  together(6, [&](int thread) {
    for (int round = 0; round < 120; ++round)
      wrong += !launch(thread < 2 ? *lasting : *load(image), (thread + round) % 4).ok();
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fake.wrongLaunches, 0);
  EXPECT_GT(fake.count("unload"), 300);
  EXPECT_EQ(fake.modules.size(), 480u + 4 - size_t(fake.count("unload")));
}

TEST_F(CudaThreadsTest, ReportsComeToTheLaunchThatTheyAreOf) {
  backends::KernelImage image = test::checkedImage();
  auto kernel = load(image);
  std::atomic<uint64_t> number{0};
  thread_local static uint64_t mine;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    mine = ++number;
    if (mine % 3 == 0)
      return;
    buffer->stop = 1;
    buffer->trapSite = 0;
    buffer->trapProgram = 3;
    buffer->trapAddress = mine;
  };
  std::atomic<int> wrong{0};
  together(6, [&](int thread) {
    for (int round = 0; round < 100; ++round) {
      LaunchFailure why = launch(*kernel, thread % 4);
      wrong +=
          mine % 3 == 0 ? !why.ok() : why.kind != LaunchFailure::Kind::Trap || why.address != mine;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(fake.count("pin"), 6) << "buffers are used again";
}

TEST_F(CudaThreadsTest, TensorMapsAreThoseOfTheLaunch) {
  using Kind = backends::LaunchExpression::Kind;
  backends::KernelImage image = test::addImage();
  backends::TensorMap map;
  map.argument = 1;
  map.elementBytes = 4;
  map.box = {32};
  map.extents = {{{{Kind::Argument, 3}}}};
  map.strides = {{{{Kind::Constant, 1}}}};
  image.tensorMaps = {map};
  auto kernel = load(image);
  ASSERT_TRUE(kernel);
  std::atomic<int> wrong{0};
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    wrong += std::memcmp(launch.parameters[1], launch.parameters[4], sizeof(uint64_t)) != 0;
  };
  // More arrays than are remembered, some of them used by several threads.
  together(6, [&](int thread) {
    for (int round = 0; round < 200; ++round) {
      uint64_t slots[] = {0, uint64_t(0x1000 + 0x100 * ((thread + round / 2) % 12)), 0, 100};
      wrong += !kernel->canMapArrays({slots, nullptr, thread % 4, nullptr});
      wrong += !kernel->launch({1, 1, 1}, {slots, nullptr, thread % 4, nullptr}, {}).ok();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fake.count("launch"), 1200);
  EXPECT_GE(fake.encodedMaps.size(), 12u);
}

TEST_F(CudaThreadsTest, AllElseAtOnce) {
  backends::KernelImage image = test::addImage();
  auto kernel = load(image);
  std::atomic<int> wrong{0};
  together(6, [&](int thread) {
    for (int round = 0; round < 50; ++round) {
      std::string reason;
      wrong += driver->devices(reason).size() != 4 || driver->hostFingerprint().empty();
      wrong += !launch(*kernel, thread % 4).ok();
      wrong += driver->recentLaunches(thread % 4).empty();
      wrong += kernel->resources().registers != 24;
      backends::DeviceServices &services = *driver->services();
      uint64_t address = 0;
      wrong += !services.allocate(thread % 4, 64, address).ok();
      services.release(thread % 4, address);
      backends::KernelImage assembled = test::addImage();
      assembled.targetName = "nvptx64:sm_90a";
      LaunchFailure failure;
      wrong += !driver->finish(assembled, failure);
    }
  });
  EXPECT_EQ(wrong, 0);
}

/// cuInit takes long; a child made meanwhile must be told, not wait for a thread it does not have.
TEST_F(CudaThreadsTest, AForkWhileTheDriverStarts) {
  static std::atomic<bool> isStarting, mayStart;
  isStarting = mayStart = false;
  fake.api.init = [](unsigned) {
    isStarting = true;
    while (!mayStart)
      std::this_thread::yield();
    return CudaResult{kCudaSuccess};
  };
  backends::KernelImage image = test::addImage();
  auto kernel = load(image);
  std::thread other([&] { EXPECT_TRUE(launch(*kernel, 0).ok()); });
  while (!isStarting)
    std::this_thread::yield();
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    LaunchFailure why = launch(*kernel, 0);
    std::string reason;
    bool isTold = why.message.find("does not survive fork()") != std::string::npos &&
                  driver->devices(reason).empty() &&
                  reason.find("does not survive fork()") != std::string::npos;
    ::_exit(isTold ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  mayStart = true;
  other.join();
  EXPECT_TRUE(launch(*kernel, 1).ok()) << "the parent goes on";
}

} // namespace
