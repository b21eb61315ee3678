#include "SimulatedGpu.h"

#include "../HostLibrary.h"
#include "SimulatedThreads.h"

#include "llvm/IR/Attributes.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::testing {
namespace {

const char *const kSharedArray = "simulated.shared";

/// Shared memory becomes an array; every access to it is reported.
void instrumentShared(llvm::Module &module, int64_t sharedBytes) {
  llvm::LLVMContext &context = module.getContext();
  auto *type =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(context), std::max<int64_t>(sharedBytes, 1));
  llvm::GlobalVariable *array = nullptr;
  for (llvm::GlobalVariable &global : llvm::make_early_inc_range(module.globals())) {
    if (&global == array || global.getAddressSpace() != gpu::kSharedSpace)
      continue;
    if (!array) {
      array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                       llvm::Constant::getNullValue(type), kSharedArray, nullptr,
                                       llvm::GlobalValue::NotThreadLocal, gpu::kSharedSpace);
      array->setAlignment(llvm::Align(1024));
    }
    global.replaceAllUsesWith(array);
    global.eraseFromParent();
  }
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      llvm::Value *address = llvm::getPointerOperand(&instruction);
      bool isStore = llvm::isa<llvm::StoreInst>(instruction);
      if (!address || (!isStore && !llvm::isa<llvm::LoadInst>(instruction)) ||
          address->getType()->getPointerAddressSpace() != gpu::kSharedSpace)
        continue;
      llvm::IRBuilder<> builder(context);
      if (isStore)
        builder.SetInsertPoint(instruction.getNextNode());
      else
        builder.SetInsertPoint(&instruction);
      unsigned bytes =
          module.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&instruction));
      emitSimulatedCall(builder, SimulatedCall::Shared, builder.getVoidTy(),
                        {builder.CreateAddrSpaceCast(address, builder.getPtrTy()),
                         builder.getInt32(bytes), builder.getInt32(isStore), nextSite(module)});
    }
}

/// void sectile_kernel(ptr table, ptr slots): fills the module's table and calls the kernel. With a
/// null table it returns the shared memory's address in slots[0] instead.
void addEntry(llvm::Module &module, llvm::Function &kernel) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy(), builder.getPtrTy()}, false);
  auto *entry =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "sectile_kernel", module);
  auto *start = llvm::BasicBlock::Create(context, "entry", entry);
  auto *ask = llvm::BasicBlock::Create(context, "ask", entry);
  auto *call = llvm::BasicBlock::Create(context, "call", entry);
  builder.SetInsertPoint(start);
  builder.CreateCondBr(builder.CreateIsNull(entry->getArg(0)), ask, call);
  builder.SetInsertPoint(ask);
  llvm::Value *shared = builder.getInt64(0);
  if (auto *array = module.getNamedGlobal(kSharedArray))
    shared = builder.CreatePtrToInt(builder.CreateAddrSpaceCast(array, builder.getPtrTy()),
                                    builder.getInt64Ty());
  builder.CreateStore(shared, entry->getArg(1));
  builder.CreateRetVoid();
  builder.SetInsertPoint(call);
  llvm::GlobalVariable *table = simulatedTable(module);
  for (unsigned slot = 0; slot < unsigned(SimulatedCall::Count); ++slot) {
    llvm::Value *function = builder.CreateLoad(
        builder.getPtrTy(), builder.CreateConstGEP1_32(builder.getPtrTy(), entry->getArg(0), slot));
    builder.CreateStore(function,
                        builder.CreateConstInBoundsGEP2_32(table->getValueType(), table, 0, slot));
  }
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : kernel.args()) {
    llvm::Value *slot =
        builder.CreateConstGEP1_32(builder.getInt64Ty(), entry->getArg(1), argument.getArgNo());
    arguments.push_back(builder.CreateLoad(argument.getType(), slot));
  }
  builder.CreateCall(&kernel, arguments)->setCallingConv(kernel.getCallingConv());
  builder.CreateRetVoid();
}

/// LLVM calls this function to round to bfloat on CPUs that cannot.
void addBfloatRounding(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()}, false);
  if (module.getFunction("__truncsfbf2"))
    return;
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "__truncsfbf2", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *value = function->getArg(0);
  llvm::Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff))), 16);
  llvm::Value *quiet = b.CreateOr(b.CreateLShr(bits, 16), 0x40);
  rounded = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  b.CreateRet(b.CreateBitCast(b.CreateTrunc(rounded, b.getInt16Ty()), b.getBFloatTy()));
}

