#include "jit/cache/DiskCache.h"

#include "jit/cache/CachePruning.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace sectile::jit {
namespace {

constexpr int64_t kUseGranularitySeconds = 3600;
constexpr int64_t kEvictionIntervalSeconds = 300;

/// Seconds since `then`; a `then` in the future is as long ago: some clock was set back.
int64_t distance(time_t now, time_t then) {
  return std::abs(int64_t{now} - then);
}

/// Trying again with another entry would fail too.
bool isPermanent(int error) {
  return error == EROFS || error == EACCES || error == EPERM || error == ENOSPC ||
         error == EDQUOT || error == ENOENT;
}

std::string nameOf(const std::string &key) {
  return key + std::string(kEntrySuffix);
}

} // namespace

std::string defaultCacheDirectory() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string chosen = variable("SECTILE_CACHE_DIR"); !chosen.empty())
    return chosen;
  // A relative XDG_CACHE_HOME is to be ignored, says the specification.
  if (std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/sectile";
  if (std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.cache/sectile";
  return {};
}

DiskCache::DiskCache(Options given)
    : options(std::move(given)), own(options.directory, CacheFolder::Use::Own),
      canWrite(bool(own)) {
  for (const std::string &path : options.layers) {
    auto layer = std::make_unique<CacheFolder>(path, CacheFolder::Use::Layer);
    if (*layer)
      layers.push_back(std::move(layer));
    else
      refusals.push_back(layer->refusal());
  }
}

DiskCache::Counts DiskCache::counts() const {
  std::lock_guard lock(mutex);
  return counters;
}

void DiskCache::countMiss(const std::string &reason) {
  std::lock_guard lock(mutex);
  ++counters.misses[reason];
}

void DiskCache::countWait() {
  std::lock_guard lock(mutex);
  ++counters.waits;
}

DiskCache::Found DiskCache::load(const std::string &key, const std::string &buildId,
                                 const std::string &hostFingerprint) {
  Found found = look(key, buildId, hostFingerprint);
  if (!found.entry)
    countMiss(found.miss);
  return found;
}

DiskCache::Found DiskCache::look(const std::string &key, const std::string &buildId,
                                 const std::string &hostFingerprint) {
  Found result;
  std::string name = nameOf(key);
  auto lookIn = [&](CacheFolder &folder, bool isLayer) {
    CacheFolder::File file = folder.read(name);
    std::string problem = file.problem;
    CacheEntry entry;
    if (problem.empty()) {
      problem = readImageFile(file.content, entry);
      if (problem.empty() && entry.sourceKey != key && entry.irKey != key)
        problem = "stored under another key";
      if (problem.empty() && entry.buildId != buildId)
        problem = "of another build";
      if (problem.empty() && entry.hostFingerprint != hostFingerprint)
        problem = "for another host";
      if (!problem.empty() && !isLayer)
        folder.remove(name, file);
    }
    if (!problem.empty()) {
      if (result.miss.empty() || problem != "absent")
        result.miss = problem;
      return false;
    }
    if (!isLayer && distance(std::time(nullptr), file.modified) > kUseGranularitySeconds)
      folder.touch(name);
    result = {std::move(entry), {}, isLayer};
    return true;
  };
  if (own && lookIn(own, false))
    return result;
  for (const std::unique_ptr<CacheFolder> &layer : layers)
    if (lookIn(*layer, true))
      return result;
  if (result.miss.empty())
    result.miss = "cache is off";
  return result;
}

std::unique_ptr<CacheClaim> DiskCache::claim(const std::string &key) {
  return std::make_unique<CacheClaim>(own && canWrite ? &own : nullptr, key, options.waitSeconds);
}

void DiskCache::writeFailed(int error) {
  std::lock_guard lock(mutex);
  ++counters.writeFailures;
  if (isPermanent(error) && canWrite.exchange(false))
    counters.writesDisabled = "cache folder " + own.path() +
                              " cannot be written to: " + std::strerror(error) +
                              "; compiled kernels are not kept beyond this process";
}

void DiskCache::store(const CacheEntry &entry) {
  if (!own)
    return;
  if (!canWrite)
    return writeFailed(0);
  std::string content = writeImageFile(entry);
  bool hasSource = !entry.sourceKey.empty();
  // The second name saves a compile when other source gives the same IR.
  std::string alias = hasSource && !entry.irKey.empty() ? nameOf(entry.irKey) : "";
  if (int error = own.publish(content, nameOf(hasSource ? entry.sourceKey : entry.irKey), alias))
    return writeFailed(error);
  {
    std::lock_guard lock(mutex);
    ++counters.writes;
  }
  if (evictionIsDue(content.size()))
    evict();
}

/// Cheap and rare: a folder is listed after 1/64 of the cap was stored by this process, or by
/// chance, and not if some process listed it within the last minutes.
bool DiskCache::evictionIsDue(uint64_t storedBytes) {
  uint64_t stored = bytesSinceEviction.fetch_add(storedBytes) + storedBytes;
  bool isMuch = stored >= options.capBytes / 64;
  if (!isMuch && randomNumber() % 64 != 0)
    return false;
  bytesSinceEviction = 0;
  if (isMuch)
    return true;
  CacheFolder::File stamp = own.read(kPruneStamp);
  return !stamp.problem.empty() ||
         distance(std::time(nullptr), stamp.modified) >= kEvictionIntervalSeconds;
}

uint64_t DiskCache::evict() {
  if (!own)
    return 0;
  PruneLimits limits;
  limits.maximalBytes = options.capBytes;
  uint64_t deleted = prune(own, limits).files;
  std::lock_guard lock(mutex);
  counters.evictedFiles += deleted;
  return deleted;
}

} // namespace sectile::jit
