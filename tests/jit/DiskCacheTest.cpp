// The disk cache: keeps what it is given, refuses what is not whole or not safe, and never fails a
// compile.
#include "jit/cache/DiskCache.h"

#include "CacheProcesses.h"
#include "gtest/gtest.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

using namespace sectile;
using namespace sectile::jit;
using jit::test::inChild;
using jit::test::TemporaryFolder;

namespace {

constexpr uint64_t kAmple = uint64_t{1} << 30;

std::string keyOf(int number) {
  std::string key(64, '0');
  std::string digits = std::to_string(number);
  return key.replace(64 - digits.size(), digits.size(), digits);
}

CacheEntry entryOf(int number, size_t bytes = 100) {
  CacheEntry entry;
  entry.buildId = "build";
  entry.sourceKey = keyOf(number);
  entry.hostFingerprint = "host";
  entry.image = jit::test::testImage("addValue", number);
  entry.image.binary = std::string(bytes, static_cast<char>('a' + number % 26));
  return entry;
}

DiskCache::Found load(DiskCache &cache, int number) {
  return cache.load(keyOf(number), "build", "host");
}

std::string fileOf(const std::string &folder, int number) {
  return folder + "/" + keyOf(number) + ".kernel";
}
bool exists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}
int fileCount(const std::string &folder) {
  int count = 0;
  for (int i = 0; i < 200; ++i)
    count += exists(fileOf(folder, i));
  return count;
}

TEST(DiskCache, KeepsEntriesUnderBothKeysInOneFile) {
  TemporaryFolder folder;
  DiskCache writer({folder.path + "/made/for/us", kAmple});
  ASSERT_EQ(writer.disabledReason(), "");
  EXPECT_EQ(load(writer, 1).miss, "absent");
  CacheEntry entry = entryOf(1);
  entry.irKey = keyOf(2);
  writer.store(entry);
  DiskCache reader({folder.path + "/made/for/us", kAmple});
  ASSERT_TRUE(load(reader, 1).entry);
  EXPECT_EQ(load(reader, 1).entry->image.binary, entry.image.binary);
  ASSERT_TRUE(load(reader, 2).entry);
  struct stat first, second;
  ::stat(fileOf(reader.directory(), 1).c_str(), &first);
  ::stat(fileOf(reader.directory(), 2).c_str(), &second);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(first.st_mode & 077, 0u) << "for this user only";
  ::stat(reader.directory().c_str(), &first);
  EXPECT_EQ(first.st_mode & 0777, 0700u);
}

TEST(DiskCache, DeletesDamagedForeignAndOlderEntries) {
  TemporaryFolder folder;
  DiskCache cache({folder.path, kAmple});
  auto replaced = [&](const std::function<void(CacheEntry &)> &change, const char *miss) {
    CacheEntry entry = entryOf(1);
    change(entry);
    std::string content = writeImageFile(entry);
    std::ofstream(fileOf(folder.path, 1), std::ios::binary) << content;
    EXPECT_EQ(load(cache, 1).miss, miss);
    EXPECT_FALSE(exists(fileOf(folder.path, 1))) << miss;
    cache.store(entryOf(1));
    EXPECT_TRUE(load(cache, 1).entry);
  };
  replaced([](CacheEntry &entry) { entry.buildId = "older"; }, "of another build");
  replaced([](CacheEntry &entry) { entry.hostFingerprint = "h"; }, "for another host");
  replaced([](CacheEntry &entry) { entry.sourceKey = keyOf(9); }, "stored under another key");
  std::ofstream(fileOf(folder.path, 1), std::ios::binary) << "short";
  EXPECT_EQ(load(cache, 1).miss, "truncated");
  std::ofstream(fileOf(folder.path, 1), std::ios::binary) << std::string(500, 'x');
  EXPECT_EQ(load(cache, 1).miss, "not a kernel image");
  EXPECT_FALSE(exists(fileOf(folder.path, 1)));
  EXPECT_EQ(cache.counts().misses.at("truncated"), 1u);
}

