#include "backends/amd/RematerializeBehindLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace sectile::amd {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

/// Instructions that one value may take behind the loop.
constexpr unsigned kMostForOne = 16;

bool isThreadIndex(const llvm::Value *value) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_workitem_id_x;
}

bool isMatrixInstruction(const Instruction &one) {
  auto *call = llvm::dyn_cast<llvm::CallInst>(&one);
  const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee && (callee->getName().starts_with("llvm.amdgcn.mfma") ||
                    callee->getName().starts_with("llvm.amdgcn.wmma"));
}

bool hasMatrixInstructions(const llvm::Loop &loop) {
  return llvm::any_of(loop.blocks(), [](const BasicBlock *block) {
    return llvm::any_of(*block, isMatrixInstruction);
  });
}

/// Whether the instruction takes a cycle or a few, and nothing but its operands.
bool isCheap(const Instruction &one) {
  switch (one.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::ZExt:
  case Instruction::SExt:
  case Instruction::Trunc:
  case Instruction::ICmp:
  case Instruction::Select:
    return !one.getType()->isVectorTy();
  default:
    return false;
  }
}

/// Where a value has to be for the use: a phi takes it at the end of the block it comes from.
BasicBlock *blockOf(const llvm::Use &use) {
  auto *user = llvm::cast<Instruction>(use.getUser());
  if (auto *phi = llvm::dyn_cast<llvm::PHINode>(user))
    return phi->getIncomingBlock(use);
  return user->getParent();
}

/// One loop, and what is used behind it. What the loop itself uses of that is no exception: its
/// body has addresses that LLVM computes in front of it, and then their parts are not live in it.
class Behind {
public:
  Behind(const llvm::Loop &loop, const llvm::UniformityInfo &uniformity, llvm::DominatorTree &tree)
      : loop(loop), uniformity(uniformity), tree(tree) {
    findBlocks();
  }

  bool rematerialize();

private:
  void findBlocks();
  bool isUsedBehind(const Instruction &one) const {
    return llvm::any_of(one.uses(),
                        [&](const llvm::Use &use) { return blocks.contains(blockOf(use)); });
  }
  /// Whether the value is at hand behind the loop without a vector register.
  bool isAtHand(const llvm::Value *value) const {
    auto *one = llvm::dyn_cast<Instruction>(value);
    return !one || !uniformity.isDivergent(one);
  }
  bool collect(Instruction *one, llvm::SetVector<Instruction *> &needed, unsigned depth = 0) const;

  const llvm::Loop &loop;
  const llvm::UniformityInfo &uniformity;
  llvm::DominatorTree &tree;
  /// Those that the loop's end leads to, in the same rounds of the loops around it: what dominates
  /// the loop dominates each of them that dominates others of them.
  llvm::SetVector<BasicBlock *> blocks;
};

void Behind::findBlocks() {
  llvm::SmallVector<BasicBlock *, 8> work;
  loop.getUniqueExitBlocks(work);
  llvm::SmallPtrSet<BasicBlock *, 4> heads;
  for (const llvm::Loop *around = &loop; around; around = around->getParentLoop())
    heads.insert(around->getHeader());
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    if (!heads.contains(block) && blocks.insert(block))
      llvm::append_range(work, llvm::successors(block));
  }
}

/// Adds what computes `one` from what is at hand, operands first; false where that is not cheap.
bool Behind::collect(Instruction *one, llvm::SetVector<Instruction *> &needed,
                     unsigned depth) const {
  if (needed.contains(one))
    return true;
  if (!isThreadIndex(one)) {
    if (!isCheap(*one) || depth == kMostForOne)
      return false;
    for (llvm::Value *operand : one->operands())
      if (!isAtHand(operand) && !collect(llvm::cast<Instruction>(operand), needed, depth + 1))
        return false;
  }
  needed.insert(one);
  return needed.size() <= kMostForOne;
}

bool Behind::rematerialize() {
  // In front of the loop, and used behind it; needed: with all that makes them, operands first.
  llvm::SetVector<Instruction *> waiting, needed;
  BasicBlock *place = nullptr;
  for (auto *node = tree.getNode(loop.getHeader())->getIDom(); node; node = node->getIDom())
    for (Instruction &one : *node->getBlock()) {
      // Truths are masks of lanes, in scalar registers.
      if (!uniformity.isDivergent(&one) || one.getType()->isIntegerTy(1) || !isUsedBehind(one))
        continue;
      llvm::SetVector<Instruction *> alone;
      if (!collect(&one, alone))
        continue;
      waiting.insert(&one);
      needed.insert_range(alone);
      for (const llvm::Use &use : one.uses())
        if (BasicBlock *block = blockOf(use); blocks.contains(block))
          place = place ? tree.findNearestCommonDominator(place, block) : block;
    }
  if (waiting.empty() || !blocks.contains(place))
    return false;

  llvm::IRBuilder<> builder(place, place->getFirstInsertionPt());
  llvm::DenseMap<llvm::Value *, Instruction *> anew;
  for (Instruction *one : needed) {
    if (isThreadIndex(one)) {
      // Empty text: else the code generator would find that both are the same.
      auto *type = llvm::FunctionType::get(one->getType(), {one->getType()}, false);
      llvm::CallInst *call =
          builder.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), one, one->getName());
      call->setDoesNotAccessMemory();
      anew[one] = call;
      continue;
    }
    Instruction *copy = one->clone();
    for (llvm::Use &operand : copy->operands())
      if (Instruction *made = anew.lookup(operand.get()))
        operand.set(made);
    anew[one] = builder.Insert(copy, one->getName());
  }
  for (Instruction *one : waiting)
    one->replaceUsesWithIf(anew.at(one), [&](const llvm::Use &use) {
      return blocks.contains(blockOf(use)) && use.getUser() != anew.at(one) &&
             tree.dominates(anew.at(one), use);
    });
  return true;
}

} // namespace

llvm::PreservedAnalyses RematerializeBehindLoops::run(llvm::Function &function,
                                                      llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool isChanged = false;
  for (llvm::Loop *loop : loops.getLoopsInReverseSiblingPreorder()) {
    if (!hasMatrixInstructions(*loop) ||
        llvm::any_of(loop->getSubLoops(),
                     [](const llvm::Loop *inner) { return hasMatrixInstructions(*inner); }))
      continue;
    isChanged |= Behind(*loop, analyses.getResult<llvm::UniformityInfoAnalysis>(function),
                        analyses.getResult<llvm::DominatorTreeAnalysis>(function))
                     .rematerialize();
  }
  if (!isChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

} // namespace sectile::amd
