#include "backends/cpu/CpuBackend.h"

#include "backends/cpu/HostFeatures.h"

namespace sectile::cpu {

std::string CpuBackend::targetName(const backends::CompileOptions &options) const {
  auto host = HostFeatures::named(options.arch);
  return "x86_64:" + (host ? host->name : options.arch);
}

} // namespace sectile::cpu
