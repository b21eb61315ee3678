#include "backends/amd/AmdArch.h"

namespace sectile::amd {

// LLVM's AMDGPUUsage, "Processors"; registers and LDS from AMD's ISA manuals; which lanes read 16
// bytes at once on gfx942 and gfx950 from triton-lang/triton's pull request 11365, and what
// gfx950's reads that transpose exchange from its layouts for them. The others' order is not known:
// they are taken to act in order.
static const AmdArch kArchs[] = {
    {"gfx90a", 64, 64 << 10, 4 * 512 * 64},
    {"gfx942", 64, 64 << 10, 4 * 512 * 64, {32, {1, 2, 4 ^ 16}}, Fp8Kinds::Fnuz, true, true},
    {"gfx950",
     64,
     160 << 10,
     4 * 512 * 64,
     {64, {1, 2, 4 ^ 8, 4 ^ 16}, true},
     Fp8Kinds::Ocp,
     true,
     true},
    {"gfx1100", 32, 64 << 10, 2 * 1536 * 32},
    {"gfx1201", 32, 64 << 10, 2 * 1536 * 32, {}, Fp8Kinds::Ocp, false, true}};

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
