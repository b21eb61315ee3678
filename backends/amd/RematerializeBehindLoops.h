//===-- RematerializeBehindLoops.h - registers that wait for the end of a loop ----------------===//
// What a thread's place alone makes, a few instructions each, is computed anew behind a loop of
// matrix instructions instead of waiting in registers while it runs. LLVM does the opposite: it
// computes what the addresses of loads and of stores have in common once, in front of the loop.
#pragma once

#include "llvm/IR/PassManager.h"

namespace sectile::amd {

/// Runs last of the passes over LLVM's IR: those that look for common subexpressions would undo it.
class RematerializeBehindLoops : public llvm::PassInfoMixin<RematerializeBehindLoops> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace sectile::amd
