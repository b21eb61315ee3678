//===-- HostFeatures.h - what the CPU that runs a kernel can do -------------------------------===//
// The facts about a CPU that code emission asks for, and the names LLVM's code generator wants for
// the same CPU. The two always describe one machine: code emitted for these facts and compiled with
// `cpuName` and `featureString` needs no library function.
//
//   HostFeatures host = HostFeatures::detect();
//   unsigned lanes = host.laneCount(32); // f32 lanes of one native vector: 16 on AVX-512
#pragma once

#include "backends/common/math/ArithmeticFeatures.h"
#include "backends/plain/ProcessorLevels.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sectile::cpu {

struct HostFeatures : backends::ArithmeticFeatures {
  HostFeatures() { slowSubnormals = true; }

  bool avx = false;
  bool avx2 = false;
  bool avx512Bf16 = false;
  bool avx512Vnni = false;
  /// Products in tile registers, and the system lets this process use them.
  bool amxBf16 = false;
  bool amxInt8 = false;
  /// The processor's own name, or that of its level.
  std::string name = "x86-64";
  /// For llvm::TargetMachine: "znver5" and "+avx2,-avx512f,...".
  std::string cpuName = "x86-64";
  std::string featureString;

  /// The machine at hand.
  static HostFeatures detect();
  /// What every processor of a level has.
  static HostFeatures level(backends::ProcessorLevel level);
  /// From a name a user gave: "x86-64-v3"; "" is the machine at hand. Nothing for an unknown name.
  static std::optional<HostFeatures> named(llvm::StringRef name);

  /// True when code for `other` runs here.
  bool covers(const HostFeatures &other) const;
  unsigned vectorRegisterCount() const { return avx512 ? 32 : 16; }
};

} // namespace sectile::cpu
