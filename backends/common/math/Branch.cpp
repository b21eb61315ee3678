#include "backends/common/math/Branch.h"

#include "llvm/IR/MDBuilder.h"

namespace sectile::backends {

std::pair<llvm::BasicBlock *, llvm::BasicBlock *> emitWhere(llvm::IRBuilderBase &b,
                                                            llvm::Value *condition,
                                                            llvm::function_ref<void()> body,
                                                            llvm::MDNode *weights) {
  llvm::BasicBlock *before = b.GetInsertBlock();
  llvm::Function *function = before->getParent();
  llvm::BasicBlock *after;
  if (b.GetInsertPoint() == before->end()) {
    after = llvm::BasicBlock::Create(b.getContext(), "off", function);
  } else {
    after = before->splitBasicBlock(b.GetInsertPoint(), "off");
    before->getTerminator()->eraseFromParent();
  }
  auto *then = llvm::BasicBlock::Create(b.getContext(), "on", function, after);
  b.SetInsertPoint(before);
  b.CreateCondBr(condition, then, after, weights);
  b.SetInsertPoint(then);
  body();
  llvm::BasicBlock *end = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after, after->begin());
  return {before, end};
}

std::pair<llvm::BasicBlock *, llvm::BasicBlock *>
emitUnlikely(llvm::IRBuilderBase &b, llvm::Value *condition, llvm::function_ref<void()> body) {
  return emitWhere(b, condition, body,
                   llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
}

} // namespace sectile::backends
