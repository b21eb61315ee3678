//===-- CudaDriverFixture.h - the driver of NVIDIA GPUs over a fake libcuda -------------------===//
// What the tests of the driver have in common: they load images, launch them, and look at what the
// fake was asked for.
#pragma once

#include "FakeCuda.h"
#include "PtxKernels.h"
#include "backends/nvidia/Driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>

namespace sectile::nvidia::test_driver {

using backends::LaunchFailure;
using backends::RecordBuffer;
using backends::RecordHeader;
using Kind = LaunchFailure::Kind;
using testing::HasSubstr;

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

} // namespace sectile::nvidia::test_driver
