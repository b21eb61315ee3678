//===-- LinkElf.h - an ELF object in memory to a linked one in memory --------------------------===//
// LLD, in this process: no linker binary, no C compiler. Takes 0.5 ms for a small kernel.
//
//   llvm::Expected<std::string> image = linkElf(objectBytes, {"-shared", "--no-undefined"});
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sectile::backends {

/// `options` are ld.lld's; `versionScript`, where not empty, says which symbols are exported.
/// Thread-safe; LLD is not reentrant, so calls take turns. The error carries LLD's own words: a
/// symbol that code generation left undefined (a missing libcall) is one.
llvm::Expected<std::string> linkElf(llvm::StringRef object, llvm::ArrayRef<std::string> options,
                                    llvm::StringRef versionScript = "");

} // namespace sectile::backends
