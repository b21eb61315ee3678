#include "backends/CompileOptions.h"

namespace sectile::backends {

std::string CompileOptions::fingerprint() const {
  std::string text;
  // Strings go in with their length: their content cannot be taken for another field.
  auto add = [&](const char *name, const std::string &value) {
    text += std::string(name) + "=" + std::to_string(value.size()) + ":" + value + ";";
  };
  auto addNumber = [&](const char *name, int64_t value) {
    text += std::string(name) + "=" + std::to_string(value) + ";";
  };
  add("backend", backend);
  add("arch", arch);
  addNumber("ptxVersion", ptxVersion);
  addNumber("warpCount", warpCount);
  addNumber("stageCount", stageCount);
  addNumber("ctaCount", ctaCount);
  addNumber("maxRegisters", maxRegisters);
  addNumber("enableFpFusion", enableFpFusion);
  addNumber("cooperativeGrid", cooperativeGrid);
  addNumber("dependentLaunch", dependentLaunch);
  addNumber("debug", debug);
  addNumber("sanitizeOverflow", sanitizeOverflow);
  addNumber("checkBounds", checkBounds);
  addNumber("argumentsOverlap", argumentsOverlap);
  add("injectFailure", injectFailure);
  return text;
}

} // namespace sectile::backends
