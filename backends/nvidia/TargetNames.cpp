#include "backends/nvidia/TargetNames.h"

#include <charconv>

namespace sectile::nvidia {

std::string archOfCapability(int capability) {
  return "sm_" + std::to_string(capability) + (capability >= 90 ? "a" : "");
}

int capabilityOf(std::string_view arch) {
  for (std::string_view prefix : {"sm_", "sm"})
    if (arch.starts_with(prefix)) {
      arch.remove_prefix(prefix.size());
      break;
    }
  int capability = 0;
  auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), capability);
  std::string_view rest(end, static_cast<size_t>(arch.data() + arch.size() - end));
  bool isKnownSuffix = rest.empty() || rest == "a" || rest == "f";
  return error == std::errc() && isKnownSuffix && capability >= 20 && capability < 1000 ? capability
                                                                                        : 0;
}

bool isArchitectureSpecific(std::string_view arch) {
  return !arch.empty() && (arch.back() == 'a' || arch.back() == 'f');
}

int newestPtxVersion(int driverVersion) {
  // "PTX ISA Version History": which CUDA release brought which version.
  static constexpr struct {
    int driver, ptx;
  } kVersions[] = {{13010, 91}, {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86},
                   {12050, 85}, {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81},
                   {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75},
                   {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70}};
  for (auto [driver, ptx] : kVersions)
    if (driverVersion >= driver)
      return ptx;
  return 65;
}

} // namespace sectile::nvidia
