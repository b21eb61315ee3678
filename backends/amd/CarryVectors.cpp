#include "backends/amd/CarryVectors.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"

namespace sectile::amd {
namespace {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

/// The phis that take the elements of a vector, by number; null: none takes it.
using Elements = llvm::SmallVector<PHINode *, 16>;

/// By the vector and the block they come from.
llvm::MapVector<std::pair<Value *, BasicBlock *>, Elements> elementsIn(BasicBlock &block) {
  llvm::MapVector<std::pair<Value *, BasicBlock *>, Elements> found;
  for (PHINode &phi : block.phis())
    for (unsigned edge = 0; edge < phi.getNumIncomingValues(); ++edge) {
      auto *element = llvm::dyn_cast<llvm::ExtractElementInst>(phi.getIncomingValue(edge));
      auto *number =
          element ? llvm::dyn_cast<llvm::ConstantInt>(element->getIndexOperand()) : nullptr;
      auto *type = element ? llvm::dyn_cast<llvm::FixedVectorType>(element->getVectorOperandType())
                           : nullptr;
      if (!number || !type || number->getZExtValue() >= type->getNumElements())
        continue;
      Elements &elements = found[{element->getVectorOperand(), phi.getIncomingBlock(edge)}];
      elements.resize(type->getNumElements());
      elements[number->getZExtValue()] = &phi;
    }
  return found;
}

/// The vector of what comes to the phis over one edge.
Value *comingTogether(const Elements &phis, BasicBlock *from, llvm::Type *type) {
  llvm::IRBuilder<> builder(from->getTerminator());
  Value *whole = llvm::PoisonValue::get(type);
  for (auto [number, phi] : llvm::enumerate(phis))
    whole =
        builder.CreateInsertElement(whole, phi->getIncomingValueForBlock(from), uint64_t(number));
  return whole;
}

/// Puts one phi in the place of those of all elements of `vector`, which comes from `source`.
void carryTogether(const Elements &phis, Value *vector, BasicBlock *source) {
  PHINode *first = phis.front();
  BasicBlock *block = first->getParent();
  llvm::IRBuilder<> builder(first);
  PHINode *carried = builder.CreatePHI(vector->getType(), first->getNumIncomingValues());
  llvm::SmallDenseMap<BasicBlock *, Value *, 4> coming{{source, vector}};
  for (BasicBlock *from : first->blocks()) {
    Value *&whole = coming[from];
    if (!whole)
      whole = comingTogether(phis, from, vector->getType());
    carried->addIncoming(whole, from);
  }
  builder.SetInsertPoint(block, block->getFirstInsertionPt());
  for (auto [number, phi] : llvm::enumerate(phis)) {
    phi->replaceAllUsesWith(builder.CreateExtractElement(carried, uint64_t(number)));
    phi->eraseFromParent();
  }
}

} // namespace

llvm::PreservedAnalyses CarryVectors::run(llvm::Function &function,
                                          llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  for (BasicBlock &block : function) {
    llvm::SmallPtrSet<PHINode *, 16> done;
    for (auto &[place, phis] : elementsIn(block)) {
      if (llvm::any_of(phis, [&](PHINode *phi) { return !phi || done.contains(phi); }))
        continue;
      if (llvm::SmallPtrSet<PHINode *, 16>(phis.begin(), phis.end()).size() != phis.size())
        continue;
      done.insert(phis.begin(), phis.end());
      carryTogether(phis, place.first, place.second);
      isChanged = true;
    }
  }
  if (!isChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

} // namespace sectile::amd
