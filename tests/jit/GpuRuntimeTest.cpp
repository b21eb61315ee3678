// The runtime with kernels for a GPU that is not there: PTX, the cache, launches, errors.
#include "../backends/FakeCuda.h"
#include "../backends/PtxKernels.h"
#include "FakeCompiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/launch/Specialization.h"

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::fakeRequest;
using jit::test::TemporaryFolder;
using testing::HasSubstr;
using Origin = KernelResult::Origin;

namespace {

class GpuRuntimeTest : public testing::Test {
protected:
  GpuRuntimeTest() {
    options.cacheDirectory = folder.path;
    options.compiler = compiler;
    options.cudaApi = &cuda.api;
    compiler->body = [this](const CompileRequest &request) {
      seen = request.options;
      CompileResult result;
      result.image = image;
      result.image->targetName = "nvptx64:" + request.options.arch;
      return result;
    };
    request.options.backend = "cuda";
    request.options.arch = "sm_90a";
    cuda.assemblerLog = "ptxas info    : Used 40 registers";
    ::setenv("SECTILE_ASSEMBLER", "driver", 1);
    ::setenv("SECTILE_PTXAS", "/there/is/none", 1);
  }
  ~GpuRuntimeTest() override {
    ::unsetenv("SECTILE_ASSEMBLER");
    ::unsetenv("SECTILE_PTXAS");
  }

  /// As on a machine that only builds.
  bool getWithoutDevice() {
    cuda.deviceCount = 0;
    bool isGood = Runtime(options).getKernel(request).kernel != nullptr;
    cuda.deviceCount = 1;
    return isGood;
  }

  sectile::test::FakeCuda cuda;
  TemporaryFolder folder;
  RuntimeOptions options;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
  backends::KernelImage image = sectile::test::addImage();
  backends::CompileOptions seen;
  KernelRequest request = fakeRequest("add");
  uint64_t slots[4] = {0x1000, 0x2000, 0x3000, 100};
};

TEST_F(GpuRuntimeTest, TheCacheKeepsMachineCode) {
  {
    Runtime runtime(options);
    KernelResult result = runtime.getKernel(request);
    ASSERT_TRUE(result.kernel) << result.status.error().text();
    EXPECT_EQ(result.origin, Origin::Compiled);
    EXPECT_EQ(result.kernel->image().binary, cuda.cubin);
    EXPECT_THAT(result.kernel->image().stages.at("ptx"), HasSubstr(".entry add"));
    EXPECT_EQ(result.kernel->compileTimes().back().first, "assemble");
    EXPECT_EQ(seen.ptxVersion, 90) << "what the driver takes";
    EXPECT_EQ(cuda.count("link complete"), 1);
    EXPECT_EQ(runtime.getKernel(request).origin, Origin::Memory);
  }
  Runtime later(options);
  KernelResult result = later.getKernel(request);
  ASSERT_TRUE(result.kernel);
  EXPECT_EQ(result.origin, Origin::Disk);
  EXPECT_EQ(result.kernel->image().binary, cuda.cubin);
  EXPECT_EQ(result.kernel->image().gpu.registers, 40);
  EXPECT_EQ(cuda.count("link complete"), 1);
  EXPECT_EQ(compiler->compileCount, 1);
}

TEST_F(GpuRuntimeTest, WhatWasCompiledWithoutADeviceServesOne) {
  ASSERT_TRUE(getWithoutDevice());
  EXPECT_EQ(seen.ptxVersion, 0);
  Runtime with(options);
  KernelResult result = with.getKernel(request);
  ASSERT_TRUE(result.kernel) << result.status.error().text();
  EXPECT_EQ(result.origin, Origin::Disk);
  EXPECT_EQ(result.kernel->image().binary, cuda.cubin) << "assembled now";
  EXPECT_EQ(compiler->compileCount, 1);
  // And kept.
  Runtime later(options);
  later.seal();
  EXPECT_EQ(later.getKernel(request).origin, Origin::Disk);
  EXPECT_EQ(cuda.count("link complete"), 1);
  // Of another architecture than the devices', it does not.
  request.options.arch = "sm_80";
  ASSERT_TRUE(getWithoutDevice());
  EXPECT_EQ(Runtime(options).getKernel(request).origin, Origin::Compiled);
}

TEST_F(GpuRuntimeTest, ASealedRuntimeDoesNotAssemble) {
  ASSERT_TRUE(getWithoutDevice());
  Runtime with(options);
  with.seal();
  KernelResult result = with.getKernel(request);
  EXPECT_FALSE(result.kernel);
  EXPECT_EQ(cuda.count("link complete"), 0);
}

TEST_F(GpuRuntimeTest, ArchitecturesHaveVariantsOfTheirOwn) {
  Runtime runtime(options);
  ASSERT_TRUE(runtime.getKernel(request).kernel);
  request.options.arch = "sm_80";
  EXPECT_EQ(runtime.getKernel(request).origin, Origin::Compiled);
  request.options.backend = "tpu";
  KernelResult result = runtime.getKernel(request);
  EXPECT_EQ(result.status.error().text(),
            "backend: there is no 'tpu'\n  help: use 'cpu', 'cuda' or 'hip'");
}

TEST_F(GpuRuntimeTest, LaunchesGoToTheDeviceAndStreamOfTheArguments) {
  Runtime runtime(options);
  std::shared_ptr<const Kernel> kernel = runtime.getKernel(request).kernel;
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->isAsynchronous());
  cuda.onLaunch = [&](const sectile::test::FakeCuda::Launch &launch) {
    EXPECT_EQ(launch.config.gridX, 7u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.config.stream), 0x80u);
    EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[2]), 0x3000u);
  };
  BoundArguments bound;
  for (uint64_t slot : slots)
    bound.slots.push(slot);
  bound.device = 0;
  bound.stream = reinterpret_cast<void *>(0x80);
  Status status = kernel->launch({7}, bound);
  EXPECT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(cuda.count("launch"), 1);
}

