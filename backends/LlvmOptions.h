//===-- LlvmOptions.h - LLVM's options, which are variables of the process -------------------===//
//   withLlvmFlag("nvptx-short-ptr", [&] { machine = target->createTargetMachine(...); });
//
// LLD sets all of LLVM's options back to their defaults as it starts (readConfigs), and every
// compile for a CPU or an AMD GPU ends with it: a flag set once does not stay set. What can be said
// in another way is not said by an option (passes left out: generateCode in LlvmPasses.h).
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <mutex>

namespace sectile::backends {

/// Held while options change: by the linker, and by `withLlvmFlag`.
std::mutex &llvmOptionsMutex();

/// Runs `action` with the option `name` of LLVM set; no linker sets it back meanwhile. Asserts
/// that there is such an option.
void withLlvmFlag(llvm::StringRef name, llvm::function_ref<void()> action);

} // namespace sectile::backends
