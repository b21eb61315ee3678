//===-- RuntimeSettings.h - what the environment says, and what follows from it ---------------===//
// Read when a runtime starts and by Runtime::reconfigure(). Never changed, but replaced as a whole:
// work under way goes on with what it began with.
#pragma once

#include "backends/plain/Driver.h"
#include "jit/cache/DiskCache.h"
#include "jit/runtime/Knobs.h"
#include "jit/runtime/Runtime.h"

namespace sectile::jit {

struct Settings {
  Knobs knobs;
  DiskCache::Options cache;
  std::shared_ptr<DiskCache> disk;
  /// Stages, and times of all passes, can be shown only by compiling.
  bool readsDisk = true;
  bool isTimed() const { return knobs.timing != Knobs::Timing::None; }
};

/// Reads the settings. They share the disk cache of `previous`, which may be null, when its options
/// are the same.
std::shared_ptr<const Settings> readSettings(const RuntimeOptions &options,
                                             const Settings *previous);

backends::DriverSettings driverSettings(const Knobs &knobs, const RuntimeOptions &options);

/// Adds the counts of one disk cache to those of the caches used before it.
void add(const DiskCache::Counts &counts, DiskCache::Counts &sum);

} // namespace sectile::jit
