#include "backends/amd/AmdArch.h"

namespace sectile::amd {

// LLVM's AMDGPUUsage, "Processors"; registers and LDS from AMD's ISA manuals.
static const AmdArch kArchs[] = {{"gfx90a", 64, 64 << 10, 4 * 512 * 64},
                                 {"gfx942", 64, 64 << 10, 4 * 512 * 64},
                                 {"gfx950", 64, 160 << 10, 4 * 512 * 64},
                                 {"gfx1100", 32, 64 << 10, 2 * 1536 * 32},
                                 {"gfx1201", 32, 64 << 10, 2 * 1536 * 32}};

std::optional<AmdArch> AmdArch::parse(llvm::StringRef text) {
  for (const AmdArch &arch : kArchs)
    if (text == arch.name)
      return arch;
  return std::nullopt;
}

std::string AmdArch::known() {
  std::string text;
  for (const AmdArch &arch : kArchs)
    text += (text.empty() ? "" : &arch == std::end(kArchs) - 1 ? " or " : ", ") + arch.name;
  return text;
}

} // namespace sectile::amd
