//===-- Reproducer.h - one file to attach to a report of a compiler failure -------------------===//
// The tile IR the failing step started from, under a header that says what failed, of which build,
// with which options, and the command that fails again. `sectile compile FILE` reads it as it is.
#pragma once

#include "jit/CompilerInterface.h"

#include "llvm/ADT/StringRef.h"

namespace sectile::jit {

struct CompilerFailure {
  std::string step; // "optimize"
  std::string reason;
  std::string tileText; // empty when the front end failed
};

/// The path of the file written, or "" with `problem` set. `folder` empty: the system's temporary
/// one.
std::string writeReproducer(const CompileRequest &request, const CompilerFailure &failure,
                            const std::string &buildId, const std::string &folder,
                            std::string &problem);

/// `options` as written in a reproducer's header line ("// OPTIONS: ..."), and back.
std::string spellOptions(const backends::CompileOptions &options);
void readOptions(llvm::StringRef tileText, backends::CompileOptions &options);

} // namespace sectile::jit
