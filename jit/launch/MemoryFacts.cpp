#include "jit/launch/MemoryFacts.h"

#include <algorithm>
#include <utility>

namespace sectile::jit {

static bool meetsHazard(const backends::KernelImage &image,
                        const std::vector<backends::ArgumentOverlap> &overlaps) {
  for (const backends::ArgumentOverlap &overlap : overlaps)
    for (const backends::OverlapHazard &hazard : image.overlapHazards)
      if (std::minmax<uint32_t>(hazard.written, hazard.other) ==
              std::minmax<uint32_t>(overlap.first, overlap.second) &&
          (hazard.evenIfSame || !overlap.isSame))
        return true;
  return false;
}

MemoryFacts MemoryFacts::of(const BoundArguments &arguments) {
  const auto &overlaps = arguments.overlaps;
  return {{overlaps.data(), overlaps.data() + overlaps.size()},
          arguments.isOfDevice,
          arguments.isUnmappable,
          arguments.isLarge};
}

bool MemoryFacts::changeOptions(const backends::KernelImage &image,
                                backends::CompileOptions &options) const {
  auto set = [](bool &option, bool isWanted) { return isWanted && !std::exchange(option, true); };
  bool isChanged = set(options.argumentsOverlap, meetsHazard(image, overlaps));
  isChanged |= set(options.deviceMemory, isOfDevice && !image.atomicArguments.empty());
  isChanged |= set(options.pointersOnly, isUnmappable && !image.tensorMaps.empty());
  isChanged |= set(options.largeArrays, isLarge && !image.bufferArguments.empty());
  return isChanged;
}

std::vector<MemoryFacts> unusualMemory(const backends::KernelImage &usual) {
  std::vector<backends::ArgumentOverlap> every;
  for (const backends::OverlapHazard &hazard : usual.overlapHazards) {
    auto [first, second] = std::minmax(hazard.written, hazard.other);
    every.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(second), false});
  }
  std::vector<MemoryFacts> result;
  for (int overlaps = 0; overlaps <= !every.empty(); ++overlaps)
    for (int isOfDevice = 0; isOfDevice <= !usual.atomicArguments.empty(); ++isOfDevice)
      for (int isUnmappable = 0; isUnmappable <= !usual.tensorMaps.empty(); ++isUnmappable)
        for (int isLarge = 0; isLarge <= !usual.bufferArguments.empty(); ++isLarge)
          if (overlaps || isOfDevice || isUnmappable || isLarge)
            result.push_back({overlaps ? every : std::vector<backends::ArgumentOverlap>(),
                              isOfDevice != 0, isUnmappable != 0, isLarge != 0});
  return result;
}

bool leavesMemoryOpen(std::span<const ArgumentValue> values) {
  return std::any_of(values.begin(), values.end(), [](const ArgumentValue &value) {
    return value.kind == ArgumentValue::Kind::Pointer && value.device < 0;
  });
}

bool leavesMapsOpen(std::span<const ArgumentValue> values) {
  return leavesMemoryOpen(values) ||
         std::any_of(values.begin(), values.end(), [](const ArgumentValue &value) {
           return value.kind == ArgumentValue::Kind::Integer &&
                  value.device == ArgumentValue::kAnywhere;
         });
}

void copyMemoryOptions(const backends::CompileOptions &ofImage, backends::CompileOptions &options) {
  options.argumentsOverlap = ofImage.argumentsOverlap;
  options.deviceMemory = ofImage.deviceMemory;
  options.pointersOnly = ofImage.pointersOnly;
  options.largeArrays = ofImage.largeArrays;
}

} // namespace sectile::jit