TEST(DiskCache, AnInputOutputErrorDeletesNothing) {
  TemporaryFolder folder;
  DiskCache cache({folder.path, kAmple});
  cache.store(entryOf(1));
  // No descriptor is left: open() fails, and says nothing of the content.
  int result = inChild([&] {
    struct rlimit none = {0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    return load(cache, 1).miss == "unreadable";
  });
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(load(cache, 1).entry);
}

TEST(DiskCache, RefusesFoldersThatOthersCanWriteTo) {
  for (mode_t mode : {0777, 0770, 0722}) {
    TemporaryFolder folder;
    ::chmod(folder.path.c_str(), mode);
    DiskCache cache({folder.path, kAmple});
    EXPECT_NE(cache.disabledReason().find("chmod go-w " + folder.path), std::string::npos)
        << cache.disabledReason();
    cache.store(entryOf(1));
    EXPECT_FALSE(exists(fileOf(folder.path, 1)));
    EXPECT_EQ(load(cache, 1).miss, "cache is off");
  }
}

TEST(DiskCache, RefusesFoldersAndFilesOfOthers) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  TemporaryFolder folder;
  ::mkdir((folder.path + "/theirs").c_str(), 0755);
  (void)!::chown((folder.path + "/theirs").c_str(), 12345, 12345);
  DiskCache theirs({folder.path + "/theirs", kAmple});
  EXPECT_NE(theirs.disabledReason().find("belongs to another user"), std::string::npos);

  DiskCache cache({folder.path, kAmple});
  cache.store(entryOf(1));
  (void)!::chown(fileOf(folder.path, 1).c_str(), 12345, 12345);
  EXPECT_EQ(load(cache, 1).miss, "not ours");
  cache.store(entryOf(2));
  ::chmod(fileOf(folder.path, 2).c_str(), 0666);
  EXPECT_EQ(load(cache, 2).miss, "not ours");
  cache.store(entryOf(3));
  ASSERT_EQ(::symlink(fileOf(folder.path, 3).c_str(), fileOf(folder.path, 4).c_str()), 0);
  EXPECT_EQ(load(cache, 4).miss, "unreadable") << "links are not followed";
}

TEST(DiskCache, AReadOnlyFolderIsReadAndWritesAreGivenUp) {
  TemporaryFolder folder;
  {
    DiskCache writer({folder.path, kAmple});
    writer.store(entryOf(1));
  }
  ::chmod(fileOf(folder.path, 1).c_str(), 0644);
  ::chmod(folder.path.c_str(), 0555);
  int result = inChild([&] {
    if (::geteuid() == 0 && ::setuid(12345) != 0) // root may write anywhere
      return false;
    DiskCache cache({folder.path, kAmple});
    bool hit = load(cache, 1).entry.has_value();
    cache.store(entryOf(2));
    cache.store(entryOf(3));
    DiskCache::Counts counts = cache.counts();
    return hit && cache.disabledReason().empty() && counts.writes == 0 &&
           counts.writeFailures == 2 &&
           counts.writesDisabled.find("cannot be written to") != std::string::npos;
  });
  EXPECT_EQ(result, 0);
  ::chmod(folder.path.c_str(), 0755);
  EXPECT_FALSE(exists(fileOf(folder.path, 2)));
}

