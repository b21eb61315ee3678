//===-- NvidiaArch.h - the architectures of NVIDIA GPUs ---------------------------------------===//
//   std::optional<NvidiaArch> arch = NvidiaArch::parse("sm_90a");
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sectile::nvidia {

struct NvidiaArch {
  std::string name = "sm_90a";
  int capability = 90;
  /// Shared memory a block may have, in bytes (CUDA C++ Programming Guide, technical
  /// specifications per compute capability).
  int64_t maxSharedBytes = 227 << 10;
  /// The PTX version code is written in: the least that knows the architecture.
  int ptxVersion = 80;

  /// A launch may begin before the one before it in the stream is done.
  bool hasDependentLaunch() const { return capability >= 90; }

  /// A warp may elect one of its lanes.
  bool hasElection() const { return capability >= 90; }

  /// A program of Triton's may have several blocks.
  bool hasClusters() const { return capability >= 90; }

  /// "sm_80", "sm_90a"; "sm80", as Triton spells it; or "80", "90" as in the target "cuda:90",
  /// which stands for all its instructions. Nothing for an architecture that is not known.
  static std::optional<NvidiaArch> parse(llvm::StringRef text);
};

} // namespace sectile::nvidia
