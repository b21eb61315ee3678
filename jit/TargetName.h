//===-- TargetName.h - what users call a target -----------------------------------------------===//
//   TargetName("cuda:90").arch      // "sm_90a"
//
// "cpu", "cpu:x86-64-v3", "cuda", "cuda:90" (the compute capability), "cuda:sm_90a", "hip:gfx942".
// Each user of TargetName decides which of them it accepts.
#pragma once

#include <algorithm>
#include <string>

namespace sectile::jit {

struct TargetName {
  std::string backend, arch;

  explicit TargetName(const std::string &name) {
    size_t colon = std::min(name.find(':'), name.size());
    backend = name.substr(0, colon);
    arch = colon < name.size() ? name.substr(colon + 1) : "";
    // From Hopper on with what only that very architecture has.
    if (backend == "cuda" && !arch.empty() &&
        arch.find_first_not_of("0123456789") == std::string::npos)
      arch = "sm_" + arch + (arch.size() > 2 || arch >= "90" ? "a" : "");
  }
};

} // namespace sectile::jit
