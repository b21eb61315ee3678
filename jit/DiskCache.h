//===-- DiskCache.h - compiled kernels on disk, shared by processes
//---------------------------------===//
// One file per variant, `<key>.kernel`, complete or absent: it is written aside and renamed. A file
// may have a second name, its IR key, as a hard link. No lock is needed to read or write.
//
//   DiskCache cache("/home/me/.cache/sectile", 2 << 30);
//   DiskCache::Found found = cache.load(key);
//   if (!found.entry) { compile ...; cache.store(entry); }       // found.miss says why
//
// It never fails a compile: whatever goes wrong is a miss, or a store that is counted and left out.
// An entry that is damaged or of another build is deleted; an I/O error says nothing of the content
// and deletes nothing. Entries are executable code: a folder or file that another user (root
// excepted) owns or may write to is not used.
//
// Size: after some stores, and at most every few minutes over all processes, the entries longest
// unused are deleted until the folder is below its cap. A file's time of modification is its last
// use, to within an hour.
#pragma once

#include "backends/ForkSafeMutex.h"
#include "jit/ImageFile.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sectile::jit {

class DiskCache {
public:
  /// An empty directory switches the cache off.
  DiskCache(std::string directory, uint64_t capBytes);
  ~DiskCache();
  DiskCache(const DiskCache &) = delete;
  DiskCache &operator=(const DiskCache &) = delete;

  struct Found {
    std::optional<CacheEntry> entry;
    /// "absent", "checksum mismatch" ... when there is no entry.
    std::string miss;
  };
  /// `key` is the source key or the IR key of the entry.
  Found load(const std::string &key, const std::string &buildId,
             const std::string &hostFingerprint);
  /// Under the source key, and under the IR key too; under the latter only when the former is
  /// empty.
  void store(const CacheEntry &entry);
  /// For a miss found out by the caller: "a dependency changed".
  void countMiss(const std::string &reason);
  /// Deletes what is over the cap, now. Returns the number of files deleted.
  uint64_t evict();

  const std::string &directory() const { return path; }
  /// Why nothing is read or written; "" when the cache works.
  std::string disabledReason() const;

  struct Counts {
    std::map<std::string, uint64_t> misses;
    uint64_t writes = 0, writeFailures = 0, evictedFiles = 0;
    /// Why nothing is written any more; "" while it is.
    std::string writesDisabled;
  };
  Counts counts() const;

private:
  void open();
  void disable(std::string reason);
  void writeFailed(int error, bool isPermanent);
  bool evictionIsDue(uint64_t storedBytes);
  Found miss(std::string reason);

  std::string path;
  uint64_t capBytes;
  int directoryDescriptor = -1;
  std::atomic<bool> canWrite{false};
  std::atomic<uint64_t> bytesSinceEviction{0};
  std::atomic<uint64_t> temporaryCount{0};
  mutable ForkSafeMutex mutex;
  // Guarded by `mutex`:
  std::string disabled;
  Counts counters;
};

/// $SECTILE_CACHE_DIR, or sectile in $XDG_CACHE_HOME or ~/.cache; "" when there is no home.
std::string defaultCacheDirectory();

} // namespace sectile::jit
