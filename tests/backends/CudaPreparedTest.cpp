// Launches that were prepared come to the same as those that were not.
#include "CudaDriverFixture.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::nvidia;
using namespace sectile::nvidia::test_driver;

namespace {

class CudaPreparedTest : public CudaDriverTest {
protected:
  std::unique_ptr<backends::PreparedLaunch> prepare(const backends::LoadedKernel &kernel,
                                                    backends::Grid grid = {4, 1, 1},
                                                    int32_t device = 0) {
    return kernel.prepare(grid, {slots, ranges, device, nullptr});
  }
  static void *stream(uintptr_t number) { return reinterpret_cast<void *>(number); }
};

/// What the driver was given, as text.
std::string textOf(const test::FakeCuda::Launch &launch, size_t parameters) {
  const CudaLaunchConfig &config = launch.config;
  std::string text;
  for (uint64_t number : {uint64_t{config.gridX}, uint64_t{config.gridY}, uint64_t{config.gridZ},
                          uint64_t{config.blockX}, uint64_t{config.blockY}, uint64_t{config.blockZ},
                          uint64_t{config.sharedBytes}, reinterpret_cast<uint64_t>(config.stream),
                          uint64_t{config.attributeCount}, uint64_t{launch.isCooperative},
                          uint64_t{launch.isDependent}})
    text += std::to_string(number) + " ";
  for (unsigned extent : launch.cluster)
    text += "cluster " + std::to_string(extent) + " ";
  for (size_t i = 0; i < parameters; ++i)
    text += std::to_string(*static_cast<uint64_t *>(launch.parameters[i])) + " ";
  return text;
}

TEST_F(CudaPreparedTest, TheDriverIsGivenTheSame) {
  backends::KernelImage usual = test::addImage(), large = usual, clusters = usual, others = usual;
  large.gpu.sharedBytes = 100000;
  clusters.gpu.clusterBlocks = 2;
  others.gpu.isCooperative = others.gpu.isDependent = true;
  for (const backends::KernelImage &each : {usual, large, clusters, others}) {
    auto kernel = load(each);
    ASSERT_TRUE(kernel);
    for (backends::Grid grid : {backends::Grid{4, 1, 1}, backends::Grid{7, 5, 3}})
      for (uintptr_t number : {0, 0x77}) {
        std::vector<std::string> given;
        fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
          given.push_back(textOf(launch, each.arguments.size()));
        };
        EXPECT_TRUE(launch(*kernel, 0, number, grid).ok());
        auto prepared = prepare(*kernel, grid);
        ASSERT_TRUE(prepared);
        EXPECT_FALSE(prepared->run(stream(number)));
        EXPECT_FALSE(prepared->run(stream(number)));
        ASSERT_EQ(given.size(), 3u);
        EXPECT_EQ(given[1], given[0]);
        EXPECT_EQ(given[2], given[0]);
      }
    fake.onLaunch = nullptr;
  }
}

TEST_F(CudaPreparedTest, TheDeviceIsTheThreadsAndTheCallersComesBack) {
  fake.deviceCount = 2;
  auto kernel = load(test::addImage());
  EXPECT_TRUE(launch(*kernel).ok());
  CudaContext first = fake.currentContext;
  auto prepared = prepare(*kernel, {4, 1, 1}, 1);
  ASSERT_TRUE(prepared);
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) { EXPECT_NE(launch.context, first); };
  EXPECT_FALSE(prepared->run(nullptr));
  EXPECT_EQ(fake.currentContext, first);
  EXPECT_EQ(fake.wrongLaunches, 0);
}

TEST_F(CudaPreparedTest, WhatTheDriverRefusesIsTheSameError) {
  auto kernel = load(test::addImage());
  auto prepared = prepare(*kernel);
  ASSERT_TRUE(prepared);
  EXPECT_FALSE(prepared->run(stream(0x20)));
  fake.results["launch"] = kCudaIllegalAddress;
  LaunchFailure direct = launch(*kernel, 0, 0x20);
  fake.results.clear();
  fake.results["launch"] = kCudaIllegalAddress;
  auto failed = prepared->run(stream(0x20));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, direct.kind);
  EXPECT_THAT(failed->message, HasSubstr("add: launch: CUDA_ERROR_ILLEGAL_ADDRESS"));
  // The latest launches are named, the one that was run prepared among them.
  EXPECT_THAT(failed->message + failed->help, HasSubstr("on stream 0x20"));
}

TEST_F(CudaPreparedTest, LaunchesWithMoreToDoAreNotPrepared) {
  EXPECT_FALSE(prepare(*load(test::printImage()))) << "each has records of its own";
  auto kernel = load(test::addImage());
  EXPECT_FALSE(prepare(*kernel, {1, 65536, 1})) << "launch() says that the axis is too long";
  EXPECT_FALSE(prepare(*kernel, {1, 1, 1}, 7)) << "launch() says that there is no such device";
  EXPECT_EQ(fake.count("launch"), 0);
}

TEST_F(CudaPreparedTest, GraphsKeepTheirModules) {
  {
    auto kernel = load(test::addImage());
    auto prepared = prepare(*kernel);
    ASSERT_TRUE(prepared);
    fake.isCapturing = true;
    EXPECT_FALSE(prepared->run(stream(0x10)));
    fake.isCapturing = false;
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(launch(test::addImage()).ok());
  EXPECT_EQ(fake.unloaded.size() + fake.modules.size(), fake.modulesLoaded);
  for (auto [number, context] : fake.unloaded)
    EXPECT_NE(number, 0u) << "the graph has the first";
}

TEST_F(CudaPreparedTest, AForkedChildIsTold) {
  auto kernel = load(test::addImage());
  auto prepared = prepare(*kernel);
  ASSERT_TRUE(prepared && !prepared->run(nullptr));
  pid_t child = fork();
  if (child == 0) {
    auto why = prepared->run(nullptr);
    bool isTold = why && why->kind == Kind::Machine &&
                  why->message.find("does not survive fork()") != std::string::npos &&
                  fake.count("launch") == 1 && !prepare(*kernel);
    _exit(isTold ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(prepared->run(nullptr)) << "the parent goes on";
}

} // namespace
