// Archives: what is exported is imported; anything else is refused as a whole.
#include "jit/cache/CacheArchive.h"

#include "CacheProcesses.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/DiskCache.h"
#include "jit/command/CacheCommand.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::jit;
using namespace sectile::jit::test;
using testing::HasSubstr;

namespace {

class CacheArchiveTest : public testing::Test {
protected:
  CacheArchiveTest() {
    DiskCache cache({here.path});
    for (char digit : {'1', '2', '3'})
      cache.store(entryOf(digit));
  }
  CacheEntry entryOf(char digit) {
    CacheEntry entry;
    entry.buildId = digit == '3' ? "other build" : "build";
    entry.sourceKey = std::string(64, digit);
    if (digit != '3')
      entry.irKey = std::string(64, static_cast<char>('a' + digit - '1'));
    entry.hostFingerprint = "host";
    entry.image = testImage("addValue", 1);
    entry.image.kernelName = entry.image.variantName = std::string("kernel") + digit;
    if (digit == '2')
      entry.image.variantName = "named";
    entry.image.binary = std::string(100, digit);
    return entry;
  }
  std::string content() {
    std::ifstream file(archive, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void write(const std::string &text) {
    std::ofstream(archive, std::ios::binary | std::ios::trunc) << text;
  }
  size_t entryCount() {
    size_t count = 0;
    for (const CacheFolder::Listed &file : to.list())
      count += file.name.ends_with(".kernel");
    return count;
  }

  TemporaryFolder here, there, elsewhere;
  CacheFolder from{here.path, CacheFolder::Use::Own}, to{there.path, CacheFolder::Use::Own};
  std::string archive = elsewhere.path + "/kernels.sectile";
};

TEST_F(CacheArchiveTest, WhatIsExportedIsImported) {
  ArchiveResult result = exportArchive(from, archive, {});
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.entries, 3u) << "each file once, whatever its names";
  result = importArchive(to, archive, "build");
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.entries, 3u);
  EXPECT_EQ(result.ofOtherBuilds, 1u);
  DiskCache cache({there.path});
  for (char key : {'1', '2', 'a', 'b'}) {
    DiskCache::Found found = cache.load(std::string(64, key), "build", "host");
    ASSERT_TRUE(found.entry) << key << ": " << found.miss;
    EXPECT_EQ(found.entry->image.binary[0], key < 'a' ? key : key - 'a' + '1');
  }
  EXPECT_EQ(importArchive(to, archive, "build").problem, "") << "a second time";
}

TEST_F(CacheArchiveTest, SomeEntriesOnly) {
  auto second = [](const CacheEntry &entry) { return entry.image.kernelName == "kernel2"; };
  EXPECT_EQ(exportArchive(from, archive, second).entries, 1u);
  importArchive(to, archive, "build");
  EXPECT_EQ(entryCount(), 2u) << "two names";
}

TEST_F(CacheArchiveTest, AnyDamageRefusesTheWhole) {
  exportArchive(from, archive, [](const CacheEntry &entry) { return entry.buildId == "build"; });
  std::string whole = content();
  for (size_t i = 0; i < whole.size(); i += 7) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(damaged);
    ASSERT_NE(importArchive(to, archive, "build").problem, "") << "byte " << i;
    write(whole.substr(0, i));
    ASSERT_NE(importArchive(to, archive, "build").problem, "") << "cut off at " << i;
  }
  write(whole + "x");
  EXPECT_THAT(importArchive(to, archive, "build").problem, HasSubstr("nothing was imported"));
  EXPECT_EQ(entryCount(), 0u);
}

TEST_F(CacheArchiveTest, AHugeFileIsRefusedBeforeItIsRead) {
  constexpr off_t kHuge = off_t(10) << 40;
  exportArchive(from, archive, {});
  std::string whole = content();
  write("");
  if (::truncate(archive.c_str(), kHuge) != 0)
    GTEST_SKIP() << "no sparse files here";
  EXPECT_THAT(importArchive(to, archive, "build").problem, HasSubstr("is no archive of kernels"));
  // With the header of an archive, and with an entry that claims all of it.
  constexpr size_t kFirstEntry = 8 + 2 * sizeof(uint64_t);
  for (size_t kept : {kFirstEntry, kFirstEntry + 8, kFirstEntry + 8 + 32}) {
    std::string begun = whole.substr(0, kept);
    uint64_t claimed = kHuge / 2;
    if (kept > kFirstEntry)
      begun.replace(kFirstEntry, sizeof claimed, reinterpret_cast<char *>(&claimed),
                    sizeof claimed);
    write(begun);
    ASSERT_EQ(::truncate(archive.c_str(), kHuge), 0);
    EXPECT_THAT(importArchive(to, archive, "build").problem, HasSubstr("is damaged: entry 0"));
  }
  EXPECT_EQ(entryCount(), 0u);
}

