//===-- FoldBehindBranches.h - a way round a fault of ptxas -----------------------------------===//
// Behind a branch that is taken where a register has one value, expressions of it are constants:
//
//   @%p bra DONE;            %p: the thread's number is not 0
//   not.b32 %r2, %r1;        %r1: the thread's number, 0 here
//   and.b32 %r3, %r2, 15;    15
//
// ptxas (13.0, for sm_90) knows so, too, and makes 0 of `~x & 15` there. Where LLVM has put in the
// constants nothing is left for it to fold. LLVM's own passes that do this cost more than the rest
// of the pipeline for one kernel.
//
// Runs on optimised code.
#pragma once

#include "llvm/IR/Module.h"

namespace sectile::nvidia {

void foldBehindBranches(llvm::Module &module);

} // namespace sectile::nvidia
