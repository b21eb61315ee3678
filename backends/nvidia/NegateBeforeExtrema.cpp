#include "backends/nvidia/NegateBeforeExtrema.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace sectile::nvidia {

/// What `instruction` negates, a number of 8 to 32 bits or a vector of such; null if it does not.
static Value *negated(Instruction &instruction) {
  using namespace PatternMatch;
  Type *type = instruction.getType();
  Value *source = nullptr;
  if (type->isIntOrIntVectorTy() && type->getScalarSizeInBits() >= 8 &&
      type->getScalarSizeInBits() <= 32 &&
      (match(&instruction, m_Neg(m_Value(source))) ||
       match(&instruction, m_c_Mul(m_Value(source), m_AllOnes()))))
    return source;
  return nullptr;
}

/// Whether the value comes to a signed extremum, through what only chooses among values.
static bool comesToExtremum(Instruction &value) {
  SmallPtrSet<Instruction *, 16> seen = {&value};
  SmallVector<Instruction *> left = {&value};
  while (!left.empty()) {
    for (User *user : left.pop_back_val()->users()) {
      auto *instruction = cast<Instruction>(user);
      if (auto *intrinsic = dyn_cast<IntrinsicInst>(instruction))
        if (intrinsic->getIntrinsicID() == Intrinsic::smax ||
            intrinsic->getIntrinsicID() == Intrinsic::smin)
          return true;
      if (isa<PHINode, SelectInst, CastInst, FreezeInst, InsertElementInst, ExtractElementInst,
              ShuffleVectorInst>(instruction) &&
          seen.insert(instruction).second)
        left.push_back(instruction);
    }
  }
  return false;
}

/// The complement of a number of 16 or 32 bits, by an instruction that LLVM knows nothing of: it
/// would make a negation of the complement plus one.
static Value *opaqueComplement(IRBuilder<> &builder, Value *source) {
  Type *type = source->getType();
  if (type->isIntegerTy() && type->getIntegerBitWidth() < 16)
    return builder.CreateTrunc(
        opaqueComplement(builder, builder.CreateZExt(source, builder.getInt16Ty())), type);
  const bool isWord = type->getIntegerBitWidth() == 32;
  auto *complement = InlineAsm::get(FunctionType::get(type, {type}, false),
                                    isWord ? "not.b32 $0, $1;" : "not.b16 $0, $1;",
                                    isWord ? "=r,r" : "=h,h", /*hasSideEffects=*/false);
  CallInst *call = builder.CreateCall(complement, {source});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

void negateBeforeExtrema(Module &module) {
  SmallVector<Instruction *> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (negated(instruction) && comesToExtremum(instruction))
        found.push_back(&instruction);
  for (Instruction *negation : found) {
    Value *source = negated(*negation);
    IRBuilder<> builder(negation);
    Value *complement = nullptr;
    if (auto *vector = dyn_cast<FixedVectorType>(source->getType())) {
      complement = PoisonValue::get(vector);
      for (unsigned i = 0; i < vector->getNumElements(); ++i)
        complement = builder.CreateInsertElement(
            complement, opaqueComplement(builder, builder.CreateExtractElement(source, i)), i);
    } else {
      complement = opaqueComplement(builder, source);
    }
    Value *result = builder.CreateAdd(complement, ConstantInt::get(source->getType(), 1));
    negation->replaceAllUsesWith(result);
    negation->eraseFromParent();
  }
}

} // namespace sectile::nvidia
