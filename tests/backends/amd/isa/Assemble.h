//===-- Assemble.h - code for AMD GPUs from text, by LLVM in this process ---------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace sectile::amdisa {

/// A relocatable object of assembly as llvm-mc reads it.
llvm::Expected<std::string> assemble(llvm::StringRef text, llvm::StringRef chip);
/// The machine code of a relocatable object.
llvm::Expected<std::vector<uint8_t>> machineCode(llvm::StringRef object);
/// A relocatable object of LLVM IR, optimised at O2. The module says neither triple nor data
/// layout.
llvm::Expected<std::string> compile(llvm::StringRef ir, llvm::StringRef chip);
/// The assembly of the same.
llvm::Expected<std::string> compileToAssembly(llvm::StringRef ir, llvm::StringRef chip);
/// A code object of a relocatable object with one kernel.
llvm::Expected<std::string> link(llvm::StringRef object, llvm::StringRef kernel);

} // namespace sectile::amdisa
