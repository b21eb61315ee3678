//===-- ReportBuffer.h - what the driver gives a kernel that reports to the host --------------===//
//   ReportBuffer reports(/*bytes of records*/ 4096);
//   kernel.run({4}, reports.with(kernel.image, {argument(in), argument(out)}));
//   EXPECT_EQ(reports.header().stop, 1u);
#pragma once

#include "../HostKernelHarness.h"
#include "backends/plain/DeviceAbi.h"

#include <cstring>

namespace sectile::testing {

class ReportBuffer {
public:
  explicit ReportBuffer(uint64_t recordBytes = 0)
      : words((sizeof(backends::RecordBuffer) + recordBytes) / 8 + kGuardWords, kGuard) {
    std::memset(words.data(), 0, sizeof(backends::RecordBuffer) + recordBytes);
    header().capacity = recordBytes;
  }

  backends::RecordBuffer &header() {
    return *reinterpret_cast<backends::RecordBuffer *>(words.data());
  }
  const uint8_t *records() const {
    return reinterpret_cast<const uint8_t *>(words.data()) + sizeof(backends::RecordBuffer);
  }
  bool isGuardIntact() const {
    return std::all_of(words.end() - kGuardWords, words.end(),
                       [](uint64_t word) { return word == kGuard; });
  }

  /// The arguments with what `hiddenParameters` asks for.
  std::vector<HostArgument> with(const backends::KernelImage &image,
                                 std::vector<HostArgument> arguments) {
    int32_t hidden = image.gpu.hiddenParameters;
    ranges.clear();
    for (const HostArgument &each : arguments)
      ranges.insert(ranges.end(), {each.begin, each.end});
    if (hidden & backends::kHiddenRanges)
      arguments.push_back(argument(ranges));
    if (hidden & backends::kHiddenRecords)
      arguments.push_back(argument(words));
    return arguments;
  }

private:
  static constexpr size_t kGuardWords = 8;
  static constexpr uint64_t kGuard = 0x5a5a5a5a5a5a5a5a;
  std::vector<uint64_t> words, ranges;
};

} // namespace sectile::testing
