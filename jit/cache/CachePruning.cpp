#include "jit/cache/CachePruning.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace sectile::jit {

/// A temporary file or a claim this old was left by a process that died.
constexpr int64_t kRemainsLifetimeSeconds = 3600;

static bool isRemains(std::string_view name) {
  return name.starts_with('.') &&
         (name.ends_with(kTemporarySuffix) || name.ends_with(kClaimSuffix));
}

PruneResult prune(CacheFolder &folder, const PruneLimits &limits) {
  struct Entry {
    time_t lastUse;
    uint64_t bytes;
    std::vector<std::string> names; // hard links go together
  };
  std::map<ino_t, Entry> found;
  uint64_t total = 0;
  time_t now = folder.now();
  if (now < 0)
    now = std::time(nullptr);
  for (CacheFolder::Listed &file : folder.list()) {
    if (isRemains(file.name)) {
      if (std::abs(int64_t{now} - file.modified) > kRemainsLifetimeSeconds)
        folder.remove(file.name);
      continue;
    }
    if (!std::string_view(file.name).ends_with(kEntrySuffix))
      continue; // not ours to delete
    Entry &entry = found[file.inode];
    if (entry.names.empty())
      total += file.bytes;
    entry.lastUse = std::min(file.modified, now);
    entry.bytes = file.bytes;
    entry.names.push_back(std::move(file.name));
  }
  std::vector<Entry> entries;
  for (auto &[inode, entry] : found)
    entries.push_back(std::move(entry));
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.lastUse < b.lastUse; });

  // A tenth below the cap, so that the next store does not start over.
  uint64_t target =
      total > limits.maximalBytes ? limits.maximalBytes - limits.maximalBytes / 10 : UINT64_MAX;
  PruneResult result;
  for (const Entry &entry : entries) {
    bool isOld = int64_t{now} - entry.lastUse > limits.unusedSeconds;
    if (!isOld && total <= target)
      break;
    for (const std::string &name : entry.names)
      result.files += folder.remove(name);
    result.bytes += entry.bytes;
    total -= std::min(total, entry.bytes);
  }
  return result;
}

} // namespace sectile::jit
