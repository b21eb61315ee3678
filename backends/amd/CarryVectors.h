//===-- CarryVectors.h - a matrix instruction's sums in one phi -------------------------------===//
// The emitter has a value for each register of a thread, so a loop carries the sums of a matrix
// instruction one by one, taken from its vector and put into the next one. LLVM's code generator
// spends a good part of its time on such phis. Where all elements of a vector come to the phis of a
// block, one phi of the vector takes their place.
#pragma once

#include "llvm/IR/PassManager.h"

namespace sectile::amd {

/// Leaves elements that are taken from the phi and put together again to the passes that follow.
class CarryVectors : public llvm::PassInfoMixin<CarryVectors> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace sectile::amd
