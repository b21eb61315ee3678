//===-- ImageFile.h - a compiled kernel as one file
//-------------------------------------------------===//
//   magic "SECTILE\n" | format version | size of the rest | checksum of the rest | the rest
//
// The rest is a list of fields, each a number of fixed width or bytes preceded by their length: the
// build id of the compiler, both keys, the host's fingerprint, what the compile depended on, the
// image. Little-endian, as every host that can run the code.
//
// Reading trusts nothing: what is not exactly a file that this build wrote is refused, with the
// reason.
#pragma once

#include "backends/KernelImage.h"
#include "jit/CompilerInterface.h"

#include <string>
#include <string_view>
#include <vector>

namespace sectile::jit {

struct CacheEntry {
  std::string buildId;
  /// What it was made from: the name of its file. Empty when only the second is known.
  std::string sourceKey;
  /// Of the typed IR and all that compiling it depends on.
  std::string irKey;
  std::string hostFingerprint;
  std::vector<RecordedDependency> dependencies;
  backends::KernelImage image;
};

std::string writeImageFile(const CacheEntry &entry);

/// Why a file is not a cache entry of this build; "" when it is, and `entry` is filled.
std::string readImageFile(std::string_view file, CacheEntry &entry);

} // namespace sectile::jit
