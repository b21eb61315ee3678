#include "backends/gpu/driver/LaunchHistory.h"

#include "backends/plain/TileFormat.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace sectile::gpu {

void LaunchHistory::note(const std::shared_ptr<const KernelIdentity> &kernel,
                         const backends::Grid &grid, void *stream, const uint64_t *slots,
                         size_t slotCount) {
  Lock lock(*this);
  Entry &entry = entries[count++ % kLaunches];
  if (entry.kernel != kernel) [[unlikely]]
    exchange(entry, kernel);
  entry.grid = grid;
  entry.stream = stream;
  // Most kernels have a few: code for many at once would be longer than what it saves.
#pragma clang loop vectorize(disable) unroll(disable)
  for (size_t i = 0; i < slotCount; ++i)
    entry.slots[i] = slots[i];
}

void LaunchHistory::exchange(Entry &entry, const std::shared_ptr<const KernelIdentity> &kernel) {
  entry.kernel = kernel;
}

LaunchHistory::Last LaunchHistory::last() const {
  Lock lock(*this);
  return {count, count ? entries[(count - 1) % kLaunches].stream : nullptr};
}

std::vector<std::string> LaunchHistory::describe() const {
  std::array<Entry, kLaunches> entries;
  uint64_t count = 0;
  {
    Lock lock(*this);
    entries = this->entries;
    count = this->count;
  }
  std::vector<std::string> lines;
  for (uint64_t back = 1; back <= std::min<uint64_t>(count, kLaunches); ++back) {
    const Entry &entry = entries[(count - back) % kLaunches];
    std::string line = entry.kernel->name + "[" + std::to_string(entry.grid.x) + ", " +
                       std::to_string(entry.grid.y) + ", " + std::to_string(entry.grid.z) + "](";
    const auto &arguments = entry.kernel->arguments;
    for (size_t i = 0; i < std::min(arguments.size(), kArguments); ++i)
      line += (i ? ", " : "") + arguments[i].name + " = " +
              backends::formatElement(arguments[i].dtype, &entry.slots[i], false);
    if (arguments.size() > kArguments)
      line += ", ...";
    char stream[32];
    std::snprintf(stream, sizeof stream, "0x%" PRIxPTR, reinterpret_cast<uintptr_t>(entry.stream));
    lines.push_back(line + ") on stream " + stream);
  }
  return lines;
}

} // namespace sectile::gpu
