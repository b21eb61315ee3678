#include "backends/cpu/HostFeatures.h"

#include "backends/cpu/TilePermission.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <vector>

namespace sectile::cpu {

using backends::kProcessorLevelCount, backends::kProcessorLevels, backends::processorLevelOf,
    backends::ProcessorLevel;

HostFeatures HostFeatures::detect() {
  const llvm::StringMap<bool, llvm::MallocAllocator> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef name) { return features.lookup(name); };
  HostFeatures host;
  host.sse41 = has("sse4.1");
  host.avx = has("avx");
  host.avx2 = has("avx2");
  host.fma = has("fma");
  host.f16c = has("f16c");
  // Every AVX-512 processor but the Xeon Phi has these five; code below treats them as one.
  host.avx512 = has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") &&
                has("avx512vl") && host.fma;
  host.avx512Bf16 = host.avx512 && has("avx512bf16");
  host.avx512Vnni = host.avx512 && has("avx512vnni");
  bool hasTiles = host.avx512Bf16 && host.avx512Vnni && has("amx-tile") && mayUseTileRegisters();
  host.amxBf16 = hasTiles && has("amx-bf16");
  host.amxInt8 = hasTiles && has("amx-int8");
  host.vectorBits = host.avx512 ? 512 : host.avx2 ? 256 : 128;
  host.name = host.cpuName = llvm::sys::getHostCPUName().str();

  // A virtual machine may hide what its processor's name promises, so each feature is listed. The
  // list is in order of name, because the string is part of cache keys.
  std::vector<std::string> parts;
  for (const auto &feature : features)
    parts.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(parts.begin(), parts.end(),
            [](const std::string &a, const std::string &b) { return a.substr(1) < b.substr(1); });
  for (const std::string &part : parts)
    host.featureString += (host.featureString.empty() ? "" : ",") + part;
  return host;
}

HostFeatures HostFeatures::level(ProcessorLevel level) {
  HostFeatures host;
  host.sse41 = level >= ProcessorLevel::V2;
  host.avx = host.avx2 = host.fma = host.f16c = level >= ProcessorLevel::V3;
  host.avx512 = level >= ProcessorLevel::V4;
  host.avx512Bf16 = host.avx512Vnni = level >= ProcessorLevel::NarrowDots;
  host.amxBf16 = host.amxInt8 = level >= ProcessorLevel::TileDots;
  host.vectorBits = host.avx512 ? 512 : host.avx2 ? 256 : 128;
  host.name = kProcessorLevels[int(level)];
  // LLVM knows the psABI's levels by name.
  host.cpuName = kProcessorLevels[int(std::min(level, ProcessorLevel::V4))];
  if (host.avx512Bf16)
    host.featureString = "+avx512bf16,+avx512vnni";
  if (host.amxBf16)
    host.featureString += ",+amx-tile,+amx-bf16,+amx-int8";
  return host;
}

std::optional<HostFeatures> HostFeatures::named(llvm::StringRef name) {
  if (name.empty()) {
    // A virtual machine traps every CPUID, and a process does not change machines.
    static const HostFeatures host = detect();
    return host;
  }
  const int number = processorLevelOf(name);
  if (number == kProcessorLevelCount)
    return std::nullopt;
  return level(ProcessorLevel(number));
}

bool HostFeatures::covers(const HostFeatures &other) const {
  return sse41 >= other.sse41 && avx >= other.avx && avx2 >= other.avx2 && fma >= other.fma &&
         f16c >= other.f16c && avx512 >= other.avx512 && avx512Bf16 >= other.avx512Bf16 &&
         avx512Vnni >= other.avx512Vnni && amxBf16 >= other.amxBf16 && amxInt8 >= other.amxInt8;
}

} // namespace sectile::cpu
