//===-- RunSafely.h - runs code that may crash, and lives on ----------------------------------===//
// LLVM ends the process on what it cannot do ("Cannot select ...") and may have bugs of its own.
// Here such an end becomes a sentence:
//
//   std::string failure = runSafely([&] { generateCode(); });      // "" when it returned
//
// A fatal error of LLVM, an abort and a bad memory access are caught, on the calling thread (the
// function may call back into Python, which minds its threads). Objects on the stack of a function
// that crashed are not destroyed: what it owned is leaked, never reused. Signal handlers are those
// of the process again once no call is under way.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace sectile::backends {

/// What ended `function`; empty when it returned.
std::string runSafely(llvm::function_ref<void()> function);

} // namespace sectile::backends
