#include "jit/runtime/RuntimeSettings.h"

namespace sectile::jit {

backends::DriverSettings driverSettings(const Knobs &knobs, const RuntimeOptions &options) {
  backends::DriverSettings settings;
  settings.threadCount = options.threadCount ? options.threadCount : knobs.threadCount;
  settings.printBufferBytes = knobs.printBufferBytes;
  settings.printElements = knobs.printElements;
  settings.printsAsTriton = knobs.printsAsTriton;
  settings.ptxas = knobs.ptxas;
  settings.assembler = knobs.assembler;
  settings.codeDirectory = knobs.codeDirectory;
  settings.hipLibrary = knobs.hipLibrary;
  return settings;
}

static DiskCache::Options cacheOptions(const Knobs &knobs, const RuntimeOptions &options) {
  return {options.cacheDirectory ? *options.cacheDirectory
                                 : knobs.cacheDirectory.value_or(defaultCacheDirectory()),
          options.cacheBytes.value_or(knobs.cacheBytes),
          options.cacheLayers.value_or(knobs.cacheLayers),
          options.cacheWaitSeconds.value_or(double(knobs.cacheWaitSeconds))};
}

std::shared_ptr<const Settings> readSettings(const RuntimeOptions &options,
                                             const Settings *previous) {
  auto settings = std::make_shared<Settings>();
  settings->knobs = Knobs::fromEnvironment();
  const Knobs &knobs = settings->knobs;
  settings->readsDisk = knobs.dumpStages.empty() && knobs.stopAfter.empty() &&
                        knobs.timing != Knobs::Timing::Passes && !knobs.verifyEachPass;
  settings->cache = cacheOptions(knobs, options);
  settings->disk = previous && previous->cache == settings->cache
                       ? previous->disk
                       : std::make_shared<DiskCache>(settings->cache);
  return settings;
}

void add(const DiskCache::Counts &counts, DiskCache::Counts &sum) {
  for (const auto &[reason, times] : counts.misses)
    sum.misses[reason] += times;
  sum.writes += counts.writes;
  sum.writeFailures += counts.writeFailures;
  sum.evictedFiles += counts.evictedFiles;
  sum.waits += counts.waits;
}

} // namespace sectile::jit
