//===-- ProcessorLevels.h - processors that code is compiled for by name ----------------------===//
// The levels of the x86-64 psABI, and behind the last of them what multiplies matrices of narrow
// numbers. Each level has all that the ones before it have. Which features a level means stands in
// backends/cpu: HostFeatures.cpp for the code generator, HostProcessor.cpp for the runtime.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace sectile::backends {

enum class ProcessorLevel {
  Baseline,   // SSE2
  V2,         // SSE4.2
  V3,         // AVX2, FMA, F16C
  V4,         // AVX-512
  NarrowDots, // AVX512-BF16 and AVX512-VNNI: Zen 4, Cooper Lake
  TileDots,   // AMX for bf16 and int8: Sapphire Rapids
};

/// In the order of ProcessorLevel.
inline constexpr std::string_view kProcessorLevels[] = {
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"};
inline constexpr int kProcessorLevelCount = std::size(kProcessorLevels);

/// The place of a name among kProcessorLevels; kProcessorLevelCount for any other name.
constexpr int processorLevelOf(std::string_view name) {
  return int(std::find(std::begin(kProcessorLevels), std::end(kProcessorLevels), name) -
             std::begin(kProcessorLevels));
}

/// "x86-64, x86-64-v2, ... or x86-64-v4-amx", for messages.
inline std::string processorLevelNames() {
  std::string names;
  for (int level = 0; level < kProcessorLevelCount; ++level)
    names += (level == 0                          ? ""
              : level + 1 == kProcessorLevelCount ? " or "
                                                  : ", ") +
             std::string(kProcessorLevels[level]);
  return names;
}

} // namespace sectile::backends
