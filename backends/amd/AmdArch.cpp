#include "backends/amd/AmdArch.h"

namespace sectile::amd {

constexpr int64_t kCdnaRegisters = 4 * 512 * 64, kRdnaRegisters = 2 * 1536 * 32;

// LLVM's AMDGPUUsage, "Processors"; registers and LDS from AMD's ISA manuals; which lanes read 16
// bytes at once on gfx942 and gfx950 from triton-lang/triton's pull request 11365, and what
// gfx950's reads that transpose exchange from its layouts for them. The others' order is not known:
// they are taken to act in order.
static const AmdArch kArchs[] = {
    {.name = "gfx90a", .registerWords = kCdnaRegisters},
    {.name = "gfx942",
     .registerWords = kCdnaRegisters,
     .banks = {32, {1, 2, 4 ^ 16}},
     .fp8 = Fp8Kinds::Fnuz,
     .keepsSubnormalHalves = true,
     .addsAnywhere = true},
    {.name = "gfx950",
     .sharedBytes = 160 << 10,
     .registerWords = kCdnaRegisters,
     .banks = {64, {1, 2, 4 ^ 8, 4 ^ 16}, true},
     .fp8 = Fp8Kinds::Ocp,
     .keepsSubnormalHalves = true,
     .addsAnywhere = true},
    {.name = "gfx1100", .laneCount = 32, .registerWords = kRdnaRegisters},
    {.name = "gfx1201",
     .laneCount = 32,
     .registerWords = kRdnaRegisters,
     .fp8 = Fp8Kinds::Ocp,
     .addsAnywhere = true}};

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
