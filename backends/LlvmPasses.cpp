#include "backends/LlvmPasses.h"

#include "backends/GuardedCodegen.h"

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace sectile::backends {

void addCleanup(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
}

namespace {

/// What passes ask of a module, made as they ask.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;

  explicit Analyses(llvm::TargetMachine &machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
};

} // namespace

void runOnFunctions(llvm::Module &module, llvm::TargetMachine &machine,
                    llvm::FunctionPassManager &passes) {
  Analyses analyses(machine);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, analyses.functions);
}

void runPasses(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef names,
               OwnPasses own) {
  Analyses analyses(machine);
  analyses.builder.registerPipelineParsingCallback(
      [&](llvm::StringRef name, llvm::FunctionPassManager &passes,
          llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) { return own(name, passes); });
  llvm::ModulePassManager passes;
  llvm::cantFail(analyses.builder.parsePassPipeline(passes, names));
  passes.run(module, analyses.modules);
}

namespace {

/// Keeps passes from running while it lives. (Options of LLVM do so, too, for the whole process,
/// until the linker sets them back.)
class WithoutPasses final : llvm::OptPassGate {
public:
  WithoutPasses(llvm::LLVMContext &context, llvm::ArrayRef<llvm::StringRef> names)
      : context(context), names(names) {
    context.setOptPassGate(*this);
  }
  ~WithoutPasses() override { context.setOptPassGate(llvm::getGlobalPassGate()); }

  bool isEnabled() const override { return !names.empty(); }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return !llvm::is_contained(names, pass);
  }

private:
  llvm::LLVMContext &context;
  llvm::ArrayRef<llvm::StringRef> names;
};

/// What `TargetMachine::addPassesToEmitFile` adds, but for the search for variables' locations:
/// code has line tables and no variables, and the search takes 2 of 35 ms of a product for a CPU.
bool addCodeGenerator(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine,
                      llvm::raw_pwrite_stream &stream, llvm::CodeGenFileType type) {
  auto *info = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::LiveDebugValuesID);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  auto &generator = static_cast<llvm::CodeGenTargetMachineImpl &>(machine);
  if (generator.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

} // namespace

bool generateCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType type,
                  llvm::SmallVectorImpl<char> &code, std::string &error,
                  llvm::ArrayRef<llvm::StringRef> leftOut) {
  WithoutPasses gate(module.getContext(), leftOut);
  bool isKnown = true;
  bool isDone = runGuarded(module, error, [&] {
    llvm::raw_svector_ostream stream(code);
    llvm::legacy::PassManager passes;
    isKnown = addCodeGenerator(passes, machine, stream, type);
    if (isKnown)
      passes.run(module);
  });
  if (isDone && !isKnown)
    error = "LLVM cannot write this kind of code for " + machine.getTargetTriple().str();
  return isDone && isKnown;
}

} // namespace sectile::backends
