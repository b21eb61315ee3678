//===-- DiskCache.h - compiled kernels on disk, shared by processes ---------------------------===//
// One file per variant, `<key>.kernel`, complete or absent: it is written aside and renamed. A file
// may have a second name, its IR key, as a hard link. Nothing is locked to read or write.
//
//   DiskCache cache({.directory = "/home/me/.cache/sectile", .layers = {"/opt/app/kernels"}});
//   DiskCache::Found found = cache.load(key, build, host);       // found.miss says why not
//   if (!found.entry) {
//     auto claim = cache.claim(key);                    // one process compiles, others wait
//     while (claim->next() == CacheClaim::Answer::LookAgain)
//       ... cache.look(...) ...
//     ... compile ...; cache.store(entry);
//   }
//
// Layers are folders that somebody else fills (an administrator, the build of a container): read
// after the user's own, never written to. `sectile cache import --dir` makes one.
//
// It never fails a compile: whatever goes wrong is a miss, or a store that is counted and left out.
// An entry of the user's own that is damaged or of another build is deleted; an I/O error says
// nothing about the content and deletes nothing. The users that may own and write what are in
// CacheFolder.h.
//
// Size: after some stores, and at most every few minutes over all processes, the entries longest
// unused are deleted until the folder is below its cap (CachePruning.h).
#pragma once

#include "backends/plain/ForkSafeMutex.h"
#include "jit/cache/CacheClaim.h"
#include "jit/cache/CacheFolder.h"
#include "jit/cache/ImageFile.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sectile::jit {

class DiskCache {
public:
  struct Options {
    /// Empty: nothing is kept.
    std::string directory = {};
    uint64_t capBytes = uint64_t{2} << 30;
    std::vector<std::string> layers = {};
    /// How long to wait for another process that makes an entry; 0 means not at all.
    double waitSeconds = 0;
    friend bool operator==(const Options &, const Options &) = default;
  };
  explicit DiskCache(Options options);
  DiskCache(const DiskCache &) = delete;
  DiskCache &operator=(const DiskCache &) = delete;

  struct Found {
    std::optional<CacheEntry> entry;
    /// "absent", "checksum mismatch" ... when there is no entry.
    std::string miss;
    bool isFromLayer = false;
  };
  /// `key` is the source key or the IR key of the entry.
  Found load(const std::string &key, const std::string &buildId,
             const std::string &hostFingerprint);
  /// The same, and a miss is not counted.
  Found look(const std::string &key, const std::string &buildId,
             const std::string &hostFingerprint);
  /// Under the source key, and under the IR key too; under the latter only when the former is
  /// empty.
  void store(const CacheEntry &entry);
  /// The right to make the entry of `key`; must not outlive the cache.
  std::unique_ptr<CacheClaim> claim(const std::string &key);
  /// For a miss found out by the caller: "a dependency changed".
  void countMiss(const std::string &reason);
  void countWait();
  /// Deletes what is over the cap, now. Returns the number of files deleted.
  uint64_t evict();

  const std::string &directory() const { return own.path(); }
  /// Why nothing is read or written; "" when the cache works.
  std::string disabledReason() const { return own.refusal(); }
  /// Why layers are not read.
  const std::vector<std::string> &refusedLayers() const { return refusals; }

  struct Counts {
    std::map<std::string, uint64_t> misses;
    uint64_t writes = 0, writeFailures = 0, evictedFiles = 0;
    /// Times another process was waited for.
    uint64_t waits = 0;
    /// Why nothing is written any more; "" while it is.
    std::string writesDisabled;
  };
  Counts counts() const;

private:
  void writeFailed(int error);
  bool evictionIsDue(uint64_t storedBytes);

  const Options options;
  CacheFolder own;
  std::vector<std::unique_ptr<CacheFolder>> layers;
  std::vector<std::string> refusals;
  std::atomic<bool> canWrite{false};
  std::atomic<uint64_t> bytesSinceEviction{0};
  mutable ForkSafeMutex mutex;
  // Guarded by `mutex`:
  Counts counters;
};

/// $SECTILE_CACHE_DIR, or sectile in $XDG_CACHE_HOME or ~/.cache; "" when there is no home.
std::string defaultCacheDirectory();

} // namespace sectile::jit
