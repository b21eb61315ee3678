#include "backends/nvidia/ShiftBeforeUnpack.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace sectile::nvidia {

/// The 32-bit word whose upper half `bits` is; null if it is none.
static Value *wordOfUpperHalf(Value *bits) {
  using namespace PatternMatch;
  Value *word = nullptr;
  if (match(bits, m_Trunc(m_LShr(m_Value(word), m_SpecificInt(16)))) ||
      match(bits, m_ExtractElt(m_BitCast(m_Value(word)), m_SpecificInt(1))))
    return word->getType()->isIntegerTy(32) ? word : nullptr;
  return nullptr;
}

/// A load, or an element of one: no compiler knows what it brings.
static bool isLoaded(Value *word) {
  using namespace PatternMatch;
  Value *vector = nullptr;
  if (match(word, m_BitCast(m_Value(vector))) ||
      match(word, m_ExtractElt(m_Value(vector), m_Value())))
    return isLoaded(vector);
  return isa<LoadInst>(word);
}

void shiftBeforeUnpack(Module &module) {
  Type *word = Type::getInt32Ty(module.getContext());
  auto *shift = InlineAsm::get(FunctionType::get(word, {word}, false), "shr.u32 $0, $1, 16;",
                               "=r,r", /*hasSideEffects=*/false);
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *unpack = dyn_cast<IntrinsicInst>(&instruction);
      if (!unpack || unpack->getIntrinsicID() != Intrinsic::nvvm_e4m3x2_to_f16x2_rn)
        continue;
      Value *source = wordOfUpperHalf(unpack->getArgOperand(0));
      if (!source || isLoaded(source))
        continue;
      IRBuilder<> builder(unpack);
      CallInst *shifted = builder.CreateCall(shift, {source});
      shifted->setDoesNotAccessMemory();
      shifted->setDoesNotThrow();
      unpack->setArgOperand(0, builder.CreateTrunc(shifted, builder.getInt16Ty()));
    }
}

} // namespace sectile::nvidia