TEST(DiskCache, AFileLimitFailsTheStoreOnly) {
  TemporaryFolder folder;
  int result = inChild([&] {
    DiskCache cache({folder.path, kAmple});
    struct rlimit small = {2000, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &small);
    cache.store(entryOf(1, 10'000));
    cache.store(entryOf(2, 10));
    return cache.counts().writeFailures == 1 && cache.counts().writes == 1;
  });
  EXPECT_EQ(result, 0);
  EXPECT_FALSE(exists(fileOf(folder.path, 1)));
  EXPECT_TRUE(exists(fileOf(folder.path, 2)));
  EXPECT_EQ(std::system(("ls -A " + folder.path + " | grep -q tmp").c_str()) == 0, false)
      << "nothing half-written is left";
}

TEST(DiskCache, AFullDiskFailsTheStoreOnly) {
  TemporaryFolder folder;
  if (std::system(
          ("mount -t tmpfs -o size=64k,mode=700 tmpfs " + folder.path + " 2>/dev/null").c_str()) !=
      0)
    GTEST_SKIP() << "mounting a small file system needs root";
  {
    DiskCache cache({folder.path, kAmple});
    for (int i = 0; i < 8; ++i)
      cache.store(entryOf(i, 20'000));
    DiskCache::Counts counts = cache.counts();
    EXPECT_GE(counts.writes, 1u);
    EXPECT_EQ(counts.writes + counts.writeFailures, 8u);
    EXPECT_NE(counts.writesDisabled.find("No space left"), std::string::npos);
    EXPECT_TRUE(load(cache, 0).entry);
    EXPECT_EQ(load(cache, 7).miss, "absent");
  }
  (void)!std::system(("umount " + folder.path).c_str());
}

TEST(DiskCache, ANonexistentHomeOnlySwitchesItOff) {
  DiskCache cache({"/proc/nowhere/sectile", kAmple});
  EXPECT_NE(cache.disabledReason().find("SECTILE_CACHE_DIR"), std::string::npos);
  cache.store(entryOf(1));
  EXPECT_FALSE(load(cache, 1).entry);
  DiskCache off({"", kAmple});
  EXPECT_FALSE(load(off, 1).entry);
}

TEST(DiskCache, EvictsWhatIsLongestUnused) {
  TemporaryFolder folder;
  DiskCache cache({folder.path, 20 * 16384});
  for (int i = 0; i < 40; ++i) {
    CacheEntry entry = entryOf(i, 15'000);
    if (i == 3)
      entry.irKey = keyOf(103);
    cache.store(entry);
    // Entry i was last used i minutes after the first one, two days ago.
    time_t used = std::time(nullptr) - 172800 + i * 60;
    struct timeval times[2] = {{used, 0}, {used, 0}};
    ::utimes(fileOf(folder.path, i).c_str(), times);
  }
  (void)cache.evict();
  ASSERT_TRUE(exists(fileOf(folder.path, 39)));
  std::ofstream(folder.path + "/notes.txt") << "not the cache's";
  ASSERT_TRUE(load(cache, 39).entry);
  for (int i = 0; i < 40; ++i)
    cache.store(entryOf(100 + i, 15'000));
  cache.evict();
  EXPECT_FALSE(exists(fileOf(folder.path, 0)));
  EXPECT_FALSE(exists(fileOf(folder.path, 3)));
  EXPECT_LE(fileCount(folder.path), 20);
  EXPECT_GE(fileCount(folder.path), 15) << "not more than needed";
  EXPECT_TRUE(exists(folder.path + "/notes.txt"));
  EXPECT_EQ(cache.evict(), 0u);
}

TEST(DiskCache, AHitCountsAsUse) {
  TemporaryFolder folder;
  DiskCache cache({folder.path, kAmple});
  cache.store(entryOf(1));
  struct timeval old[2] = {{1000, 0}, {1000, 0}};
  ::utimes(fileOf(folder.path, 1).c_str(), old);
  ASSERT_TRUE(load(cache, 1).entry);
  struct stat status;
  ::stat(fileOf(folder.path, 1).c_str(), &status);
  EXPECT_GT(status.st_mtime, 1000);
}

TEST(DiskCache, TemporariesOfDeadProcessesGo) {
  TemporaryFolder folder;
  DiskCache cache({folder.path, kAmple});
  std::string stale = folder.path + "/.00.1.1.1.tmp", fresh = folder.path + "/.00.1.1.2.tmp";
  std::ofstream(stale) << "x";
  std::ofstream(fresh) << "x";
  struct timeval old[2] = {{1000, 0}, {1000, 0}};
  ::utimes(stale.c_str(), old);
  cache.evict();
  EXPECT_FALSE(exists(stale));
  EXPECT_TRUE(exists(fresh)) << "its writer may be alive";
}

} // namespace
