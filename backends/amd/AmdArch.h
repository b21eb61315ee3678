//===-- AmdArch.h - the architectures of AMD GPUs ---------------------------------------------===//
//   std::optional<AmdArch> arch = AmdArch::parse("gfx942");
#pragma once

#include "lang/layout/SharedBanks.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sectile::amd {

/// The numbers of 8 bits that conversions have instructions for: none, those without infinities and
/// with one zero, or those of the Open Compute Project.
enum class Fp8Kinds : uint8_t { None, Fnuz, Ocp };

struct AmdArch {
  std::string name = "gfx942";
  /// Of a wave.
  unsigned laneCount = 64;
  /// LDS that a work-group may have, in bytes.
  int64_t sharedBytes = 64 << 10;
  /// 32-bit registers of a compute unit: of its SIMDs together, accumulation registers included.
  int64_t registerWords = 4 * 512 * 64;
  layout::SharedBanks banks = {};
  Fp8Kinds fp8 = Fp8Kinds::None;
  /// Products of halves keep subnormal operands and sums. WMMA's documents do not say, so that it
  /// is not counted on.
  bool keepsSubnormalHalves = false;
  /// f32 and pairs are added by instructions whatever memory it is, unless other devices take part.
  bool addsAnywhere = false;

  /// GFX9 with matrix cores (CDNA), as against GFX11 and GFX12 (RDNA).
  bool isCdna() const { return laneCount == 64; }
  /// 32-bit registers that a lane may have, accumulation registers included.
  int64_t threadWords() const { return isCdna() ? 512 : 256; }
  bool isGfx950() const { return name == "gfx950"; }
  /// Copies from global memory to LDS have 16 bytes of a lane (4 on gfx90a and gfx942, none on
  /// RDNA).
  bool hasWideCopies() const { return isGfx950(); }
  bool isGfx12() const { return name == "gfx1201"; }
  /// v_maximum_f32 or v_maximum3_f32, in which NaN wins, and their like.
  bool hasMaximum() const { return isGfx12() || isGfx950(); }

  /// "gfx90a", "gfx942", "gfx950", "gfx1100" or "gfx1201"; nothing for another one.
  static std::optional<AmdArch> parse(llvm::StringRef text);
  /// "gfx90a, gfx942, gfx950, gfx1100 or gfx1201".
  static std::string known();
};

} // namespace sectile::amd
