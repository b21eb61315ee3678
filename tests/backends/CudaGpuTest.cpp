// PTX written by hand on the GPU of this machine; skipped where there is none.
#include "PtxKernels.h"
#include "backends/nvidia/Assembler.h"
#include "backends/nvidia/Driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

using namespace sectile;
using namespace sectile::nvidia;
using backends::LaunchFailure;
using testing::HasSubstr;

namespace {

class CudaGpuTest : public testing::Test {
protected:
  void SetUp() override {
    std::string reason;
    DriverOptions options;
    options.settings.printBufferBytes = 1 << 20;
    driver = createDriver(options);
    if (driver->devices(reason).empty())
      GTEST_SKIP() << reason;
  }
  std::unique_ptr<backends::LoadedKernel> load(backends::KernelImage given) {
    image = std::move(given);
    auto kernel = driver->load(image, failure);
    EXPECT_TRUE(kernel) << failure.message;
    return kernel;
  }
  uint64_t upload(const std::vector<float> &values) {
    uint64_t address = 0;
    EXPECT_TRUE(driver->services()->allocate(gpu, values.size() * 4, address).ok());
    EXPECT_TRUE(driver->services()
                    ->copyToDevice(gpu, address, values.data(), values.size() * 4, nullptr)
                    .ok());
    return address;
  }
  std::vector<float> download(uint64_t address, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(
        driver->services()->copyToHost(gpu, values.data(), address, count * 4, nullptr).ok());
    return values;
  }
  const int32_t gpu = 0;
  std::unique_ptr<backends::Driver> driver;
  backends::KernelImage image;
  LaunchFailure failure;
  std::string printed;
};

std::vector<float> randomFloats(size_t count) {
  std::mt19937 generator(std::random_device{}());
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(generator);
  return values;
}

TEST_F(CudaGpuTest, AddsFromPtxAndFromMachineCode) {
  constexpr size_t kCount = 1003, kRoom = 1024;
  for (bool isAssembled : {false, true}) {
    std::vector<float> x = randomFloats(kRoom), y = randomFloats(kRoom);
    uint64_t dx = upload(x), dy = upload(y), out = upload(std::vector<float>(kRoom, -1));
    backends::KernelImage add = test::addImage();
    if (isAssembled) {
      std::string reason;
      add.targetName = "nvptx64:" + driver->devices(reason)[0].arch;
      ASSERT_TRUE(driver->finish(add, failure)) << failure.message;
      EXPECT_TRUE(isCubin(add.binary));
      EXPECT_GT(add.gpu.registers, 0);
    }
    auto kernel = load(add);
    ASSERT_TRUE(kernel);
    uint64_t slots[] = {dx, dy, out, kCount};
    LaunchFailure why = kernel->launch({8, 1, 1}, {slots, nullptr, gpu, nullptr}, {});
    ASSERT_TRUE(why.ok()) << why.message;
    EXPECT_GT(kernel->resources().registers, 0);
    EXPECT_EQ(kernel->resources().localBytes, 0);
    std::vector<float> sum = download(out, kRoom);
    for (size_t i = 0; i < kRoom; ++i)
      ASSERT_EQ(sum[i], i < kCount ? x[i] + y[i] : -1) << i;
    for (uint64_t address : {dx, dy, out})
      driver->services()->release(gpu, address);
  }
}

TEST_F(CudaGpuTest, TrapsAreReportedAndTheDeviceLivesOn) {
  auto kernel = load(test::checkedImage());
  ASSERT_TRUE(kernel);
  std::vector<float> x = randomFloats(1000);
  uint64_t dx = upload(x), out = upload(std::vector<float>(4096, -1));
  uint64_t slots[] = {dx, out}, ranges[] = {dx, dx + 4000, out, out + 16384};
  for (int round = 0; round < 3; ++round) {
    LaunchFailure why = kernel->launch({16, 1, 1}, {slots, ranges, gpu, nullptr}, {});
    ASSERT_EQ(why.kind, LaunchFailure::Kind::Trap) << why.message;
    EXPECT_EQ(why.site, 0);
    EXPECT_GE(why.program, 7);
    EXPECT_LT(why.program, 16);
    EXPECT_GE(why.address, dx + 4000);
    EXPECT_EQ((why.address - dx) / 4 / 128, static_cast<uint64_t>(why.program));
  }
  uint64_t wide = upload(randomFloats(4096));
  slots[0] = wide;
  ranges[0] = wide;
  ranges[1] = wide + 16384;
  EXPECT_TRUE(kernel->launch({32, 1, 1}, {slots, ranges, gpu, nullptr}, {}).ok());
  EXPECT_EQ(download(out, 4096), download(wide, 4096));
}

TEST_F(CudaGpuTest, PrintsTilesAndSaysWhatWasLost) {
  auto kernel = load(test::printImage());
  ASSERT_TRUE(kernel);
  float scale = 0.5f;
  uint64_t slots[] = {0};
  std::memcpy(slots, &scale, sizeof scale);
  auto print = [this](std::string_view text) { printed += text; };
  LaunchFailure why = kernel->launch({3, 1, 1}, {slots, nullptr, gpu, nullptr}, print);
  ASSERT_TRUE(why.ok()) << why.message;
  std::string expected;
  for (int program = 0; program < 3; ++program)
    expected += "pid (" + std::to_string(program) + R"(, 0, 0) value: fp32[32]
[ 0.0  0.5  1.0  1.5  2.0  2.5  3.0  3.5  4.0  4.5  5.0  5.5  6.0  6.5  7.0
  7.5  8.0  8.5  9.0  9.5 10.0 10.5 11.0 11.5 12.0 12.5 13.0 13.5 14.0 14.5
 15.0 15.5]
)";
  EXPECT_EQ(printed, expected);

  printed.clear(); // 1 MiB holds 7281 records of 144 bytes
  why = kernel->launch({8000, 1, 1}, {slots, nullptr, gpu, nullptr}, print);
  ASSERT_TRUE(why.ok()) << why.message;
  EXPECT_THAT(printed, HasSubstr("719 prints of programs are missing"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 7281 * 4 + 1);
}

TEST_F(CudaGpuTest, ThreadsLaunchAtOnce) {
  auto kernel = load(test::addImage());
  ASSERT_TRUE(kernel);
  std::vector<std::thread> threads;
  std::vector<std::string> problems(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      void *stream = nullptr;
      if (!driver->services()->makeStream(gpu, stream).ok()) {
        problems[t] = "no stream";
        return;
      }
      std::vector<float> x = randomFloats(512), y = randomFloats(512);
      uint64_t dx = upload(x), dy = upload(y), out = upload(std::vector<float>(512));
      uint64_t slots[] = {dx, dy, out, 512};
      for (int round = 0; round < 100; ++round)
        if (LaunchFailure why = kernel->launch({4, 1, 1}, {slots, nullptr, gpu, stream}, {});
            !why.ok())
          problems[t] = why.message;
      (void)driver->services()->synchronize(gpu, stream);
      std::vector<float> sum = download(out, 512);
      for (size_t i = 0; i < 512; ++i)
        if (sum[i] != x[i] + y[i])
          problems[t] = "wrong at " + std::to_string(i);
      driver->services()->releaseStream(gpu, stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(problems, testing::Each(""));
}

} // namespace
