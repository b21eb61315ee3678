// Faults injected into the cache: killed writers, damaged files, clocks set back, two builds, many
// processes. In each, a kernel is got and computes what it should. The alarm ends a test that waits
// for ever.
#include "CacheProcesses.h"
#include "gtest/gtest.h"
#include "jit/cache/CachePruning.h"
#include "jit/cache/DiskCache.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace sectile;
using namespace sectile::jit;
using namespace sectile::jit::test;
using Origin = KernelResult::Origin;

namespace {

class CacheFaultsTest : public testing::Test {
protected:
  CacheFaultsTest() {
    ::alarm(300);
    testBinary(0);
  }
  ~CacheFaultsTest() override { ::alarm(0); }

  CacheEntry entryOf(char digit, size_t bytes = 100) {
    CacheEntry entry;
    entry.buildId = "build";
    entry.sourceKey = std::string(64, digit);
    entry.irKey = std::string(64, static_cast<char>(digit + 1));
    entry.hostFingerprint = "host";
    entry.image = testImage("addValue", 1);
    entry.image.binary = std::string(bytes, digit);
    return entry;
  }
  RuntimeOptions options() {
    RuntimeOptions result;
    result.cacheDirectory = folder.path;
    result.cacheWaitSeconds = 1e6;
    result.compiler = std::make_shared<FakeCompiler>();
    result.threadCount = 1;
    return result;
  }
  /// What a kernel that a new process gets computes; -1 when there is none.
  int64_t valueOf(int number, RuntimeStatistics *statistics = nullptr) {
    Runtime runtime(options());
    KernelResult result = runtime.getKernel(fakeRequest("addValue " + std::to_string(number)));
    if (statistics)
      *statistics = runtime.statistics();
    int64_t out = 0;
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(&out)};
    return result.kernel && result.kernel->launch({1}, slots).ok() ? out : -1;
  }
  void setTime(const std::string &name, time_t time) {
    struct timespec times[2] = {{time, 0}, {time, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder.path + "/" + name).c_str(), times, 0), 0);
  }
  time_t timeOf(const std::string &name) {
    struct stat status = {};
    ::stat((folder.path + "/" + name).c_str(), &status);
    return status.st_mtime;
  }

  TemporaryFolder folder;
};

TEST_F(CacheFaultsTest, AWriterKilledAtAnyStepLeavesTheOldEntryOrTheNewOne) {
  CacheEntry before = entryOf('1', 100), after = entryOf('1', 200);
  int step = 0;
  for (;; ++step) {
    {
      DiskCache cache({folder.path});
      cache.store(before);
    }
    Ended ended = killedAtStep(step, [&] {
      DiskCache cache({folder.path});
      cache.store(after);
    });
    if (ended == Ended::NotTraceable)
      GTEST_SKIP() << "this machine does not let a process trace another";
    DiskCache cache({folder.path});
    for (const std::string &key : {before.sourceKey, before.irKey}) {
      DiskCache::Found found = cache.load(key, "build", "host");
      ASSERT_TRUE(found.entry) << "step " << step << ": " << found.miss;
      EXPECT_TRUE(found.entry->image.binary == before.image.binary ||
                  found.entry->image.binary == after.image.binary);
    }
    if (ended == Ended::Finished)
      break;
  }
  EXPECT_GT(step, 10) << "opened, examined, made, written, linked, renamed";
  // What the killed ones left goes when it is old.
  CacheFolder files(folder.path, CacheFolder::Use::Own);
  for (const CacheFolder::Listed &file : files.list())
    if (file.name.ends_with(".tmp"))
      setTime(file.name, 1000);
  prune(files, {});
  for (const CacheFolder::Listed &file : files.list())
    EXPECT_FALSE(file.name.ends_with(".tmp")) << file.name;
}

TEST_F(CacheFaultsTest, AProcessKilledAtAnyStepOfACompileHoldsNobodyUp) {
  int step = 0;
  for (;; ++step) {
    Ended ended = killedAtStep(step, [&] { valueOf(step); });
    if (ended == Ended::NotTraceable)
      GTEST_SKIP() << "this machine does not let a process trace another";
    ASSERT_EQ(valueOf(step), step) << "killed at step " << step;
    RuntimeStatistics statistics;
    ASSERT_EQ(valueOf(step, &statistics), step);
    ASSERT_EQ(statistics.diskHits, 1u) << step;
    if (ended == Ended::Finished)
      break;
  }
  EXPECT_GT(step, 40);
  // Claims on what had been stored already are remains, as temporary files are.
  CacheFolder files(folder.path, CacheFolder::Use::Own);
  for (const CacheFolder::Listed &file : files.list())
    if (!file.name.ends_with(".kernel"))
      setTime(file.name, 1000);
  prune(files, {});
  for (const CacheFolder::Listed &file : files.list())
    EXPECT_TRUE(file.name.ends_with(".kernel") || file.name == kPruneStamp)
        << file.name << " is left";
  EXPECT_EQ(valueOf(0), 0);
}

