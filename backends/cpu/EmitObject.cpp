#include "backends/cpu/EmitObject.h"

#include "backends/GuardedCodegen.h"
#include "backends/LlvmPasses.h"
#include "backends/cpu/HostAbi.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

namespace sectile::cpu {
namespace {

const char *const kTriple = "x86_64-unknown-linux-gnu";

/// It takes half of the code generator's time, and makes softmax slower.
constexpr llvm::StringRef kLeftOut[] = {"Loop Strength Reduction"};

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

} // namespace

/// Null where LLVM has no such target.
static llvm::TargetMachine *makeMachine(const HostFeatures &host) {
  initializeOnce();
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  return target
             ? target->createTargetMachine(triple, host.cpuName, host.featureString,
                                           llvm::TargetOptions(), llvm::Reloc::PIC_,
                                           llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default)
             : nullptr;
}

ObjectEmitter::ObjectEmitter(const HostFeatures &host)
    : machine("cpu:" + std::string(host.cpuName) + ":" + std::string(host.featureString),
              [&] { return makeMachine(host); }) {}

ObjectEmitter::~ObjectEmitter() = default;

/// A masked store of one lane, known now, becomes a store of that element. X86's combine for it
/// forgets that the store may truncate: `trunc <16 x i32>` to bytes would write four of them.
static void scalarizeStoresOfOneLane(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
      continue;
    llvm::Value *value = store->getArgOperand(0), *pointer = store->getArgOperand(1);
    auto *mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
    auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (!mask || !type)
      continue;
    unsigned active = 0, last = 0;
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
      llvm::Constant *element = mask->getAggregateElement(lane);
      if (element && element->isNullValue())
        continue;
      ++active;
      last = lane;
    }
    if (active != 1)
      continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value *address = builder.CreateConstGEP1_64(type->getElementType(), pointer, last);
    llvm::Align align = llvm::commonAlignment(
        store->getParamAlign(1).valueOrOne(),
        last * (type->getElementType()->getPrimitiveSizeInBits().getFixedValue() / 8));
    auto *scalar = builder.CreateAlignedStore(builder.CreateExtractElement(value, uint64_t(last)),
                                              address, align);
    scalar->setAAMetadata(store->getAAMetadata());
    store->eraseFromParent();
  }
}

bool ObjectEmitter::optimize(llvm::Module &module, std::string &error) {
  if (!machine) {
    error = "LLVM has no x86-64 target";
    return false;
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    function.addFnAttr("target-features", machine->getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
    // No loop becomes a call to memset or memcpy.
    function.addFnAttr("no-builtins");
  }
  return machine.isWhole(backends::runGuarded(module, error, [&] {
    llvm::FunctionPassManager passes;
    backends::addCleanup(passes);
    backends::runOnFunctions(module, *machine, passes);
    for (llvm::Function &function : module)
      scalarizeStoresOfOneLane(function);
  }));
}

bool ObjectEmitter::emit(llvm::Module &module, llvm::SmallVectorImpl<char> &object,
                         std::string &error) {
  return machine.isWhole(backends::generateCode(module, *machine, llvm::CodeGenFileType::ObjectFile,
                                                object, error, kLeftOut));
}

std::string ObjectEmitter::assembly(const llvm::Module &module) {
  llvm::SmallString<0> text;
  std::string error;
  auto copy = llvm::CloneModule(module);
  bool isDone = machine.isWhole(backends::generateCode(
      *copy, *machine, llvm::CodeGenFileType::AssemblyFile, text, error, kLeftOut));
  return isDone ? std::string(text) : "; " + error + "\n";
}

void injectFailure(llvm::Module &module, llvm::StringRef kind) {
  llvm::Function *kernel = nullptr;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      kernel = &function;
  if (kind.empty() || !kernel)
    return;
  if (kind == "invalid-code") {
    kernel->getEntryBlock().getTerminator()->eraseFromParent();
    return;
  }
  llvm::IRBuilder<> builder(&*kernel->getEntryBlock().getFirstInsertionPt());
  llvm::Value *first = builder.CreateTrunc(kernel->getArg(1), builder.getInt32Ty());
  llvm::Value *result = nullptr;
  if (kind == "cannot-select") { // an instruction of another processor
    result = builder.CreateIntrinsic(llvm::Intrinsic::aarch64_crc32b, {}, {first, first});
  } else if (kind == "missing-libcall") {
    llvm::Value *number = builder.CreateSIToFP(first, builder.getFloatTy());
    result = builder.CreateFPToSI(builder.CreateFRem(number, number), builder.getInt32Ty());
  }
  if (!result)
    return;
  auto *slot = new llvm::GlobalVariable(module, builder.getInt32Ty(), false,
                                        llvm::GlobalValue::InternalLinkage, builder.getInt32(0));
  builder.CreateStore(result, slot, /*isVolatile=*/true);
}

} // namespace sectile::cpu
