#include "backends/cpu/HostProcessor.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sectile::cpu {

#if defined(__x86_64__)
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

/// Which register files the operating system saves: features it does not save cannot be used.
uint64_t extendedControl() {
  if (!(cpuid(1).ecx & bit_OSXSAVE))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

} // namespace

std::string hostFingerprint() {
  Registers vendor = cpuid(0), basic = cpuid(1), extended = cpuid(7), extended1 = cpuid(7, 1),
            amd = cpuid(0x80000001), save = cpuid(0xd, 1);
  char text[256];
  // Leaves out EBX of leaf 1, whose fields depend on the core that executes the instruction.
  std::snprintf(
      text, sizeof text,
      "x86_64:%08x%08x%08x:%08x:%08x,%08x:%08x,%08x,%08x:%08x,%08x,%08x:%08x,%08x:%08x:%llx",
      vendor.ebx, vendor.edx, vendor.ecx, basic.eax, basic.ecx, basic.edx, extended.ebx,
      extended.ecx, extended.edx, extended1.eax, extended1.ebx, extended1.edx, amd.ecx, amd.edx,
      save.eax, static_cast<unsigned long long>(extendedControl()));
  return text;
}

namespace {

/// What a level of the x86-64 psABI adds to the one below: bits of CPUID, and the register files
/// that the operating system has to save for them.
struct Level {
  std::string_view name;
  unsigned basic;    // leaf 1, ECX
  unsigned extended; // leaf 7, EBX
  unsigned amd;      // leaf 0x80000001, ECX
  uint64_t saved;    // XCR0
};
constexpr uint64_t kSavesAvx = 0x6, kSavesAvx512 = 0xe6;
constexpr Level kLevels[] = {
    {"x86-64-v2", bit_CMPXCHG16B | bit_POPCNT | bit_SSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_SSSE3, 0,
     bit_LAHF_LM, 0},
    {"x86-64-v3", bit_AVX | bit_F16C | bit_FMA | bit_MOVBE | bit_OSXSAVE,
     bit_AVX2 | bit_BMI | bit_BMI2, bit_LZCNT, kSavesAvx},
    {"x86-64-v4", 0, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL, 0,
     kSavesAvx512},
};

/// Returns the first level that the processor at hand lacks. Asks the processor itself, once:
/// __builtin_cpu_supports() reads a table of the libgcc that a program is linked with, and GCC 11's
/// knows no levels.
const Level *firstMissingLevel() {
  static const Level *const missing = [] {
    const unsigned basic = cpuid(1).ecx, extended = cpuid(7).ebx, amd = cpuid(0x80000001).ecx;
    const uint64_t saved = extendedControl();
    return std::find_if(std::begin(kLevels), std::end(kLevels), [&](const Level &level) {
      auto lacks = [](uint64_t bits, uint64_t wanted) { return (bits & wanted) != wanted; };
      return lacks(basic, level.basic) || lacks(extended, level.extended) ||
             lacks(amd, level.amd) || lacks(saved, level.saved);
    });
  }();
  return missing;
}

} // namespace

bool hostCovers(std::string_view processor, std::string &reason) {
  const Level *asked = std::find_if(std::begin(kLevels), std::end(kLevels),
                                    [&](const Level &level) { return level.name == processor; });
  const bool isCovered = asked == std::end(kLevels) || asked < firstMissingLevel();
  if (!isCovered)
    reason = "this processor is not an " + std::string(processor);
  return isCovered;
}
#else
std::string hostFingerprint() {
  return "unknown";
}
bool hostCovers(std::string_view, std::string &) {
  return true;
}
#endif

} // namespace sectile::cpu
