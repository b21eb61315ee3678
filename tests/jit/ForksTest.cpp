// Children made at bad moments: while other threads compile, load code, unload it, load the
// compiler, launch. Parent and child both go on.
#include "FakeCompiler.h"
#include "gtest/gtest.h"

#include <sys/wait.h>
#include <thread>

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::fakeRequest;
using jit::test::TemporaryFolder;

namespace {

class ForksTest : public testing::Test {
protected:
  ForksTest() {
    options.cacheDirectory = folder.path;
    options.threadCount = 3;
    options.cacheWaitSeconds = 0.05; // the parent holds claims
  }
  /// What the kernel adds; 0: there is none, or it is wrong.
  static int64_t use(Runtime &runtime, int value) {
    KernelResult result = runtime.getKernel(fakeRequest("addValue " + std::to_string(value)));
    std::vector<int64_t> out(100, 0);
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data())};
    if (!result.kernel || !result.kernel->launch({100}, slots).ok())
      return 0;
    return out[0] == out[99] ? out[0] : 0;
  }
  /// Exit status of a child that runs `body` for 20 seconds at most.
  template <class Body>
  static int inChild(Body body) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(body() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  TemporaryFolder folder;
  RuntimeOptions options;
};

TEST_F(ForksTest, WhileOthersCompileLoadUnloadAndLaunch) {
  options.compiler = std::make_shared<FakeCompiler>();
  options.recentKernels = 2; // code is unloaded all along
  Runtime runtime(options);
  std::atomic<bool> isDone{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; !isDone; ++round) {
        int value = 1 + thread * 100'000 + round % 300;
        wrong += use(runtime, value) != value;
      }
    });
  for (int round = 0; round < 25; ++round)
    EXPECT_EQ(inChild([&] {
                for (int value : {1 + round, 900'000 + round, 1 + round})
                  if (use(runtime, value) != value)
                    return false;
                runtime.clearMemory();
                return use(runtime, 900'000 + round) == 900'000 + round;
              }),
              0);
  isDone = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// The library is half loaded then, and who loads it holds locks: of the system's loader, too.
TEST_F(ForksTest, WhileTheCompilerIsLoaded) {
  options.compilerLibrary = SECTILE_SLOW_COMPILER;
  Runtime runtime(options);
  auto isRefused = [&](const char *source) {
    KernelResult result = runtime.getKernel(fakeRequest(source));
    return !result.kernel && result.status.error().message == "slowly refused";
  };
  std::atomic<bool> isStarted{false}, isGood{false};
  std::thread other([&] {
    isStarted = true;
    isGood = isRefused("of the parent");
  });
  while (!isStarted)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // it takes 300
  EXPECT_EQ(inChild([&] { return isRefused("of the child"); }), 0);
  other.join();
  EXPECT_TRUE(isGood);
}

} // namespace
