#include "HostCode.h"

#include "backends/cpu/LinkSharedObject.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sectile::testing {

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  llvm::cantFail(passes.parsePassPipeline(
      manager,
      "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"));
  manager.run(module, modules);
}

HostCode::HostCode(const cpu::HostFeatures &host, unsigned parameterCount, Build build) {
  static bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;

  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return;
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, host.cpuName, host.featureString, options, llvm::Reloc::PIC_));
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());

  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::SmallVector<llvm::Type *> parameters(parameterCount - 1, pointer);
  parameters.push_back(llvm::Type::getInt64Ty(context));
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "sectile_kernel", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  build(builder, *function);
  llvm::raw_string_ostream complaint(message);
  if (llvm::verifyModule(module, &complaint))
    return;
  optimize(module, *machine);
  if (getenv("SECTILE_TEST_DUMP"))
    module.print(llvm::errs(), nullptr);

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  codegen.run(module);
  objectBytes = object.size();

  llvm::Expected<std::string> image = cpu::linkSharedObject(object.str(), "test");
  if (!image) {
    message = llvm::toString(image.takeError());
    return;
  }
  file = memfd_create("test", MFD_CLOEXEC);
  if (write(file, image->data(), image->size()) != ssize_t(image->size())) {
    message = "cannot write the image";
    return;
  }
  if (getenv("SECTILE_TEST_DUMP")) {
    FILE *copy = fopen("/tmp/sectile-test.so", "wb");
    fwrite(image->data(), 1, image->size(), copy);
    fclose(copy);
  }
  library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  entry = library ? dlsym(library, "sectile_kernel") : nullptr;
  if (!entry)
    message = dlerror();
}

HostCode::~HostCode() {
  if (library)
    dlclose(library);
  // Only now: the loader knows libraries by path, and a closed descriptor's would come again.
  if (file >= 0)
    close(file);
}

std::vector<cpu::HostFeatures> runnableLevels() {
  cpu::HostFeatures host = cpu::HostFeatures::detect();
  std::vector<cpu::HostFeatures> levels;
  for (unsigned level = 1; level <= 4; ++level)
    if (host.covers(cpu::HostFeatures::level(level)))
      levels.push_back(cpu::HostFeatures::level(level));
  levels.push_back(host);
  return levels;
}

std::string levelName(const cpu::HostFeatures &host) {
  return host.cpuName;
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
