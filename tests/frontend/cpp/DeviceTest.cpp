// Devices and buffers from C++; on a GPU too where there is one.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>
#include <sectile/sectile.h>
#include <thread>

using namespace sectile;
using testing::HasSubstr;

namespace {

auto add() {
  return kernel("add", {"x", "y", "out", "n"},
                [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, i32 n, Const<int> BLOCK) {
                  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
                  store(out + i, load(x + i, i < n) + load(y + i, i < n), i < n);
                });
}

std::vector<float> numbers(size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

void addsOn(Device device) {
  constexpr int n = 1003;
  DeviceBuffer<float> x(device, numbers(n, 0)), y(device, numbers(n, 100)), out(device, n);
  auto kernel = add();
  kernel.launch({cdiv(n, 256)}, x, y, out, n, Const{256});
  std::vector<float> sum = out.download();
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(sum[i], float(2 * i + 100)) << i;

  // Pointers, and a stream.
  Stream stream(device);
  kernel.on(stream).launch({cdiv(n, 256)}, out.data(), y.data(), x.data(), n, Const{256});
  stream.synchronize();
  EXPECT_EQ(x.download()[7], float(2 * 7 + 100 + 107));
}

TEST(CppDevices, TheCpuIsOne) {
  addsOn(Device::cpu());
  EXPECT_EQ(Device::cpu().name(), "cpu");
  EXPECT_EQ(Device::cuda(1).name(), "cuda:1");
}

TEST(CppDevices, ABufferIsItsOwnSize) {
  DeviceBuffer<float> x(Device::cpu(), 4);
  EXPECT_THROW(x.upload(numbers(5, 0)), Error);
  DeviceBuffer<float> moved = std::move(x);
  EXPECT_EQ(moved.size(), 4u);
}

TEST(CppDevices, HostArraysDoNotGoToAGpu) {
  std::vector<float> x(64), y(64), out(64);
  try {
    add().on(Device::cuda(0)).launch({1}, x, y, out, 64, Const{64});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Call);
    EXPECT_STREQ(error.what(), "add: argument 'x' is on the CPU, and the launch is on cuda:0\n"
                               "  help: pass a DeviceBuffer of that device");
  }
}

TEST(CppDevices, WithoutAGpuALaunchSaysWhy) {
  if (Device::gpuCount() > 0)
    GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(Device::best(), Device::cpu());
  float *nowhere = nullptr;
  try {
    add().on(Device::cuda(0)).launch({1}, nowhere, nowhere, nowhere, 64, Const{64});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Machine);
    EXPECT_THAT(error.what(), HasSubstr("there is no NVIDIA GPU to run on: "));
  }
  EXPECT_THROW(DeviceBuffer<float>(Device::cuda(0), 4), Error);
}

TEST(CppDevices, AGpuThatIsNotThereHasNoDescription) {
  EXPECT_EQ(Device::cpu().description(), "the CPU");
  try {
    (void)Device::gpu(99).description();
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Machine);
    EXPECT_THAT(error.what(),
                HasSubstr(Device::gpuCount() > 0 ? ":99, only " : "there is no NVIDIA GPU"));
  }
}

TEST(CppDevices, AGpuAdds) {
  if (Device::gpuCount() == 0)
    GTEST_SKIP() << "there is no GPU";
  addsOn(Device::best());
}

TEST(CppDevices, EachOfSeveralGpusAdds) {
  if (Device::gpuCount() < 2)
    GTEST_SKIP() << "there are no two GPUs";
  for (int index : {1, 0, 1})
    addsOn(Device::cuda(index));

  // At once, and what is bound stays where its arrays are.
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      Device device = Device::cuda(i % Device::gpuCount());
      constexpr int n = 1003;
      DeviceBuffer<float> x(device, numbers(n, float(i))), out(device, n);
      auto bound = add().bind({cdiv(n, 256)}, x, x, out, n, Const{256});
      for (int round = 0; round < 100; ++round)
        bound();
      std::vector<float> sum = out.download();
      for (int index = 0; index < n; ++index)
        ASSERT_EQ(sum[index], float(2 * (i + index))) << device.name();
    });
  for (std::thread &thread : threads)
    thread.join();

  DeviceBuffer<float> here(Device::cuda(0), 64), there(Device::cuda(1), 64);
  EXPECT_THROW(add().launch({1}, here, here, there, 64, Const{64}), Error);
}

} // namespace
