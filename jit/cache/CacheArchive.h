//===-- CacheArchive.h - cache entries as one file, to take elsewhere -------------------------===//
//   exportArchive(folder, "kernels.sectile", {});          // where they were compiled
//   importArchive(folder, "kernels.sectile");              // where they are needed
//
//   magic "SECTILEA" | format version | number of entries | (size, image file)* | SHA-256 of it all
//
// Kernels are executable code, so an archive is imported only when it belongs to this user or to
// root and nobody else may write to it, and only as a whole: if its digest is wrong, or any entry
// in it damaged, nothing is imported.
#pragma once

#include "jit/cache/CacheFolder.h"
#include "jit/cache/ImageFile.h"

#include <functional>
#include <string>

namespace sectile::jit {

struct ArchiveResult {
  uint64_t entries = 0, bytes = 0;
  /// Imported, and of use only to another build of Sectile.
  uint64_t ofOtherBuilds = 0;
  /// Files of the folder that the archive leaves out: damaged, or not ours.
  uint64_t skipped = 0;
  /// What went wrong; "" when nothing did.
  std::string problem;
};

/// Writes the entries that `wanted` chooses (empty: all). `path` is complete or as it was before.
ArchiveResult exportArchive(const CacheFolder &folder, const std::string &path,
                            const std::function<bool(const CacheEntry &)> &wanted);
ArchiveResult importArchive(CacheFolder &folder, const std::string &path,
                            const std::string &buildId);

} // namespace sectile::jit
