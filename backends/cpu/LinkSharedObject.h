//===-- LinkSharedObject.h - an ELF object in memory to a shared object in memory -------------===//
// LLD, in this process: no linker binary, no C compiler. The result exports the entry point and
// has no undefined symbol and no needed library, so it can be loaded anywhere; names of its local
// functions are kept for gdb and perf. Takes 0.5 ms for a small kernel.
//
//   llvm::Expected<std::string> image = linkSharedObject(objectBytes, "softmax");
#pragma once

#include "backends/cpu/HostAbi.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sectile::cpu {

/// Thread-safe; LLD is not reentrant, so calls take turns. The error carries LLD's own words: a
/// symbol that code generation left undefined (a missing libcall) is one.
llvm::Expected<std::string> linkSharedObject(llvm::StringRef object, llvm::StringRef soName,
                                             llvm::StringRef entryPoint = kEntryPoint);

} // namespace sectile::cpu
