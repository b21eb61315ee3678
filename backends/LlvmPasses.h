//===-- LlvmPasses.h - LLVM's passes and code generators, as back ends run them ---------------===//
//   llvm::FunctionPassManager passes;
//   addCleanup(passes);
//   runOnFunctions(module, *machine, passes);                         // within runGuarded
//   if (!generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile, object, error)) ...
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CodeGen.h"

#include <string>

namespace llvm {
class TargetMachine;
}

namespace sectile::backends {

/// What emitted code needs, as tile IR is optimised already: values out of memory, common
/// subexpressions, peepholes, what is the same in every round out of loops, fewer blocks.
void addCleanup(llvm::FunctionPassManager &passes);

/// On every function with a body. The passes know the machine: its costs, and what is convergent.
void runOnFunctions(llvm::Module &module, llvm::TargetMachine &machine,
                    llvm::FunctionPassManager &passes);

/// Adds a pass of our own to a function's, where `name` is its name.
using OwnPasses = llvm::function_ref<bool(llvm::StringRef name, llvm::FunctionPassManager &passes)>;

/// Passes as `opt -passes` takes them, the machine's own and `own` included; a name that is none
/// ends the process.
void runPasses(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef names,
               OwnPasses own);

/// Writes the module as code of the machine, guarded: false with `error` set where it cannot.
/// Consumes the module's code. `leftOut` names optional passes of the code generator, by their
/// descriptions ("Loop Strength Reduction").
bool generateCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type,
                  llvm::SmallVectorImpl<char> &code, std::string &error,
                  llvm::ArrayRef<llvm::StringRef> leftOut = {});

} // namespace sectile::backends
