#include "backends/common/math/LaneFunctions.h"

#include "backends/common/math/Branch.h"

#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace sectile::backends {

using V = llvm::Value *;

std::string laneFunctionName(llvm::StringRef stem, llvm::Type *type) {
  std::string name = ("sectile." + stem + ".").str();
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    name += "v" + std::to_string(vector->getNumElements());
  return name + (type->getScalarType()->isDoubleTy() ? "f64" : "f32");
}

llvm::Function *createLaneFunction(const llvm::Function &caller, llvm::StringRef name,
                                   llvm::Type *result, llvm::ArrayRef<llvm::Type *> parameters) {
  auto *type = llvm::FunctionType::get(result, parameters, false);
  auto *function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name,
                                          const_cast<llvm::Module *>(caller.getParent()));
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  // Vectors are passed in registers, so both sides must agree on which ones there are.
  for (const char *key :
       {"target-cpu", "target-features", "prefer-vector-width", "min-legal-vector-width"})
    if (llvm::Attribute attribute = caller.getFnAttribute(key); attribute.isValid())
      function->addFnAttr(attribute);
  llvm::BasicBlock::Create(caller.getContext(), "", function);
  return function;
}

V callLaneFunction(const Lanes &caller, llvm::StringRef stem, llvm::ArrayRef<V> arguments,
                   llvm::function_ref<V(const Lanes &, llvm::ArrayRef<V>)> body) {
  llvm::Function &parent = *caller.builder.GetInsertBlock()->getParent();
  std::string name = laneFunctionName(stem, caller.type);
  llvm::Function *function = parent.getParent()->getFunction(name);
  if (!function) {
    const llvm::SmallVector<llvm::Type *> types(arguments.size(), caller.type);
    function = createLaneFunction(parent, name, caller.type, types);
    llvm::IRBuilder<> b(&function->getEntryBlock());
    llvm::SmallVector<V> parameters;
    for (llvm::Argument &argument : function->args())
      parameters.push_back(&argument);
    Lanes lanes(b, caller.host, caller.type);
    b.CreateRet(body(lanes, parameters));
  }
  return caller.builder.CreateCall(function, arguments);
}

llvm::SmallVector<V>
repairLanes(llvm::IRBuilderBase &b, V condition, llvm::ArrayRef<V> arguments,
            llvm::ArrayRef<V> results,
            llvm::function_ref<llvm::SmallVector<V>(llvm::ArrayRef<V>)> exact) {
  if (!condition->getType()->isVectorTy()) {
    llvm::SmallVector<V> repaired, joined;
    auto [before, end] = emitUnlikely(b, condition, [&] { repaired = exact(arguments); });
    for (auto [result, exactResult] : llvm::zip_equal(results, repaired)) {
      llvm::PHINode *phi = b.CreatePHI(result->getType(), 2);
      phi->addIncoming(result, before);
      phi->addIncoming(exactResult, end);
      joined.push_back(phi);
    }
    return joined;
  }
  llvm::BasicBlock *entry = b.GetInsertBlock();
  llvm::Function *function = entry->getParent();
  llvm::LLVMContext &context = b.getContext();
  auto newBlock = [&](const char *name) {
    return llvm::BasicBlock::Create(context, name, function);
  };
  llvm::BasicBlock *slow = newBlock("slow"), *lane = newBlock("lane"), *repair = newBlock("repair");
  llvm::BasicBlock *next = newBlock("next"), *reload = newBlock("reload"), *join = newBlock("join");

  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(condition->getType())->getNumElements();
  V conditionBytes = b.CreateZExt(condition, condition->getType()->getWithNewBitWidth(8));
  auto inMemory = [&](V value) { return b.CreateAlloca(value->getType()); };
  V conditionMemory = inMemory(conditionBytes);
  llvm::SmallVector<V> argumentMemory, resultMemory;
  for (V argument : arguments)
    argumentMemory.push_back(inMemory(argument));
  for (V result : results)
    resultMemory.push_back(inMemory(result));
  b.CreateCondBr(b.CreateOrReduce(condition), slow, join,
                 llvm::MDBuilder(context).createUnlikelyBranchWeights());

  b.SetInsertPoint(slow);
  b.CreateStore(conditionBytes, conditionMemory);
  for (auto [argument, memory] : llvm::zip_equal(arguments, argumentMemory))
    b.CreateStore(argument, memory);
  for (auto [result, memory] : llvm::zip_equal(results, resultMemory))
    b.CreateStore(result, memory);
  b.CreateBr(lane);

  b.SetInsertPoint(lane);
  llvm::PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), slow);
  auto element = [&](V memory, llvm::Type *type) {
    return b.CreateGEP(type->getScalarType(), memory, index);
  };
  V holds = b.CreateLoad(b.getInt8Ty(), element(conditionMemory, b.getInt8Ty()));
  b.CreateCondBr(b.CreateICmpNE(holds, b.getInt8(0)), repair, next);

  b.SetInsertPoint(repair);
  llvm::SmallVector<V> scalars;
  for (auto [argument, memory] : llvm::zip_equal(arguments, argumentMemory))
    scalars.push_back(
        b.CreateLoad(argument->getType()->getScalarType(), element(memory, argument->getType())));
  llvm::SmallVector<V> repaired = exact(scalars);
  for (auto [value, memory] : llvm::zip_equal(repaired, resultMemory))
    b.CreateStore(value, element(memory, value->getType()));
  b.CreateBr(next);

  b.SetInsertPoint(next);
  V following = b.CreateAdd(index, b.getInt64(1));
  index->addIncoming(following, next);
  b.CreateCondBr(b.CreateICmpULT(following, b.getInt64(lanes)), lane, reload);

  b.SetInsertPoint(reload);
  llvm::SmallVector<V> reloaded;
  for (auto [result, memory] : llvm::zip_equal(results, resultMemory))
    reloaded.push_back(b.CreateLoad(result->getType(), memory));
  b.CreateBr(join);

  b.SetInsertPoint(join);
  llvm::SmallVector<V> joined;
  for (auto [result, exactResult] : llvm::zip_equal(results, reloaded)) {
    llvm::PHINode *phi = b.CreatePHI(result->getType(), 2);
    phi->addIncoming(result, entry);
    phi->addIncoming(exactResult, reload);
    joined.push_back(phi);
  }
  return joined;
}

} // namespace sectile::backends
