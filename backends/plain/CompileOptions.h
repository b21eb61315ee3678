//===-- CompileOptions.h - what a user may ask of a compile -----------------------------------===//
// Plain C++. Every field is part of the cache key. Names are those of Triton's launch keywords.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sectile::backends {

struct CompileOptions {
  std::string backend = "cpu";
  /// Empty: the machine at hand. Else a CPU name LLVM knows, or "sm_90a", "gfx942".
  std::string arch;
  /// PTX: the newest version that may be emitted, 85 for 8.5; 0: whatever the architecture asks
  /// for.
  int32_t ptxVersion = 0;
  int32_t warpCount = 4;    // num_warps
  int32_t stageCount = 3;   // num_stages
  int32_t ctaCount = 1;     // num_ctas
  int32_t maxRegisters = 0; // maxnreg; 0: as many as needed
  bool enableFpFusion = true;
  /// All programs run at once (launch_cooperative_grid); the launch may begin before the one before
  /// it is done (launch_pdl). GPUs only.
  bool cooperativeGrid = false, dependentLaunch = false;
  /// device_assert is active; integer overflow is checked.
  bool debug = false;
  bool sanitizeOverflow = false;
  /// Every load and store is checked against the argument arrays (SECTILE_CHECK=bounds).
  bool checkBounds = false;
  /// Any two arguments may overlap (see KernelImage::overlapHazards). Set by the runtime.
  bool argumentsOverlap = false;
  /// For tests: makes code generation fail in this way ("cannot-select", "missing-libcall",
  /// "invalid-code").
  std::string injectFailure;

  /// All fields as text, by the names of launch keywords where there is one.
  std::vector<std::pair<const char *, std::string>> fields() const;
  /// All fields, for keys.
  std::string fingerprint() const;
};

} // namespace sectile::backends
