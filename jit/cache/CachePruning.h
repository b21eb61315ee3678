//===-- CachePruning.h - deletes cache entries that are longest unused ------------------------===//
//   PruneLimits limits;
//   limits.maximalBytes = 2 << 30;
//   PruneResult result = prune(folder, limits);
//
// A file's time of modification is its last use, to within an hour. Times are compared with the
// clock of the machine that has the files; one in the future (that clock was set back) counts as
// now for entries, and as past for what dead processes left behind. Several processes may prune at
// once: they choose the same files.
#pragma once

#include "jit/cache/CacheFolder.h"

namespace sectile::jit {

struct PruneLimits {
  /// Entries go, longest unused first, until a tenth less than this is left; only if there is more.
  uint64_t maximalBytes = UINT64_MAX;
  /// Entries unused for longer go in any case.
  int64_t unusedSeconds = INT64_MAX;
};

struct PruneResult {
  uint64_t files = 0, bytes = 0;
};

/// Also deletes what processes that died left behind: temporary files, claims.
PruneResult prune(CacheFolder &folder, const PruneLimits &limits);

} // namespace sectile::jit
