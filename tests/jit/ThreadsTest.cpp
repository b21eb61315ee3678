// One runtime and many threads, that launch, compile, clear, seal and listen at once. Under
// SECTILE_SANITIZE=thread these find races.
#include "FakeCompiler.h"
#include "Together.h"
#include "gtest/gtest.h"
#include "jit/launch/Specialization.h"

#include <mutex>
#include <set>

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::fakeRequest;
using jit::test::TemporaryFolder;
using jit::test::testImage;
using jit::test::together;
using Origin = KernelResult::Origin;

namespace {

class ThreadsTest : public testing::Test {
protected:
  ThreadsTest() {
    options.cacheDirectory = folder.path;
    options.compiler = compiler;
    options.threadCount = 3;
  }
  static KernelRequest requestFor(int value) {
    return fakeRequest("addValue " + std::to_string(value));
  }
  /// What one launch of `grid` programs added to each element; -1: not the same to all.
  static int64_t launched(const Kernel &kernel, int64_t grid) {
    std::vector<int64_t> out(static_cast<size_t>(grid), 0);
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data())};
    if (!kernel.launch({grid}, slots).ok())
      return -1;
    for (int64_t each : out)
      if (each != out[0])
        return -1;
    return out[0];
  }
  TemporaryFolder folder;
  RuntimeOptions options;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
};

TEST_F(ThreadsTest, LaunchWhileOthersCompileAndClear) {
  options.recentKernels = 3; // so that kernels die all along
  Runtime runtime(options);
  std::atomic<int> wrong{0}, launching{4};
  std::atomic<uint64_t> asked{0};
  auto use = [&](int value, int64_t grid) {
    KernelResult result = runtime.getKernel(requestFor(value));
    ++asked;
    wrong += !result.kernel || launched(*result.kernel, grid) != value;
  };
  together(7, [&](int thread) {
    if (thread < 4) {
      for (int round = 0; round < 60; ++round)
        use(thread < 2 ? 1 : 2 + round % 9, 1 + round * 7 % 500);
      --launching;
    } else if (thread == 4) {
      for (int value = 100; launching > 0; ++value)
        use(value, 3);
    } else if (thread == 5) {
      while (launching > 0) {
        runtime.clearMemory();
        std::this_thread::yield();
      }
    } else {
      while (launching > 0)
        (void)runtime.statistics();
    }
  });
  EXPECT_EQ(wrong, 0);
  RuntimeStatistics counts = runtime.statistics();
  EXPECT_EQ(counts.memoryHits + counts.diskHits + counts.sameIrHits + counts.compiles, asked);
  EXPECT_EQ(counts.compiles, uint64_t(compiler->compileCount)) << "each is compiled once";
  EXPECT_EQ(counts.failedCompiles, 0u);
}

TEST_F(ThreadsTest, KernelsDieWhileOthersLaunchThem) {
  options.recentKernels = 0;
  Runtime runtime(options);
  // Held by nothing but the thread that launches; whoever drops it last unloads it.
  std::mutex mutex;
  std::shared_ptr<const Kernel> current = runtime.getKernel(requestFor(0)).kernel;
  std::atomic<int> wrong{0};
  together(4, [&](int thread) {
    for (int round = 1; round <= 80; ++round) {
      std::shared_ptr<const Kernel> mine;
      int value = thread * 1000 + round;
      std::shared_ptr<const Kernel> next = runtime.getKernel(requestFor(value)).kernel;
      wrong += !next || launched(*next, 40) != value;
      {
        std::lock_guard lock(mutex);
        mine = std::exchange(current, next);
      }
      next.reset(); // another may have taken it, and may drop it
      wrong += !mine || launched(*mine, 40) < 0;
    }
  });
  EXPECT_EQ(wrong, 0);
}

