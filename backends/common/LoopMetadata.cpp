#include "backends/common/LoopMetadata.h"

#include "lang/tile/DiscardableAttributes.h"

#include "llvm/IR/Metadata.h"

namespace sectile::backends {

void markLoop(mlir::Operation *loop, llvm::Instruction &backEdge) {
  if (!loop->hasAttr(tile::kKeepInvariantsAttr))
    return;
  llvm::LLVMContext &context = backEdge.getContext();
  auto *keeps = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.licm.disable"));
  // A loop's metadata begins with itself, so that no two loops share theirs.
  llvm::MDNode *own = llvm::MDNode::getDistinct(context, {nullptr, keeps});
  own->replaceOperandWith(0, own);
  backEdge.setMetadata(llvm::LLVMContext::MD_loop, own);
}

} // namespace sectile::backends
