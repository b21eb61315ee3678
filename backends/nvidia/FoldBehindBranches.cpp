#include "backends/nvidia/FoldBehindBranches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace sectile::nvidia {

/// What equals a constant where `condition` is `truth`.
static void collectEqualities(Value *condition, bool truth,
                              SmallVectorImpl<std::pair<Value *, Constant *>> &found) {
  using namespace PatternMatch;
  Value *lhs = nullptr, *rhs = nullptr;
  if (truth ? match(condition, m_LogicalAnd(m_Value(lhs), m_Value(rhs)))
            : match(condition, m_LogicalOr(m_Value(lhs), m_Value(rhs)))) {
    collectEqualities(lhs, truth, found);
    collectEqualities(rhs, truth, found);
    return;
  }
  auto *compare = dyn_cast<ICmpInst>(condition);
  if (!compare || compare->getPredicate() != (truth ? CmpInst::ICMP_EQ : CmpInst::ICMP_NE))
    return;
  auto *constant = dyn_cast<ConstantInt>(compare->getOperand(1));
  if (constant && isa<Instruction>(compare->getOperand(0)))
    found.push_back({compare->getOperand(0), constant});
}

static void foldConstants(Function &function) {
  const DataLayout &layout = function.getDataLayout();
  for (bool changed = true; changed;) {
    changed = false;
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      Constant *folded = ConstantFoldInstruction(&instruction, layout);
      if (!folded || instruction.use_empty())
        continue;
      instruction.replaceAllUsesWith(folded);
      changed = true;
      if (isInstructionTriviallyDead(&instruction))
        instruction.eraseFromParent();
    }
  }
}

void foldBehindBranches(Module &module) {
  for (Function &function : module) {
    std::optional<DominatorTree> dominators; // of the functions that have such a branch
    bool changed = false;
    for (BasicBlock &block : function) {
      auto *branch = dyn_cast_or_null<BranchInst>(block.getTerminator());
      if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
        continue;
      for (bool truth : {true, false}) {
        SmallVector<std::pair<Value *, Constant *>, 2> known;
        collectEqualities(branch->getCondition(), truth, known);
        if (known.empty())
          continue;
        if (!dominators)
          dominators.emplace(function);
        BasicBlockEdge edge(&block, branch->getSuccessor(truth ? 0 : 1));
        for (auto [value, constant] : known)
          changed |= replaceDominatedUsesWith(value, constant, *dominators, edge) > 0;
      }
    }
    if (changed)
      foldConstants(function);
  }
}

} // namespace sectile::nvidia
