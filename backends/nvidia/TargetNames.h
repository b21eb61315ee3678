//===-- TargetNames.h - architectures and versions of PTX, by their names ---------------------===//
//   archOfCapability(90)         == "sm_90a"
//   capabilityOf("sm_90a")       == 90
//   newestPtxVersion(13000)      == 90            the driver of CUDA 13.0 takes PTX 9.0
#pragma once

#include <string>
#include <string_view>

namespace sectile::nvidia {

inline constexpr std::string_view kTargetPrefix = "nvptx64:";

/// With the architecture's own instructions where it has some ("a").
std::string archOfCapability(int capability);
/// Returns 90 for "sm_90a" and "90", 86 for "sm_86"; 0 for anything else.
int capabilityOf(std::string_view arch);
/// The code of "sm_90a" runs on 9.0 only; of "sm_80" on later ones too, from PTX.
bool isArchitectureSpecific(std::string_view arch);
/// As cuDriverGetVersion numbers drivers: 12040 for 12.4.
int newestPtxVersion(int driverVersion);

} // namespace sectile::nvidia