/// What Python's functions and C++ kernels do: a table in front, cleared while others look.
TEST_F(ThreadsTest, TablesAreFilledSearchedAndCleared) {
  Runtime runtime(options);
  KernelTable table;
  Specializer specializer("fake", {{"out"}, {.name = "value", .isConstexpr = true}});
  std::atomic<int> wrong{0};
  together(5, [&](int thread) {
    for (int round = 0; round < 300; ++round) {
      if (thread == 4) {
        if (round % 40 == 39)
          table.clear();
        (void)table.all();
        std::this_thread::yield();
        continue;
      }
      int value = 1 + (round * (thread + 1)) % 50;
      std::vector<int64_t> out(1, 0);
      ArgumentValue values[] = {
          ArgumentValue::pointer(lang::DType::pointer(lang::ScalarKind::Int64), out.data()),
          ArgumentValue::constantInteger(value)};
      BoundArguments bound;
      if (!specializer.bind(values, bound).ok()) {
        ++wrong;
        continue;
      }
      const Kernel *kernel = table.find(bound);
      if (!kernel)
        kernel = table.insert(bound, runtime.getKernel(requestFor(value)).kernel);
      wrong += !kernel || !kernel->launch({1}, bound).ok() || out[0] != value;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadsTest, ListenersAreCalledByEachAndMayBeReplaced) {
  Runtime runtime(options);
  std::atomic<uint64_t> first{0}, second{0}, compiling{4};
  std::mutex mutex;
  std::set<std::thread::id> callers;
  auto counting = [&](std::atomic<uint64_t> &count) {
    return [&, held = std::make_shared<int>(7)](const CompileEvent &event) {
      count += event.succeeded && *held == 7;
      std::lock_guard lock(mutex);
      callers.insert(std::this_thread::get_id());
    };
  };
  runtime.setCompileListener(counting(first));
  together(5, [&](int thread) {
    if (thread == 4) {
      for (bool isFirst = false; compiling > 0; isFirst = !isFirst)
        runtime.setCompileListener(counting(isFirst ? first : second));
      return;
    }
    for (int round = 0; round < 50; ++round)
      EXPECT_TRUE(runtime.getKernel(requestFor(1 + thread * 100 + round)).kernel);
    --compiling;
  });
  EXPECT_EQ(first + second, 200u);
  EXPECT_EQ(callers.size(), 4u);
  runtime.setCompileListener({});
  EXPECT_TRUE(runtime.getKernel(requestFor(9999)).kernel);
  EXPECT_EQ(first + second, 200u);
}

TEST_F(ThreadsTest, AListenerMayLaunchAndListen) {
  Runtime runtime(options);
  std::atomic<int> wrong{0}, inner{0};
  runtime.setCompileListener([&](const CompileEvent &) {
    if (inner++ > 0)
      return;
    wrong += !runtime.getKernel(requestFor(77)).kernel; // compiles, and so calls again
    runtime.setCompileListener({});
    (void)runtime.statistics();
  });
  EXPECT_TRUE(runtime.getKernel(requestFor(1)).kernel);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner, 2);
}

TEST_F(ThreadsTest, NothingIsCompiledOnceSealReturned) {
  Runtime runtime(options);
  std::atomic<bool> isSealed{false};
  std::atomic<int> wrong{0}, done{0}, refused{0}, compiled{0};
  compiler->body = [](const CompileRequest &request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CompileResult result;
    result.image = testImage("addValue", std::atoll(request.tileText.c_str() + sizeof "addValue"));
    return result;
  };
  together(5, [&](int thread) {
    if (thread == 4) {
      while (done < 10)
        std::this_thread::yield();
      runtime.seal();
      isSealed = true;
      return;
    }
    for (int round = 0; round < 2000 && refused < 40; ++round) {
      int value = 1 + thread * 10000 + round;
      bool wasSealed = isSealed;
      KernelResult result = runtime.getKernel(requestFor(value));
      if (result.kernel) {
        wrong += wasSealed || launched(*result.kernel, 5) != value;
        ++done;
        compiled = value;
        continue;
      }
      ++refused;
      wrong +=
          result.status.error().kind != Error::Kind::Call ||
          result.status.error().message.find("sealed, and no variant fits") == std::string::npos;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(refused, 40);
  EXPECT_EQ(compiler->compileCount, done) << "what was begun was finished";
  // What there is goes on being launched.
  EXPECT_EQ(runtime.getKernel(requestFor(compiled)).origin, Origin::Memory);
}

/// Two versions in one process, as a program and a library of it may have.
TEST_F(ThreadsTest, RuntimesOfTwoBuildsShareAFolder) {
  auto newer = std::make_shared<FakeCompiler>();
  newer->id = "newer build";
  RuntimeOptions others = options;
  others.compiler = newer;
  Runtime one(options), another(others);
  std::atomic<int> wrong{0};
  together(4, [&](int thread) {
    Runtime &mine = thread % 2 ? one : another;
    for (int round = 0; round < 40; ++round) {
      KernelResult result = mine.getKernel(requestFor(1 + round % 20));
      wrong += !result.kernel || launched(*result.kernel, 9) != 1 + round % 20;
      if (round == 20)
        mine.clearMemory();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiler->compileCount, 20);
  EXPECT_EQ(newer->compileCount, 20);
}

TEST_F(ThreadsTest, ErrorsAndMeasurementsComeToEachThread) {
  compiler->body = [](const CompileRequest &request) {
    CompileResult result;
    if (request.tileText.back() == '3')
      result.diagnostics.emplace_back().message = "wrong kernel";
    else
      result.image = testImage("addValue", 5);
    return result;
  };
  Runtime runtime(options);
  std::atomic<int> wrong{0};
  together(4, [&](int thread) {
    for (int round = 0; round < 60; ++round) {
      KernelResult result = runtime.getKernel(requestFor(round % 5));
      if (round % 5 == 3)
        wrong += result.status.ok() || result.status.error().message != "wrong kernel";
      else
        wrong += !result.kernel || !runtime.recordMeasurement(*result.kernel, 1e-6 * round);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadsTest, PrintHandlersAreReplacedWhileKernelsPrint) {
  backends::KernelImage image = testImage("printProgram");
  image.printSites = {{"x", false, {{lang::DType::scalar(lang::ScalarKind::Int32), {2}, ""}}}};
  compiler->body = [&](const CompileRequest &) {
    CompileResult result;
    result.image = image;
    return result;
  };
  Runtime runtime(options);
  std::atomic<int> lines{0}, printing{3};
  auto counting = [&](std::string_view text) {
    for (char each : text)
      lines += each == '\n';
  };
  runtime.setPrintHandler(counting);
  together(4, [&](int thread) {
    if (thread == 3) {
      for (int change = 0; change < 100 && printing > 0; ++change)
        runtime.setPrintHandler(counting);
      return;
    }
    std::shared_ptr<const Kernel> kernel = runtime.getKernel(fakeRequest("printing")).kernel;
    for (int round = 0; kernel && round < 20; ++round)
      EXPECT_TRUE(kernel->launch({50}, nullptr).ok());
    --printing;
  });
  EXPECT_EQ(lines, 3 * 20 * 50);
}

TEST(ConstantTableThreads, EqualConstantsShareAnId) {
  ConstantTable table;
  std::vector<std::vector<uint64_t>> ids(4);
  jit::test::together(4, [&](int thread) {
    for (int round = 0; round < 500; ++round)
      ids[size_t(thread)].push_back(table.intern(lang::Constant::integer(round % 100)).id);
  });
  for (const auto &each : ids)
    EXPECT_EQ(each, ids[0]);
  EXPECT_EQ(std::set<uint64_t>(ids[0].begin(), ids[0].end()).size(), 100u);
}

} // namespace
