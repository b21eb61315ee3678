#include "backends/plain/CompileOptions.h"

namespace sectile::backends {

std::vector<std::pair<const char *, std::string>> CompileOptions::fields() const {
  auto number = [](int64_t value) { return std::to_string(value); };
  return {{"backend", backend},
          {"arch", arch},
          {"ptx_version", number(ptxVersion)},
          {"num_warps", number(warpCount)},
          {"num_stages", number(stageCount)},
          {"num_ctas", number(ctaCount)},
          {"maxnreg", number(maxRegisters)},
          {"enable_fp_fusion", number(enableFpFusion)},
          {"cooperative_grid", number(cooperativeGrid)},
          {"dependent_launch", number(dependentLaunch)},
          {"debug", number(debug)},
          {"sanitize_overflow", number(sanitizeOverflow)},
          {"check_bounds", number(checkBounds)},
          {"arguments_overlap", number(argumentsOverlap)},
          {"inject_failure", injectFailure}};
}

std::string CompileOptions::fingerprint() const {
  std::string text;
  // With their lengths: no content can be taken for another field.
  for (const auto &[name, value] : fields())
    text += std::string(name) + "=" + std::to_string(value.size()) + ":" + value + ";";
  return text;
}

} // namespace sectile::backends