TEST_F(CacheArchiveTest, DamagedEntriesAreNotExported) {
  std::ofstream(here.path + "/" + std::string(64, '2') + ".kernel", std::ios::trunc) << "damage";
  ArchiveResult result = exportArchive(from, archive, {});
  EXPECT_EQ(result.entries, 2u);
  EXPECT_EQ(result.skipped, 1u);
}

TEST_F(CacheArchiveTest, WhatOthersCouldHaveWrittenIsRefused) {
  exportArchive(from, archive, {});
  ::chmod(archive.c_str(), 0666);
  EXPECT_THAT(importArchive(to, archive, "build").problem, HasSubstr("chmod go-w"));
  ::chmod(archive.c_str(), 0644);
  if (::geteuid() == 0) {
    (void)!::chown(archive.c_str(), 12345, 12345);
    EXPECT_THAT(importArchive(to, archive, "build").problem, HasSubstr("belongs to another user"));
  }
  EXPECT_THAT(importArchive(to, here.path, "build").problem, HasSubstr("is no file"));
  EXPECT_THAT(importArchive(to, archive + "x", "build").problem, HasSubstr("No such file"));
  EXPECT_EQ(entryCount(), 0u);
}

TEST_F(CacheArchiveTest, AnExportThatFailsLeavesTheOldFile) {
  write("old");
  int result = inChild([&] {
    struct rlimit small = {100, RLIM_INFINITY};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
    return !exportArchive(from, archive, {}).problem.empty();
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(CacheFolder(elsewhere.path, CacheFolder::Use::Own).list().size(), 1u);
}

TEST_F(CacheArchiveTest, Commands) {
  auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--dir", here.path});
    testing::internal::CaptureStdout();
    int status = cacheCommand(words);
    return std::pair(status, testing::internal::GetCapturedStdout());
  };
  auto [listed, list] = run({"ls"});
  EXPECT_EQ(listed, 0);
  EXPECT_THAT(list, HasSubstr("3 files"));
  EXPECT_THAT(list, HasSubstr("kernel1  x86_64:x86-64"));
  EXPECT_THAT(list, HasSubstr("kernel2 (named)  x86_64:x86-64"));
  EXPECT_THAT(run({"ls", "--json"}).second,
              HasSubstr("\"kernel\": \"kernel2\", \"name\": \"named\""));
  EXPECT_EQ(run({"verify"}).first, 0);
  std::string damaged = here.path + "/" + std::string(64, '3') + ".kernel";
  std::ofstream(damaged, std::ios::trunc) << "damage";
  auto [status, report] = run({"verify"});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(report, HasSubstr(".kernel: truncated"));
  EXPECT_THAT(report, HasSubstr("3 files, 1 damaged"));
  run({"verify", "--delete"});
  EXPECT_NE(::access(damaged.c_str(), F_OK), 0);
  EXPECT_THAT(run({"prune", "--older-than", "1d"}).second, HasSubstr("deleted 0 files"));
  // All are of builds that this one is not.
  EXPECT_THAT(run({"prune", "--other-builds"}).second, HasSubstr("deleted 4 files"));
  DiskCache({here.path}).store(entryOf('1'));
  EXPECT_THAT(run({"prune", "--to-size", "0"}).second, HasSubstr("deleted 2 files"));
  DiskCache({here.path}).store(entryOf('1'));
  EXPECT_THAT(run({"clear"}).second, HasSubstr("deleted 2 files"));
  EXPECT_TRUE(from.list().empty());
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"lst"}).first, 2);
  EXPECT_EQ(run({"prune", "--older-than", "soon"}).first, 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("did you mean 'ls'?"));
}

TEST_F(CacheArchiveTest, ASharedImportCanBeReadByAll) {
  exportArchive(from, archive, {});
  std::string layer = there.path + "/layer";
  testing::internal::CaptureStdout();
  EXPECT_EQ(cacheCommand({"--dir", layer, "import", archive, "--shared"}), 0);
  testing::internal::GetCapturedStdout();
  struct stat folder, file;
  ASSERT_EQ(::stat(layer.c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0755u);
  ASSERT_EQ(::stat((layer + "/" + std::string(64, '1') + ".kernel").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0644u);
}

} // namespace