TEST_F(CacheFaultsTest, EveryByteOfAnEntryCounts) {
  CacheEntry entry = entryOf('1', 40);
  entry.image.stages.clear();
  std::string whole = writeImageFile(entry), path = folder.path + "/" + entry.sourceKey + ".kernel";
  ASSERT_LT(whole.size(), 2000u);
  DiskCache cache({folder.path});
  auto isRefused = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    DiskCache::Found found = cache.load(entry.sourceKey, "build", "host");
    return !found.entry && found.miss != "absent" && ::access(path.c_str(), F_OK) != 0;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    ASSERT_TRUE(isRefused(damaged)) << "byte " << i << " is another";
    ASSERT_TRUE(isRefused(whole.substr(0, i))) << "cut off at " << i;
  }
  EXPECT_TRUE(isRefused(whole + '\0')) << "one too many";
  cache.store(entry);
  EXPECT_TRUE(cache.load(entry.sourceKey, "build", "host").entry);
}

TEST_F(CacheFaultsTest, AClockThatIsSetBack) {
  time_t future = std::time(nullptr) + 1'000'000;
  CacheFolder files(folder.path, CacheFolder::Use::Own);
  DiskCache cache({folder.path, 10 * 16384});
  for (int i = 0; i < 10; ++i)
    cache.store(entryOf(static_cast<char>('0' + 2 * i), 15'000));
  std::string used = entryOf('0').sourceKey, name = used + ".kernel";
  setTime(name, future);
  ASSERT_TRUE(cache.load(used, "build", "host").entry);
  EXPECT_LT(timeOf(name), future - 1000) << "a hit is now, whenever the last one was";
  // Entries, remains and the stamp of the last pruning: none is kept, or holds anything up, for
  // being of the future.
  for (const CacheFolder::Listed &file : files.list())
    setTime(file.name, future);
  ASSERT_EQ(files.create("x", ".0000.1.1.1.tmp"), 0);
  setTime(".0000.1.1.1.tmp", future);
  if (!files.read(kPruneStamp).problem.empty())
    ASSERT_EQ(files.create("", kPruneStamp), 0);
  setTime(kPruneStamp, future);
  PruneLimits limits;
  limits.maximalBytes = 3 * 16384;
  EXPECT_GT(prune(files, limits).files, 0u);
  EXPECT_NE(files.read(".0000.1.1.1.tmp").problem, "");
  EXPECT_LT(timeOf(kPruneStamp), future - 1000);
}

TEST_F(CacheFaultsTest, TwoBuildsOnOneFolder) {
  auto get = [&](const char *build, int number) {
    RuntimeOptions given = options();
    auto compiler = std::make_shared<FakeCompiler>();
    compiler->id = build;
    given.compiler = compiler;
    return Runtime(given).getKernel(fakeRequest("addValue " + std::to_string(number))).origin;
  };
  for (int i = 0; i < 3; ++i)
    for (const char *build : {"older build", "newer build"})
      EXPECT_EQ(get(build, 7), i ? Origin::Disk : Origin::Compiled) << build;
}

TEST_F(CacheFaultsTest, AFullDiskCostsTheEntryOnly) {
  int result = inChild([&] {
    struct rlimit small = {64, RLIM_INFINITY}; // not even a claim fits
    ::setrlimit(RLIMIT_FSIZE, &small);
    DiskCache cache({folder.path, 1 << 20, {}, 1e6});
    CacheEntry entry = entryOf('1');
    std::unique_ptr<CacheClaim> claim = cache.claim(entry.sourceKey);
    if (claim->next() != CacheClaim::Answer::Make || claim->isHeld())
      return false;
    cache.store(entry);
    CacheFolder files(folder.path, CacheFolder::Use::Own);
    return cache.counts().writeFailures == 1 && files.list().empty();
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(valueOf(7), 7);
}

TEST_F(CacheFaultsTest, EachKernelIsCompiledOnce) {
  StormResult result = runStorm(folder.path, 12, 8, 5);
  EXPECT_EQ(result.errors, 0);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.crashed, 0);
  EXPECT_EQ(result.compiles, 8);
  EXPECT_GT(result.waits, 0);
}

TEST_F(CacheFaultsTest, WithoutWaitingTheyCompileForThemselves) {
  StormResult result = runStorm(folder.path, 6, 2, 20, /*waitSeconds=*/0);
  EXPECT_EQ(result.errors + result.wrong + result.crashed, 0);
  EXPECT_GT(result.compiles, 2);
  EXPECT_EQ(result.waits, 0);
}

TEST_F(CacheFaultsTest, AFailingCompileFailsForAllAtOnce) {
  SharedMemory<std::atomic<int>> compiles;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      RuntimeOptions given = options();
      auto compiler = std::make_shared<FakeCompiler>();
      compiler->body = [&](const CompileRequest &) {
        compiles.operator->()->fetch_add(1);
        ::usleep(20'000);
        CompileResult result;
        result.diagnostics.emplace_back().message = "wrong kernel";
        return result;
      };
      given.compiler = compiler;
      Runtime runtime(given);
      KernelResult result = runtime.getKernel(fakeRequest("addValue 1"));
      ::_exit(!result.kernel && result.status.error().message == "wrong kernel" ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(compiles.operator->()->load(), 6);
}

} // namespace
