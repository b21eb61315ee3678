// Variables set while a runtime is at work.
#include "FakeCompiler.h"
#include "jit/runtime/Knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <vector>

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::fakeRequest;
using jit::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Origin = KernelResult::Origin;

namespace {

/// Puts the variables back at its end.
class ReconfigureTest : public testing::Test {
protected:
  ~ReconfigureTest() override {
    for (const auto &[name, text] : before)
      put(name, text);
  }
  void set(const std::string &name, std::optional<std::string> text) {
    const char *now = std::getenv(name.c_str());
    before.try_emplace(name, now ? std::optional<std::string>(now) : std::nullopt);
    put(name, text);
  }
  std::unique_ptr<Runtime> makeRuntime() {
    RuntimeOptions options;
    options.compiler = compiler;
    return std::make_unique<Runtime>(options);
  }
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();

private:
  static void put(const std::string &name, const std::optional<std::string> &text) {
    text ? ::setenv(name.c_str(), text->c_str(), 1) : ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before;
};

TEST_F(ReconfigureTest, TheCacheMoves) {
  TemporaryFolder one, two;
  set("SECTILE_CACHE_DIR", one.path);
  auto runtime = makeRuntime();
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 1")).origin, Origin::Compiled);
  set("SECTILE_CACHE_DIR", two.path);
  EXPECT_EQ(runtime->statistics().cacheDirectory, one.path) << "before it is told";
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  EXPECT_EQ(runtime->statistics().cacheDirectory, two.path);
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 2")).origin, Origin::Compiled);
  EXPECT_EQ(runtime->statistics().diskWrites, 2u) << "of both";
  // Where each kernel went.
  set("SECTILE_CACHE_DIR", one.path);
  EXPECT_EQ(makeRuntime()->getKernel(fakeRequest("addValue 1")).origin, Origin::Disk);
  EXPECT_EQ(makeRuntime()->getKernel(fakeRequest("addValue 2")).origin, Origin::Compiled);
  set("SECTILE_CACHE_DIR", two.path);
  EXPECT_EQ(makeRuntime()->getKernel(fakeRequest("addValue 2")).origin, Origin::Disk);
}

TEST_F(ReconfigureTest, WhatIsNotUnderstoodChangesNothing) {
  TemporaryFolder one, two;
  set("SECTILE_CACHE_DIR", one.path);
  auto runtime = makeRuntime();
  set("SECTILE_CACHE_DIR", two.path);
  set("SECTILE_NUM_THREADS", "0");
  EXPECT_THAT(runtime->reconfigure(),
              ElementsAre("SECTILE_NUM_THREADS: expected a number from 1 to 4096, found '0'"));
  EXPECT_EQ(runtime->statistics().cacheDirectory, one.path);
  // What was wrong from the start does not stand in the way.
  auto second = makeRuntime();
  set("SECTILE_CHECK", "bounds");
  EXPECT_THAT(second->reconfigure(), IsEmpty());
  EXPECT_TRUE(second->defaultOptions().checkBounds);
}

TEST_F(ReconfigureTest, StagesAreShownOfWhatIsInMemory) {
  TemporaryFolder folder;
  set("SECTILE_CACHE_DIR", folder.path);
  auto runtime = makeRuntime();
  auto held = runtime->getKernel(fakeRequest("addValue 1")).kernel;
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 1")).origin, Origin::Memory);
  EXPECT_EQ(runtime->stagesGeneration(), 0u);
  set("SECTILE_DUMP", "tile:" + folder.path);
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  EXPECT_EQ(runtime->getKernel(fakeRequest("addValue 1")).origin, Origin::Compiled);
  // Tables of variants look anew, and once more after each change.
  uint64_t first = runtime->stagesGeneration();
  EXPECT_NE(first, 0u);
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  EXPECT_NE(runtime->stagesGeneration(), 0u);
  EXPECT_NE(runtime->stagesGeneration(), first);
  set("SECTILE_DUMP", std::nullopt);
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  EXPECT_EQ(runtime->stagesGeneration(), 0u);
  set("SECTILE_KEEP_STAGES", "1");
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  EXPECT_NE(runtime->stagesGeneration(), 0u);
}

TEST_F(ReconfigureTest, ThreadsChangeUnderLaunches) {
  TemporaryFolder folder;
  set("SECTILE_CACHE_DIR", folder.path);
  set("SECTILE_NUM_THREADS", "2");
  auto runtime = makeRuntime();
  backends::Driver *driver = runtime->driver("cpu");
  EXPECT_EQ(driver->threadCount(), 2u);
  std::shared_ptr<const Kernel> kernel = runtime->getKernel(fakeRequest("addValue 3")).kernel;
  ASSERT_TRUE(kernel);
  std::atomic<bool> isDone{false};
  std::atomic<int> wrong{0};
  std::thread launching([&] {
    while (!isDone) {
      std::vector<int64_t> out(64);
      uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data())};
      wrong += !kernel->launch({64}, slots).ok() || out != std::vector<int64_t>(64, 3);
      runtime->getKernel(fakeRequest("addValue 4"));
    }
  });
  for (int round = 0; round < 200; ++round) {
    set("SECTILE_NUM_THREADS", std::to_string(1 + round % 4));
    ASSERT_THAT(runtime->reconfigure(), IsEmpty());
    ASSERT_EQ(driver->threadCount(), unsigned(1 + round % 4));
  }
  isDone = true;
  launching.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ReconfigureTest, TimesAreToldFromThenOn) {
  TemporaryFolder folder;
  set("SECTILE_CACHE_DIR", folder.path);
  set("SECTILE_TIME", std::nullopt);
  auto runtime = makeRuntime();
  testing::internal::CaptureStderr();
  runtime->getKernel(fakeRequest("addValue 1"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set("SECTILE_TIME", "1");
  EXPECT_THAT(runtime->reconfigure(), IsEmpty());
  testing::internal::CaptureStderr();
  runtime->getKernel(fakeRequest("addValue 2"));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("sectile: fake for cpu ["));
  EXPECT_THAT(said, HasSubstr(" %  load\n"));
  EXPECT_THAT(said, HasSubstr(" %  cache\n"));
}

} // namespace
