//===-- ImageFile.h - a compiled kernel as one file -------------------------------------------===//
//   magic "SECTILE\n" | format version | size of the rest | checksum of the rest | the rest
//
// The rest is a list of fields, each a number of fixed width or bytes preceded by their length: the
// build id of the compiler, both keys, the host's fingerprint, what its evaluation read, how it
// was made, the image. Little-endian, as every host that can run the code.
//
// Reading trusts nothing: what is not exactly a file that this build wrote is refused, with the
// reason. A file of another format version whose checksum is right is not damaged, only of no use
// here.
#pragma once

#include "backends/plain/KernelImage.h"
#include "jit/CompilerInterface.h"
#include "jit/cache/Provenance.h"
#include "jit/cache/RecordedRead.h"

#include <string>
#include <string_view>
#include <vector>

namespace sectile::jit {

struct CacheEntry {
  std::string buildId;
  /// What it was made from: the name of its file. Empty when only the second is known.
  std::string sourceKey;
  /// The key of the typed IR and of all that compiling it depends on.
  std::string irKey;
  std::string hostFingerprint;
  /// What evaluation read beyond the digest of the source, in order; read again on loading.
  std::vector<RecordedRead> reads;
  /// The files of the functions that it was made from (KernelRequest::sourceFiles). The key does
  /// not hold them: a request from other files gets the entry with its places exchanged (relocate).
  std::vector<std::string> sourceFiles;
  Provenance provenance;
  backends::KernelImage image;
};

std::string writeImageFile(const CacheEntry &entry);

/// Messages of traps, and remarks, name the files of `now` where they named those of
/// entry.sourceFiles.
void relocate(CacheEntry &entry, const std::vector<std::string> &now);
/// Gives remarks of code from equal IR the places of this IR's operations (CompileResult::places).
/// Returns false when they have them already.
bool relocate(std::vector<lang::Remark> &remarks, const std::vector<lang::Remark> &places);

/// Why a file is not a cache entry of this build; "" when it is, and `entry` is filled.
inline constexpr const char *kAnotherFormat = "another format version";
std::string readImageFile(std::string_view file, CacheEntry &entry);

inline constexpr size_t kImageHeaderBytes = 32;
/// Whether a file of `size` bytes that begins with `head` (kImageHeaderBytes of it) may be one.
bool mayBeImageFile(std::string_view head, uint64_t size);

} // namespace sectile::jit
