#include "SimulatedTarget.h"

#include "lang/plain/BufferBytes.h"

#include "llvm/IR/Module.h"

namespace sectile::testing {
namespace {

const char *const kTable = "simulated.calls", *const kNowhere = "simulated.nowhere",
                  *const kSites = "simulated.sites";

llvm::Value *asBits(llvm::IRBuilderBase &builder, llvm::Value *value) {
  if (value->getType()->isPointerTy())
    value = builder.CreatePtrToInt(value, builder.getInt64Ty());
  unsigned bits = value->getType()->getScalarSizeInBits();
  value = builder.CreateBitCast(value, builder.getIntNTy(bits));
  return builder.CreateZExtOrTrunc(value, builder.getInt64Ty());
}

llvm::Value *fromBits(llvm::IRBuilderBase &builder, llvm::Value *bits, llvm::Type *type) {
  if (type->isPointerTy())
    return builder.CreateIntToPtr(bits, type);
  return builder.CreateBitCast(
      builder.CreateTrunc(bits, builder.getIntNTy(type->getScalarSizeInBits())), type);
}

unsigned bytesOf(llvm::Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  llvm::Type *element = type->getScalarType();
  unsigned bytes = element->isPointerTy() ? 8 : (element->getScalarSizeInBits() + 7) / 8;
  return bytes * (vector ? vector->getNumElements() : 1);
}

} // namespace

llvm::GlobalVariable *simulatedTable(llvm::Module &module) {
  if (auto *table = module.getNamedGlobal(kTable))
    return table;
  auto *type = llvm::ArrayType::get(llvm::PointerType::get(module.getContext(), 0),
                                    unsigned(SimulatedCall::Count));
  return new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::Constant::getNullValue(type), kTable);
}

llvm::ConstantInt *nextSite(llvm::Module &module) {
  llvm::NamedMDNode *counter = module.getOrInsertNamedMetadata(kSites);
  counter->addOperand(llvm::MDNode::get(module.getContext(), {}));
  return llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()),
                                counter->getNumOperands());
}

llvm::CallInst *emitSimulatedCall(llvm::IRBuilderBase &builder, SimulatedCall which,
                                  llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::GlobalVariable *table = simulatedTable(*builder.GetInsertBlock()->getModule());
  llvm::Value *slot =
      builder.CreateConstInBoundsGEP2_32(table->getValueType(), table, 0, unsigned(which));
  llvm::Value *function = builder.CreateLoad(builder.getPtrTy(), slot);
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto *call =
      builder.CreateCall(llvm::FunctionType::get(result, types, false), function, arguments);
  call->setConvergent();
  return call;
}

SimulatedTarget::SimulatedTarget(unsigned lanes, SimulatedAbilities abilities,
                                 layout::SharedBanks banks)
    : GpuTarget({.laneCount = lanes,
                 .maxThreadsPerBlock = 1024,
                 .maxSharedBytes = 48 << 10,
                 .maxAccessBytes = 16,
                 .registerWords = 65536,
                 .threadWords = 255,
                 .lineCycles = llvm::StringRef(abilities.chip).starts_with("gfx")
                                   ? optimizer::LineCycles{}
                                   : optimizer::kNvidiaLineCycles}),
      mathTarget(std::make_unique<backends::MathTarget>(backends::ArithmeticFeatures::gpu())),
      abilities(abilities), products(simulatedProducts(abilities)),
      copies(simulatedCopies(*this, abilities.copiesOfWarps)), banks(std::move(banks)) {}

SimulatedTarget::~SimulatedTarget() = default;

void SimulatedTarget::declareKernel(llvm::Function &, unsigned,
                                    const backends::CompileOptions &) const {}

llvm::Value *SimulatedTarget::threadIndex(llvm::IRBuilderBase &builder) const {
  return emitSimulatedCall(builder, SimulatedCall::ThreadIndex, builder.getInt32Ty(), {});
}
llvm::Value *SimulatedTarget::programIndex(llvm::IRBuilderBase &builder, unsigned axis) const {
  return emitSimulatedCall(builder, SimulatedCall::ProgramIndex, builder.getInt32Ty(),
                           {builder.getInt32(axis)});
}
llvm::Value *SimulatedTarget::programCount(llvm::IRBuilderBase &builder, unsigned axis) const {
  return emitSimulatedCall(builder, SimulatedCall::ProgramCount, builder.getInt32Ty(),
                           {builder.getInt32(axis)});
}

llvm::Value *SimulatedTarget::clock(llvm::IRBuilderBase &builder) const {
  return emitSimulatedCall(builder, SimulatedCall::Clock, builder.getInt64Ty(), {});
}

llvm::Value *SimulatedTarget::shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                                         unsigned mask) const {
  llvm::Value *lane = builder.CreateURem(threadIndex(builder), builder.getInt32(laneCount));
  return shuffleFrom(builder, value, builder.CreateXor(lane, builder.getInt32(mask)));
}

llvm::Value *SimulatedTarget::shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                                          llvm::Value *source) const {
  llvm::Value *bits = emitSimulatedCall(
      builder, SimulatedCall::Exchange, builder.getInt64Ty(),
      {asBits(builder, value), source, nextSite(*builder.GetInsertBlock()->getModule())});
  return fromBits(builder, bits, value->getType());
}

