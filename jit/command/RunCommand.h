//===-- RunCommand.h - the command line `sectile` ---------------------------------------------===//
//   runCommand({"cache", "ls"})
//
// The door of both command lines: it runs what libsectile.so can do, loads the compiler library for
// what that can, and says in a sentence where to find the rest.
#pragma once

#include "jit/Api.h"

#include <string>
#include <vector>

namespace sectile::jit {

/// Returns the exit status; 2 for a misuse.
SECTILE_API int runCommand(const std::vector<std::string> &words);

} // namespace sectile::jit
