#include "backends/cpu/HostProcessor.h"

#include <cstdint>
#include <cstdio>
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

bool hostCovers(std::string_view processor, std::string &reason) {
  __builtin_cpu_init();
  bool covered = true;
  if (processor == "x86-64-v2")
    covered = __builtin_cpu_supports("x86-64-v2");
  else if (processor == "x86-64-v3")
    covered = __builtin_cpu_supports("x86-64-v3");
  else if (processor == "x86-64-v4")
    covered = __builtin_cpu_supports("x86-64-v4");
  if (!covered)
    reason = "this processor is not an " + std::string(processor);
  return covered;
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