void SimulatedTarget::barrier(llvm::IRBuilderBase &builder, unsigned threads, gpu::Ordered ordered,
                              llvm::Value *barrier) const {
  emitSimulatedCall(builder, SimulatedCall::Barrier, builder.getVoidTy(),
                    {builder.getInt32(threads), builder.getInt32(ordered == gpu::Ordered::All),
                     barrier ? barrier : builder.getInt32(0),
                     nextSite(*builder.GetInsertBlock()->getModule())});
}

void SimulatedTarget::failAssertion(llvm::IRBuilderBase &builder, llvm::StringRef message,
                                    const lang::SourcePlace &place) const {
  std::string text =
      "assertion failed on line " + std::to_string(place.line) + ": " + message.str();
  emitSimulatedCall(builder, SimulatedCall::FailAssertion, builder.getVoidTy(),
                    {builder.CreateGlobalString(text)});
}

llvm::Value *SimulatedTarget::anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth,
                                        unsigned threads, llvm::Value *scratch,
                                        llvm::Value *barrier) const {
  llvm::Type *word = builder.getInt32Ty();
  llvm::Value *any = builder.CreateZExt(truth, word);
  if (!abilities.votesInSharedMemory) {
    any =
        emitSimulatedCall(builder, SimulatedCall::AnyThread, word,
                          {any, builder.getInt32(threads), barrier ? barrier : builder.getInt32(0),
                           nextSite(*builder.GetInsertBlock()->getModule())});
    return builder.CreateICmpNE(any, builder.getInt32(0));
  }
  // The lanes of a warp, then a word of each warp.
  for (unsigned mask = 1; mask < laneCount; mask *= 2)
    any = builder.CreateOr(any, shuffleXor(builder, any, mask));
  llvm::Value *warp = builder.CreateUDiv(threadIndex(builder), builder.getInt32(laneCount));
  builder.CreateStore(any, builder.CreateGEP(word, scratch, warp));
  this->barrier(builder, threads, gpu::Ordered::Shared, barrier);
  for (unsigned other = 0; other < threads / laneCount; ++other)
    any = builder.CreateOr(
        any, builder.CreateLoad(word, builder.CreateConstGEP1_32(word, scratch, other)));
  this->barrier(builder, threads, gpu::Ordered::Shared, barrier);
  return builder.CreateICmpNE(any, builder.getInt32(0));
}

llvm::Value *globalAddress(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access) {
  if (!access.buffer)
    return access.address;
  llvm::Value *offset = builder.CreateAdd(builder.CreateZExt(access.offset, builder.getInt64Ty()),
                                          builder.getInt64(access.constantOffset));
  llvm::Value *isInside = builder.CreateICmpULE(
      offset, builder.getInt64(lang::kBufferBytes - int64_t(bytesOf(access.type))));
  llvm::Value *nowhere = llvm::ConstantPointerNull::get(builder.getPtrTy(gpu::kGlobalSpace));
  return builder.CreateSelect(isInside, builder.CreatePtrAdd(access.buffer, offset), nowhere);
}

/// The address, or that of some bytes nobody reads where the predicate is false.
llvm::Value *SimulatedTarget::guarded(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                                      bool isWritten) const {
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  llvm::Value *predicate = access.predicate;
  const unsigned bytes = bytesOf(access.type);
  llvm::Value *plain =
      builder.CreateAddrSpaceCast(globalAddress(builder, access), builder.getPtrTy());
  llvm::Value *truth = predicate ? builder.CreateZExt(predicate, builder.getInt32Ty())
                                 : (llvm::Value *)builder.getInt32(1);
  emitSimulatedCall(
      builder, SimulatedCall::Global, builder.getVoidTy(),
      {plain, builder.getInt32(bytes), builder.getInt32(isWritten), truth, nextSite(module)});
  if (!predicate)
    return plain;
  llvm::GlobalVariable *nowhere = module.getNamedGlobal(kNowhere);
  if (!nowhere) {
    auto *type = llvm::ArrayType::get(builder.getInt8Ty(), 64);
    nowhere = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                       llvm::Constant::getNullValue(type), kNowhere);
    nowhere->setAlignment(llvm::Align(64));
  }
  return builder.CreateSelect(predicate, plain, nowhere);
}

llvm::Value *SimulatedTarget::load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                                   llvm::Value *other) const {
  llvm::Value *address = guarded(builder, access, false);
  llvm::Value *loaded =
      builder.CreateAlignedLoad(access.type, address, llvm::Align(bytesOf(access.type)));
  if (!access.predicate)
    return loaded;
  llvm::Value *rest = other ? other : llvm::Constant::getNullValue(access.type);
  return builder.CreateSelect(access.predicate, loaded, rest);
}

void SimulatedTarget::store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                            llvm::Value *value) const {
  llvm::Value *address = guarded(builder, access, true);
  builder.CreateAlignedStore(value, address, llvm::Align(bytesOf(access.type)));
}

} // namespace sectile::testing