/// The same from f64 to f16, which no CPU can: LLVM joins the two roundings of some products of
/// f64.
void addHalfRounding(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  if (module.getFunction("__truncdfhf2"))
    return;
  auto *type = llvm::FunctionType::get(b.getHalfTy(), {b.getDoubleTy()}, false);
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "__truncdfhf2", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  // Rounded to odd, f32 has what f16 needs to be rounded once.
  llvm::Value *value = function->getArg(0);
  llvm::Value *nearest = b.CreateFPTrunc(value, b.getFloatTy());
  llvm::Value *back = b.CreateFPExt(nearest, b.getDoubleTy());
  auto magnitude = [&](llvm::Value *of) {
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of);
  };
  llvm::Value *isLarger = b.CreateFCmpOGT(magnitude(back), magnitude(value));
  llvm::Value *bits = b.CreateBitCast(nearest, b.getInt32Ty());
  bits = b.CreateSub(bits, b.CreateZExt(isLarger, b.getInt32Ty()));
  bits = b.CreateOr(bits, b.CreateZExt(b.CreateFCmpONE(back, value), b.getInt32Ty()));
  b.CreateRet(b.CreateFPTrunc(b.CreateBitCast(bits, b.getFloatTy()), b.getHalfTy()));
}

} // namespace

SimulatedProgram::SimulatedProgram(llvm::Module &module, llvm::StringRef kernel, unsigned warps,
                                   unsigned lanes, int64_t sharedBytes, layout::SharedBanks banks)
    : programWarps(warps), warps(warps), lanes(lanes), banks(std::move(banks)),
      sharedBytes(sharedBytes) {
  compile(module, kernel);
}

SimulatedProgram::~SimulatedProgram() = default;

void SimulatedProgram::compile(llvm::Module &module, llvm::StringRef kernelName) {
  llvm::Function *kernel = module.getFunction(kernelName);
  if (!kernel) {
    message = "the module has no kernel of that name";
    return;
  }
  std::unique_ptr<llvm::TargetMachine> machine =
      hostMachine(cpu::HostFeatures::detect(), llvm::CodeGenOptLevel::None);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
  kernel->setCallingConv(llvm::CallingConv::C);
  // The entry passes addresses of tensor maps, no copies of them.
  for (unsigned number = 0; number < kernel->arg_size(); ++number)
    kernel->removeParamAttr(number, llvm::Attribute::ByVal);
  instrumentShared(module, sharedBytes);
  addEntry(module, *kernel);
  addBfloatRounding(module);
  addHalfRounding(module);
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !function.isIntrinsic()) {
      function.addFnAttr("target-cpu", machine->getTargetCPU());
      function.addFnAttr("target-features", machine->getTargetFeatureString());
      function.addFnAttr("no-builtins");
    }
  library = std::make_unique<HostLibrary>(
      module, *machine, "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)");
  message = library->error;
}

SimulatedReport SimulatedProgram::run(std::vector<int32_t> grid,
                                      const std::vector<HostArgument> &arguments,
                                      const std::vector<SimulatedTensorMap> &maps) {
  grid.resize(3, 1);
  std::vector<uint64_t> slots;
  SimulatedBlock::Launch launch;
  for (const HostArgument &argument : arguments) {
    slots.push_back(argument.slot);
    if (argument.end)
      launch.arrays.push_back({argument.begin, argument.end});
  }
  for (const SimulatedTensorMap &map : maps)
    slots.push_back(reinterpret_cast<uint64_t>(&map));
  launch.entry = reinterpret_cast<SimulatedBlock::Entry>(library ? library->entry : nullptr);
  launch.slots = slots.data();
  launch.warps = warps;
  launch.programWarps = programWarps;
  launch.lanes = lanes;
  launch.banks = banks;
  launch.acceptsDifferentWrites = acceptsDifferentWrites;
  launch.hasTensorMaps = !maps.empty();
  launch.seed = seed;
  launch.grid = {grid[0], grid[1], grid[2]};
  SimulatedReport report;
  if (!launch.entry) {
    report.problem = message;
    return report;
  }
  uint64_t shared = 0;
  launch.entry(nullptr, &shared);
  launch.shared = {shared, shared + uint64_t(sharedBytes)};
  for (int32_t z = 0; z < grid[2]; ++z)
    for (int32_t y = 0; y < grid[1]; ++y)
      for (int32_t x = 0; x < grid[0] && report.problem.empty(); ++x) {
        launch.program = {x, y, z};
        SimulatedBlock(launch, report).run();
      }
  return report;
}

} // namespace sectile::testing