TEST_F(GpuRuntimeTest, TrapsReadAsOnTheCpu) {
  image = sectile::test::checkedImage();
  Runtime runtime(options);
  std::shared_ptr<const Kernel> kernel = runtime.getKernel(request).kernel;
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->isAsynchronous());
  cuda.onLaunch = [&](const sectile::test::FakeCuda::Launch &launch) {
    auto *buffer =
        reinterpret_cast<backends::RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    buffer->stop = 1;
    buffer->trapProgram = 2;
    buffer->trapAddress = 0x1000 + 4 * 256;
  };
  uint64_t ranges[] = {0x1000, 0x1000 + 4 * 250, 0x2000, 0x2400};
  Status status = kernel->launch({4}, slots, ranges);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Error::Kind::Trap);
  EXPECT_EQ(status.error().message, "load: out of bounds in program (2, 0, 0) of checked: index "
                                    "256 of argument 'x', which has 250 elements");
}

TEST_F(GpuRuntimeTest, NamesDevicesThatAreNotThere) {
  cuda.deviceCount = 2;
  Runtime runtime(options);
  Status status;
  ASSERT_TRUE(runtime.deviceInfo("cuda", 1, status));
  EXPECT_EQ(runtime.deviceInfo("cuda", 1, status)->arch, runtime.archOf("cuda", 1, status));
  EXPECT_TRUE(status.ok());
  for (int32_t device : {2, 7, -1}) {
    EXPECT_FALSE(runtime.deviceInfo("cuda", device, status));
    EXPECT_EQ(status.error().kind, Error::Kind::Machine);
    EXPECT_EQ(status.error().message,
              "there is no device cuda:" + std::to_string(device) + ", only 2");
  }
}

TEST_F(GpuRuntimeTest, WhatDoesNotFitIsAnErrorOfItsOwn) {
  image.gpu.sharedBytes = 300000;
  Runtime runtime(options);
  std::shared_ptr<const Kernel> kernel = runtime.getKernel(request).kernel;
  ASSERT_TRUE(kernel);
  Status status = kernel->launch({4}, slots);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Error::Kind::Resources);
  EXPECT_THAT(status.error().text(), HasSubstr("help: use smaller blocks"));
}

TEST_F(GpuRuntimeTest, RejectedPtxIsAnInternalErrorAndIsNotStored) {
  cuda.results["link add"] = nvidia::kCudaInvalidPtx;
  Runtime runtime(options);
  KernelResult result = runtime.getKernel(request);
  EXPECT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().kind, Error::Kind::Internal);
  EXPECT_EQ(runtime.statistics().diskWrites, 0u);
}

TEST(CommonDevice, FollowsFromTheArrays) {
  Specializer specializer("f", {{"x"}, {"n"}, {"y"}});
  auto pointer = [](int16_t device) {
    ArgumentValue value =
        ArgumentValue::pointer(lang::DType::pointer(lang::ScalarKind::Float32), nullptr);
    value.device = device;
    return value;
  };
  auto deviceOf = [&](int16_t x, int16_t y, std::string *problem = nullptr) {
    ArgumentValue values[] = {pointer(x), ArgumentValue::integer(3), pointer(y)};
    int32_t device = 99;
    Status status = specializer.commonDevice(values, device);
    if (problem)
      *problem = status.ok() ? "" : status.error().text();
    return device;
  };
  constexpr int16_t host = ArgumentValue::kHost, anywhere = ArgumentValue::kAnywhere;
  EXPECT_EQ(deviceOf(host, host), host);
  EXPECT_EQ(deviceOf(1, 1), 1);
  EXPECT_EQ(deviceOf(anywhere, 1), 1);
  EXPECT_EQ(deviceOf(0, anywhere), 0);
  EXPECT_EQ(deviceOf(anywhere, anywhere), anywhere);
  std::string problem;
  deviceOf(1, host, &problem);
  EXPECT_EQ(problem, "f: argument 'y' is on the CPU, and 'x' on cuda:1\n"
                     "  help: move all arrays to one device");
  deviceOf(1, 0, &problem);
  EXPECT_THAT(problem, HasSubstr("argument 'y' is on cuda:0, and 'x' on cuda:1"));
}

} // namespace
