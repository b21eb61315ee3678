#include "backends/nvidia/EmitPtx.h"

#include "backends/GuardedCodegen.h"
#include "backends/LlvmOptions.h"
#include "backends/LlvmPasses.h"
#include "backends/nvidia/FoldBehindBranches.h"
#include "backends/nvidia/NegateBeforeExtrema.h"
#include "backends/nvidia/ShiftBeforeUnpack.h"
#include "backends/nvidia/SplitWideProducts.h"
#include "backends/nvidia/WrapAbsoluteValues.h"
#include "optimizer/gpu/ThreadWork.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ADCE.h"

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
  });
}

/// Slow passes of the code generator that do not improve the output of ptxas, as measured
/// (README.md).
constexpr llvm::StringRef kLeftOut[] = {"slsr", "Loop Strength Reduction", "nary-reassociate",
                                        "speculative-execution"};

/// Loops of loads that no matrix product waits for.
bool loadsInLoops(mlir::func::FuncOp function) {
  bool loads = false, multiplies = false;
  function.walk([&](mlir::Operation *op) {
    loads |= mlir::isa<tile::LoadOp>(op) && optimizer::isInLoop(op);
    multiplies |= mlir::isa<tile::DotOp, tile::DotAsyncOp>(op);
  });
  return loads && !multiplies;
}

} // namespace

std::string PtxCodegen::symbolOf(llvm::StringRef kernelName) const {
  std::string text;
  for (char c : kernelName) {
    if (llvm::isAlnum(c) || c == '_' || c == '$')
      text += c;
    else // a byte of a letter beyond ASCII, or a dot
      text += "$" + llvm::toHex(llvm::StringRef(&c, 1), /*LowerCase=*/true);
  }
  bool isWord = text.empty() || text == "_" || text == "$" || text == "WARP_SZ" ||
                llvm::isDigit(text.front());
  return isWord ? "_" + text + "_" : text;
}

/// Null where LLVM has no such target.
static llvm::TargetMachine *makeMachine(const NvidiaArch &arch) {
  initializeOnce();
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  llvm::TargetMachine *machine = nullptr;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return machine;
  // Addresses in shared memory have 32 bits. The machine asks for this option as it is made, and
  // LLVM offers no other way to say so.
  backends::withLlvmFlag("nvptx-short-ptr", [&] {
    machine = target->createTargetMachine(
        triple, arch.name, "+ptx" + std::to_string(arch.ptxVersion), llvm::TargetOptions(),
        std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default);
  });
  return machine;
}

PtxCodegen::PtxCodegen(const NvidiaArch &arch)
    : machine("cuda:" + arch.name + ":" + std::to_string(arch.ptxVersion),
              [&] { return makeMachine(arch); }) {}

PtxCodegen::~PtxCodegen() = default;

void PtxCodegen::tune(llvm::Function &kernel, mlir::func::FuncOp function, int64_t programs) const {
  // ptxas otherwise makes loads wait for each other to save registers, for more programs at a time
  // than such a kernel needs: a sum of 32 x 32 tiles took 32 registers and 1.6 times as long.
  if (!programs && loadsInLoops(function))
    programs = 1;
  if (programs)
    kernel.addFnAttr("nvvm.minctasm", std::to_string(programs));
}

bool PtxCodegen::optimize(llvm::Module &module, std::string &error) {
  if (!machine) {
    error = "LLVM has no NVPTX target";
    return false;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  return machine.isWhole(backends::runGuarded(module, error, [&] {
    llvm::FunctionPassManager passes;
    // Pointers that no access takes go first, round the loops that carry them.
    passes.addPass(llvm::ADCEPass());
    backends::addCleanup(passes);
    backends::runOnFunctions(module, *machine, passes);
    shiftBeforeUnpack(module);
    foldBehindBranches(module);
  }));
}

bool PtxCodegen::emit(llvm::Module &module, backends::KernelImage &image, CodeObserver observe,
                      std::string &error) {
  llvm::SmallString<0> text;
  bool isDone = machine.isWhole(backends::generateCode(
      module, *machine, llvm::CodeGenFileType::AssemblyFile, text, error, kLeftOut));
  image.binary = splitWideProducts(wrapAbsoluteValues(negateBeforeExtrema(std::string(text))));
  if (isDone)
    observe([&] { return image.binary; });
  return isDone;
}

} // namespace sectile::nvidia
