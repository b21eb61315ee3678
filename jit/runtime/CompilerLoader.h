//===-- CompilerLoader.h - brings in libsectile-compiler.so -----------------------------------===//
// The 100 MB of LLVM are loaded when something must be compiled for the first time, and stay.
// Looked for in SECTILE_COMPILER_LIBRARY, else beside libsectile.so (or the program that contains
// the runtime).
#pragma once

#include "jit/CompilerInterface.h"
#include "jit/Status.h"

#include <memory>
#include <string>

namespace sectile::jit {

/// Null with `status` set when the library is missing, cannot be loaded or is of another build.
std::shared_ptr<Compiler> loadCompiler(const std::string &chosenLibrary, Status &status);

/// Where it is looked for when none is chosen.
std::string defaultCompilerLibrary();

} // namespace sectile::jit
