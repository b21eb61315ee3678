#include "backends/nvidia/EmitPtx.h"

#include "backends/GuardedCodegen.h"
#include "backends/nvidia/ShiftBeforeUnpack.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

namespace sectile::nvidia {
namespace {

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses in shared memory have 32 bits. LLVM offers no other way to say so.
    auto known = llvm::cl::getRegisteredOptions().find("nvptx-short-ptr");
    if (known != llvm::cl::getRegisteredOptions().end())
      static_cast<llvm::cl::opt<bool> *>(known->second)->setValue(true);
  });
}

/// Disables slow passes of the code generator that do not improve the output of ptxas, as measured
/// (README.md). Stateless.
class ShortCodegen final : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override {
    return !llvm::is_contained(llvm::ArrayRef<llvm::StringRef>{"slsr", "Loop Strength Reduction",
                                                               "nary-reassociate",
                                                               "speculative-execution"},
                               pass);
  }
};

} // namespace

std::string ptxIdentifier(llvm::StringRef name) {
  std::string text;
  for (char c : name) {
    if (llvm::isAlnum(c) || c == '_' || c == '$')
      text += c;
    else // a byte of a letter beyond ASCII, or a dot
      text += "$" + llvm::toHex(llvm::StringRef(&c, 1), /*LowerCase=*/true);
  }
  bool isWord = text.empty() || text == "_" || text == "$" || text == "WARP_SZ" ||
                llvm::isDigit(text.front());
  return isWord ? "_" + text + "_" : text;
}

PtxEmitter::PtxEmitter(const NvidiaArch &arch) {
  initializeOnce();
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  if (const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error))
    machine.reset(target->createTargetMachine(
        triple, arch.name, "+ptx" + std::to_string(arch.ptxVersion), llvm::TargetOptions(),
        std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

PtxEmitter::~PtxEmitter() = default;

bool PtxEmitter::optimize(llvm::Module &module, std::string &error) {
  if (!machine) {
    error = "LLVM has no NVPTX target";
    return false;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  return backends::runGuarded(module, error, [&] {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    // With the machine: convergence and costs are the target's.
    llvm::PassBuilder passes(machine.get());
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(components);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, components, modules);

    llvm::FunctionPassManager pipeline;
    // Pointers that no access takes go first, round the loops that carry them.
    pipeline.addPass(llvm::ADCEPass());
    pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    pipeline.addPass(llvm::EarlyCSEPass());
    pipeline.addPass(llvm::InstCombinePass());
    pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                           /*UseMemorySSA=*/true));
    pipeline.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        pipeline.run(function, functions);
    shiftBeforeUnpack(module);
  });
}

bool PtxEmitter::emit(llvm::Module &module, std::string &ptx, std::string &error) {
  ShortCodegen gate;
  module.getContext().setOptPassGate(gate);
  bool done = backends::runGuarded(module, error, [&] {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                     llvm::CodeGenFileType::AssemblyFile)) {
      error = "LLVM cannot write PTX";
      return;
    }
    passes.run(module);
    ptx = std::string(text);
  });
  module.getContext().setOptPassGate(llvm::getGlobalPassGate());
  return done;
}

} // namespace sectile::nvidia
