//===-- Branch.h - code of one thread that runs where a condition holds -----------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

#include <utility>

namespace sectile::backends {

/// Runs `body` where the condition (i1) is true, and leaves the builder behind that, in a new
/// block, where it may stand in front of a terminator. Returns the blocks before and at the end of
/// the body, for phis.
std::pair<llvm::BasicBlock *, llvm::BasicBlock *> emitWhere(llvm::IRBuilderBase &builder,
                                                            llvm::Value *condition,
                                                            llvm::function_ref<void()> body,
                                                            llvm::MDNode *weights = nullptr);

/// The same where the condition hardly ever holds.
std::pair<llvm::BasicBlock *, llvm::BasicBlock *>
emitUnlikely(llvm::IRBuilderBase &builder, llvm::Value *condition, llvm::function_ref<void()> body);

} // namespace sectile::backends
