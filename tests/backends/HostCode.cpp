#include "HostCode.h"

#include "HostLibrary.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace sectile::testing {

HostCode::HostCode(const cpu::HostFeatures &host, unsigned parameterCount, Build build) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  std::unique_ptr<llvm::TargetMachine> machine = hostMachine(host);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());

  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::SmallVector<llvm::Type *> parameters(parameterCount - 1, pointer);
  parameters.push_back(llvm::Type::getInt64Ty(context));
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "sectile_kernel", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  build(builder, *function);
  library = std::make_unique<HostLibrary>(
      module, *machine,
      "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)");
}

HostCode::~HostCode() = default;
const std::string &HostCode::error() const {
  return library->error;
}
size_t HostCode::objectBytes() const {
  return library->objectBytes;
}
void *HostCode::entry() const {
  return library->entry;
}

std::vector<cpu::HostFeatures> runnableLevels() {
  cpu::HostFeatures host = cpu::HostFeatures::detect();
  std::vector<cpu::HostFeatures> levels;
  for (int number = 0; number <= int(backends::ProcessorLevel::V4); ++number) {
    auto level = cpu::HostFeatures::level(backends::ProcessorLevel(number));
    if (host.covers(level))
      levels.push_back(level);
  }
  levels.push_back(host);
  return levels;
}

std::string levelName(const cpu::HostFeatures &host) {
  return host.name;
}

llvm::Type *elementType(llvm::LLVMContext &context, Element element) {
  switch (element) {
  case Element::I8:
    return llvm::Type::getInt8Ty(context);
  case Element::I16:
    return llvm::Type::getInt16Ty(context);
  case Element::I32:
    return llvm::Type::getInt32Ty(context);
  case Element::I64:
    return llvm::Type::getInt64Ty(context);
  case Element::F32:
    return llvm::Type::getFloatTy(context);
  case Element::F64:
    return llvm::Type::getDoubleTy(context);
  }
  return nullptr;
}

std::unique_ptr<HostCode> compileLanes(const cpu::HostFeatures &host, unsigned width,
                                       llvm::ArrayRef<Element> inputs, Element output,
                                       EmitLanes emit) {
  return std::make_unique<HostCode>(
      host, inputs.size() + 2, [&](llvm::IRBuilder<> &b, llvm::Function &function) {
        llvm::LLVMContext &context = b.getContext();
        llvm::BasicBlock *entry = b.GetInsertBlock();
        auto *loop = llvm::BasicBlock::Create(context, "loop", &function);
        auto *exit = llvm::BasicBlock::Create(context, "exit", &function);
        b.CreateBr(loop);
        b.SetInsertPoint(loop);
        llvm::PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
        index->addIncoming(b.getInt64(0), entry);
        auto shaped = [&](llvm::Type *type) -> llvm::Type * {
          return width == 1 ? type : llvm::FixedVectorType::get(type, width);
        };
        llvm::SmallVector<llvm::Value *> values;
        for (auto [k, element] : llvm::enumerate(inputs)) {
          llvm::Type *type = elementType(context, element);
          llvm::Value *address = b.CreateGEP(type, function.getArg(k), index);
          values.push_back(b.CreateAlignedLoad(shaped(type), address, llvm::Align(1)));
        }
        llvm::Value *result = emit(b, values);
        llvm::Type *type = elementType(context, output);
        if (result->getType()->getScalarSizeInBits() == 1)
          result = b.CreateZExt(result, shaped(type));
        b.CreateAlignedStore(result, b.CreateGEP(type, function.getArg(inputs.size()), index),
                             llvm::Align(1));
        llvm::Value *next = b.CreateAdd(index, b.getInt64(width));
        index->addIncoming(next, b.GetInsertBlock());
        llvm::Value *count = function.getArg(inputs.size() + 1);
        b.CreateCondBr(b.CreateICmpULT(next, count), loop, exit);
        b.SetInsertPoint(exit);
        b.CreateRetVoid();
      });
}

} // namespace sectile::testing
