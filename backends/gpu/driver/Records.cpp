#include "backends/gpu/driver/Records.h"

#include "backends/plain/PrintFormat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace sectile::gpu {

using backends::Grid;
using backends::KernelImage;
using backends::LaunchFailure;
using backends::PrintHandler;
using backends::RecordBuffer;
using backends::RecordHeader;

std::unique_ptr<Records> Records::make(const GpuApi &api, size_t recordBytes, size_t rangeWords,
                                       GpuResult &result) {
  recordBytes = (recordBytes + 7) / 8 * 8;
  size_t bytes = sizeof(RecordBuffer) + recordBytes + rangeWords * sizeof(uint64_t);
  std::unique_ptr<Records> records(new Records(api));
  void *memory = nullptr;
  result = api.allocateHost(bytes, memory, records->address);
  if (result != kGpuSuccess)
    return nullptr;
  records->header = static_cast<RecordBuffer *>(memory);
  std::memset(memory, 0, bytes);
  records->header->capacity = recordBytes;
  records->rangeWords = rangeWords;
  records->rangeMemory = reinterpret_cast<uint64_t *>(static_cast<char *>(memory) +
                                                      sizeof(RecordBuffer) + recordBytes);
  return records;
}

Records::~Records() {
  if (header)
    api.releaseHost(header);
}

void Records::clear() {
  uint64_t capacity = header->capacity;
  std::memset(static_cast<void *>(header), 0,
              sizeof(RecordBuffer) + std::min(header->cursor, capacity));
  header->capacity = capacity;
}

std::unique_ptr<Records> RecordPool::take(const GpuApi &api, size_t recordBytes, size_t rangeWords,
                                          GpuResult &result) {
  result = kGpuSuccess;
  {
    std::lock_guard lock(mutex);
    for (auto &records : idle)
      if (records->buffer().capacity >= recordBytes && records->rangeCapacity() >= rangeWords) {
        std::unique_ptr<Records> taken = std::move(records);
        std::swap(records, idle.back());
        idle.pop_back();
        return taken;
      }
  }
  constexpr size_t kUsualRangeWords = 128;
  return Records::make(api, recordBytes, std::max(rangeWords, kUsualRangeWords), result);
}

void RecordPool::giveBack(std::unique_ptr<Records> records) {
  records->clear();
  std::lock_guard lock(mutex);
  idle.push_back(std::move(records));
}

LaunchFailure readRecords(const KernelImage &image, const Grid &grid, const RecordBuffer &buffer,
                          backends::PrintStyle style, const PrintHandler &print) {
  auto say = [&](const std::string &text) {
    if (print)
      print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  };
  const char *bytes = reinterpret_cast<const char *>(&buffer + 1);
  uint64_t end = std::min(buffer.cursor, buffer.capacity);
  struct Print {
    int64_t program;
    const backends::PrintSite *site;
    const char *elements;
  };
  std::vector<Print> prints;
  for (uint64_t place = 0; place + sizeof(RecordHeader) <= end;) {
    RecordHeader record;
    std::memcpy(&record, bytes + place, sizeof record);
    if (record.bytes < sizeof record || record.bytes > end - place)
      break; // the place of one that did not fit, or that was never written
    if (record.site < image.printSites.size()) {
      const backends::PrintSite &site = image.printSites[record.site];
      if (record.bytes >= sizeof record + backends::printedBytes(site))
        prints.push_back({record.program, &site, bytes + place + sizeof record});
    }
    place += (record.bytes + 7) / 8 * 8;
  }
  // Records of one program lie in the order it printed them in.
  std::sort(prints.begin(), prints.end(), [](const Print &a, const Print &b) {
    return std::tie(a.program, a.elements) < std::tie(b.program, b.elements);
  });
  for (const Print &each : prints)
    say(backends::formatPrint(*each.site, each.program, grid.x, grid.y, each.elements, style));
  if (buffer.lost)
    say(image.kernelName + ": device_print: " + std::to_string(buffer.lost) +
        " prints of programs are missing: the buffer of " + std::to_string(buffer.capacity >> 10) +
        " KiB is full; print fewer, or set SECTILE_PRINT_BUFFER\n");

  LaunchFailure failure;
  if (buffer.stop) {
    failure.kind = LaunchFailure::Kind::Trap;
    failure.site = buffer.trapSite;
    failure.program = buffer.trapProgram;
    failure.address = buffer.trapAddress;
  }
  return failure;
}

} // namespace sectile::gpu
