//===-- GuardedCodegen.h - LLVM passes and code generation that cannot end the process --------===//
//   std::string error;
//   if (!runGuarded(module, error, [&] { passes.run(module); })) ... error says why ...
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"

#include <string>

namespace sectile::backends {

/// False with `error` set when LLVM reported an error of the module's context, or crashed.
bool runGuarded(llvm::Module &module, std::string &error, llvm::function_ref<void()> action);

} // namespace sectile::backends
