//===-- LaneFunctions.h - the parts of vector math that need control flow ---------------------===//
// A vector function that is exact for ordinary arguments repairs its few extraordinary lanes one by
// one, behind a branch. As that takes blocks, such functions become internal functions of the
// module.
#pragma once

#include "backends/common/math/LaneArithmetic.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace sectile::backends {

/// "sectile.<stem>.v16f32".
std::string laneFunctionName(llvm::StringRef stem, llvm::Type *type);

/// A new internal function with an empty entry block, compiled for the same CPU as `caller`.
llvm::Function *createLaneFunction(const llvm::Function &caller, llvm::StringRef name,
                                   llvm::Type *result, llvm::ArrayRef<llvm::Type *> parameters);

/// Calls the internal function of that stem and the lanes' type, which is made of `body` the first
/// time. All arguments and the result have the lanes' type.
llvm::Value *callLaneFunction(
    const Lanes &caller, llvm::StringRef stem, llvm::ArrayRef<llvm::Value *> arguments,
    llvm::function_ref<llvm::Value *(const Lanes &, llvm::ArrayRef<llvm::Value *>)> body);

/// For each lane where `condition` holds, replaces the elements of `results` by exact(elements of
/// `arguments`). Leaves the builder in a new block.
llvm::SmallVector<llvm::Value *> repairLanes(
    llvm::IRBuilderBase &builder, llvm::Value *condition, llvm::ArrayRef<llvm::Value *> arguments,
    llvm::ArrayRef<llvm::Value *> results,
    llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::ArrayRef<llvm::Value *>)> exact);

} // namespace sectile::backends
