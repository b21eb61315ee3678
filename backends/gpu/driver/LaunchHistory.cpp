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
  ++count;
  Entry &latest = entries[distinct % kLaunches];
  // Where not all arguments are kept, none are known to be equal.
  if (slotCount < kArguments && latest.kernel == kernel && latest.stream == stream &&
      latest.grid.x == grid.x && latest.grid.y == grid.y && latest.grid.z == grid.z) {
    size_t i = 0;
#pragma clang loop vectorize(disable) unroll(disable)
    while (i < slotCount && latest.slots[i] == slots[i])
      ++i;
    if (i == slotCount) {
      ++latest.times;
      return;
    }
  }
  add(kernel, grid, stream, slots, slotCount);
}

void LaunchHistory::add(const std::shared_ptr<const KernelIdentity> &kernel,
                        const backends::Grid &grid, void *stream, const uint64_t *slots,
                        size_t slotCount) {
  Entry &entry = entries[++distinct % kLaunches];
  entry.kernel = kernel;
  entry.grid = grid;
  entry.stream = stream;
  entry.times = 1;
  std::copy_n(slots, slotCount, entry.slots.begin());
}

LaunchHistory::Last LaunchHistory::last() const {
  Lock lock(*this);
  return {count, entries[distinct % kLaunches].stream};
}

std::vector<std::string> LaunchHistory::describe() const {
  std::array<Entry, kLaunches> entries;
  uint64_t distinct = 0;
  {
    Lock lock(*this);
    entries = this->entries;
    distinct = this->distinct;
  }
  std::vector<std::string> lines;
  for (uint64_t back = 0; back < std::min<uint64_t>(distinct, kLaunches); ++back) {
    const Entry &entry = entries[(distinct - back) % kLaunches];
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
    line += std::string(") on stream ") + stream;
    if (entry.times > 1)
      line += ", " + std::to_string(entry.times) + " times";
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace sectile::gpu
