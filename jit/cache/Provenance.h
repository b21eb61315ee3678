//===-- Provenance.h - how a compiled kernel was made -----------------------------------------===//
// Part of its cache entry: for people (`sectile cache ls`), and for tools that choose what to keep.
// Nothing is decided by it when a kernel is looked up.
#pragma once

#include <cstdint>
#include <string>

namespace sectile::jit {

struct Provenance {
  std::string sourceDigest;
  /// "x: *fp32:16, BLOCK = 64", and what was asked for: "num_warps=8".
  std::string variant, options;
  /// The version of Sectile.
  std::string version;
  /// Seconds since 1970, UTC.
  int64_t createdAt = 0;
  double compileSeconds = 0;
  /// The time of one launch as a tuner measured it; 0 when none did.
  double measuredSeconds = 0;
};

} // namespace sectile::jit
