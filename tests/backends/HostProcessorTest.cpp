// The runtime's view of the processor beside LLVM's, which also reads CPUID.
#include "backends/cpu/HostProcessor.h"

#include "llvm/TargetParser/Host.h"

#include <gtest/gtest.h>

namespace {

TEST(HostProcessor, LevelsAreThoseOfTheFeaturesThatLlvmFinds) {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  bool isExpected = true;
  std::string reason;
  const std::pair<const char *, std::vector<const char *>> levels[] = {
      {"x86-64-v2", {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"}},
      {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}},
      {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"x86-64-v4-bf16", {"avx512bf16", "avx512vnni"}},
      {"x86-64-v4-amx", {"amx-tile", "amx-bf16", "amx-int8"}},
  };
  for (const auto &[level, names] : levels) {
    for (const char *name : names)
      isExpected &= features.lookup(name);
    EXPECT_EQ(sectile::cpu::hostCovers(level, reason), isExpected) << level;
  }
}

TEST(HostProcessor, OtherNamesAreCoveredAndLackingLevelsAreNamed) {
  std::string reason;
  EXPECT_TRUE(sectile::cpu::hostCovers("x86-64", reason));
  EXPECT_TRUE(sectile::cpu::hostCovers("znver4", reason));
  EXPECT_EQ(reason, "");
  if (!sectile::cpu::hostCovers("x86-64-v4", reason))
    EXPECT_EQ(reason, "this processor is not an x86-64-v4");
}

} // namespace
