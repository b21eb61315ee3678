#include "backends/cpu/HostProcessor.h"

#include "backends/plain/ProcessorLevels.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sectile::cpu {

using backends::kProcessorLevelCount, backends::processorLevelOf;

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

/// What a level adds to the one below: bits of CPUID, and the register files that the operating
/// system has to save for them.
struct Level {
  unsigned basic = 0;     // leaf 1, ECX
  unsigned extended = 0;  // leaf 7, EBX
  unsigned extendedC = 0; // leaf 7, ECX
  unsigned extendedD = 0; // leaf 7, EDX
  unsigned extended1 = 0; // leaf 7.1, EAX
  unsigned amd = 0;       // leaf 0x80000001, ECX
  uint64_t saved = 0;     // XCR0
};
// <cpuid.h> has these only from GCC 11 and 12 on.
constexpr unsigned kAvx512Bf16 = 1u << 5, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24,
                   kAmxInt8 = 1u << 25;
constexpr uint64_t kSavesAvx = 0x6, kSavesAvx512 = 0xe6, kSavesTiles = 0x60000;
/// In the order of ProcessorLevel.
constexpr Level kLevels[] = {
    {},
    {.basic = bit_CMPXCHG16B | bit_POPCNT | bit_SSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_SSSE3,
     .amd = bit_LAHF_LM},
    {.basic = bit_AVX | bit_F16C | bit_FMA | bit_MOVBE | bit_OSXSAVE,
     .extended = bit_AVX2 | bit_BMI | bit_BMI2,
     .amd = bit_LZCNT,
     .saved = kSavesAvx},
    {.extended = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL,
     .saved = kSavesAvx512},
    {.extendedC = bit_AVX512VNNI, .extended1 = kAvx512Bf16},
    {.extendedD = kAmxTile | kAmxBf16 | kAmxInt8, .saved = kSavesTiles},
};
static_assert(std::size(kLevels) == kProcessorLevelCount);

/// Returns the number of the first level that the processor at hand lacks. Asks the processor
/// itself, once: __builtin_cpu_supports() reads a table of the libgcc that a program is linked
/// with, and GCC 11's knows no levels.
int firstMissingLevel() {
  static const int missing = [] {
    const Registers basic = cpuid(1), extended = cpuid(7), extended1 = cpuid(7, 1),
                    amd = cpuid(0x80000001);
    const uint64_t saved = extendedControl();
    const auto *level =
        std::find_if(std::begin(kLevels), std::end(kLevels), [&](const Level &wanted) {
          auto lacks = [](uint64_t bits, uint64_t all) { return (bits & all) != all; };
          return lacks(basic.ecx, wanted.basic) || lacks(extended.ebx, wanted.extended) ||
                 lacks(extended.ecx, wanted.extendedC) || lacks(extended.edx, wanted.extendedD) ||
                 lacks(extended1.eax, wanted.extended1) || lacks(amd.ecx, wanted.amd) ||
                 lacks(saved, wanted.saved);
        });
    return int(level - std::begin(kLevels));
  }();
  return missing;
}

} // namespace

bool hostCovers(std::string_view processor, std::string &reason) {
  const int asked = processorLevelOf(processor);
  const bool isCovered = asked == kProcessorLevelCount || asked < firstMissingLevel();
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
