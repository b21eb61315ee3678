#include "backends/amd/EmitCodeObject.h"

#include "backends/GuardedCodegen.h"
#include "backends/LinkElf.h"
#include "backends/LlvmPasses.h"
#include "backends/amd/CarryVectors.h"
#include "backends/amd/CodeObjectNotes.h"
#include "backends/amd/RematerializeBehindLoops.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

namespace sectile::amd {
namespace {

/// Code objects of version 5: every ROCm from 5.4 on loads them.
constexpr unsigned kCodeObjectVersion = 500;

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    // Some waits are text, which objects are made of by LLVM's assembler.
    LLVMInitializeAMDGPUAsmParser();
  });
}

/// Gives the kernel's shared memory its size: LLVM then knows how much LDS there is, and the notes
/// say so. A launch asks for none.
void fixSharedMemory(llvm::Module &module, int64_t bytes) {
  llvm::GlobalVariable *open = nullptr;
  for (llvm::GlobalVariable &global : module.globals())
    if (global.isDeclaration() && global.getAddressSpace() == gpu::kSharedSpace)
      open = &global;
  if (!open)
    return;
  auto *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), uint64_t(bytes));
  auto *fixed =
      new llvm::GlobalVariable(module, type, /*isConstant=*/false,
                               llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type), "",
                               nullptr, llvm::GlobalValue::NotThreadLocal, gpu::kSharedSpace);
  fixed->setAlignment(open->getAlign());
  fixed->takeName(open);
  open->replaceAllUsesWith(fixed);
  open->eraseFromParent();
}

} // namespace

/// Null where LLVM has no such target.
static llvm::TargetMachine *makeMachine(const AmdArch &arch) {
  initializeOnce();
  std::string error;
  llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  return target ? target->createTargetMachine(triple, arch.name, "", llvm::TargetOptions(),
                                              llvm::Reloc::PIC_, std::nullopt,
                                              llvm::CodeGenOptLevel::Default)
                : nullptr;
}

AmdCodegen::AmdCodegen(const AmdArch &arch)
    : archName(arch.name), machine("hip:" + arch.name, [&] { return makeMachine(arch); }) {}

AmdCodegen::~AmdCodegen() = default;

void AmdCodegen::tune(llvm::Function &kernel, mlir::func::FuncOp, int64_t programs) const {
  (void)kernel, (void)programs;
}

/// A call is dear here: it takes registers for the most that any function needs, and a stack.
static void inlineAll(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() &&
        function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) {
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

/// What kernels want of -O2's list, and passes of our own: their code is unrolled, in one function,
/// and out of loops what does not change in them (README.md). The attributor finds the registers
/// that a kernel is not handed.
static const char kPasses[] =
    "always-inline,"
    "function(infer-address-spaces,sroa<modify-cfg>,early-cse<memssa>,simplifycfg,carry-vectors,"
    "instcombine<no-verify-fixpoint>,correlated-propagation,loop(loop-rotate),early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,loop-unroll,simplifycfg,adce),amdgpu-attributor,"
    "function(rematerialize-behind-loops)";

static bool addOwnPass(llvm::StringRef name, llvm::FunctionPassManager &passes) {
  if (name == "carry-vectors")
    return passes.addPass(CarryVectors()), true;
  if (name == "rematerialize-behind-loops")
    return passes.addPass(RematerializeBehindLoops()), true;
  return false;
}

/// Passes of the code generator that find nothing: differences of addresses are made by the
/// emitter, and looking for others takes time with the square of their number (0.8 of the 1.0 s
/// that a row of 32,768 took).
static const llvm::StringRef kLeftOut[] = {"slsr"};

bool AmdCodegen::optimize(llvm::Module &module, std::string &error) {
  if (!machine) {
    error = "LLVM has no AMDGPU target";
    return false;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  inlineAll(module);
  return machine.isWhole(backends::runGuarded(
      module, error, [&] { backends::runPasses(module, *machine, kPasses, addOwnPass); }));
}

bool AmdCodegen::emit(llvm::Module &module, backends::KernelImage &image, CodeObserver observe,
                      std::string &error) {
  fixSharedMemory(module, image.gpu.sharedBytes);
  observe([&] {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    llvm::SmallString<0> text;
    std::string reason;
    machine.isWhole(backends::generateCode(*copy, *machine, llvm::CodeGenFileType::AssemblyFile,
                                           text, reason, kLeftOut));
    return reason.empty() ? std::string(text) : reason;
  });
  llvm::SmallString<0> object;
  if (!machine.isWhole(backends::generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile,
                                              object, error, kLeftOut)))
    return false;
  llvm::Expected<std::string> linked = backends::linkElf(object, {"-shared", "--no-undefined"});
  if (!linked) {
    error = llvm::toString(linked.takeError());
    return false;
  }
  image.binary = std::move(*linked);
  llvm::Expected<CodeObjectNotes> notes = CodeObjectNotes::read(image.binary, image.entryPoint);
  if (!notes) {
    error = llvm::toString(notes.takeError());
    return false;
  }
  image.gpu.registers = int32_t(notes->vectorRegisters);
  image.gpu.localBytes = int32_t(notes->scratchBytes);
  image.gpu.sharedBytes = notes->sharedBytes;
  lang::Remark remark;
  remark.kind = "resources";
  remark.text = llvm::formatv("{0}: {1} vector registers ({2} of them for accumulation), {3} "
                              "scalar registers, {4} bytes of "
                              "LDS, {5} spilled",
                              archName, notes->vectorRegisters, notes->accumulationRegisters,
                              notes->scalarRegisters, notes->sharedBytes,
                              notes->vectorSpills + notes->scalarSpills);
  image.remarks.push_back(std::move(remark));
  return true;
}

} // namespace sectile::amd
