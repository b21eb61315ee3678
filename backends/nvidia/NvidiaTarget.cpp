#include "backends/nvidia/NvidiaTarget.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace sectile::nvidia {

NvidiaTarget::NvidiaTarget(NvidiaArch arch)
    : GpuTarget({.laneCount = 32,
                 .maxThreadsPerBlock = 1024,
                 .maxSharedBytes = arch.maxSharedBytes,
                 .maxAccessBytes = 16,
                 .registerWords = 65536,
                 .threadWords = 255,
                 .lineCycles = optimizer::kNvidiaLineCycles}),
      architecture(std::move(arch)), mathematics(architecture.capability), products(architecture),
      engine(architecture.ptxVersion), rounding(architecture.capability) {}

void NvidiaTarget::declareKernel(llvm::Function &kernel, unsigned threads,
                                 const backends::CompileOptions &options) const {
  kernel.setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel.addFnAttr("nvvm.reqntid", std::to_string(threads));
  if (options.maxRegisters)
    kernel.addFnAttr("nvvm.maxnreg", std::to_string(options.maxRegisters));
}

//===-- Threads -------------------------------------------------------------------------------===//

/// `low` <= value < `high`.
static llvm::Value *specialRegister(llvm::IRBuilderBase &builder, llvm::Intrinsic::ID id,
                                    uint32_t low, uint32_t high) {
  llvm::CallInst *call =
      builder.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type *>(), llvm::ArrayRef<llvm::Value *>());
  call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, low), llvm::APInt(32, high)));
  return call;
}

/// Programs a grid may have along an axis.
static uint32_t gridLimit(unsigned axis) {
  return axis == 0 ? 0x7fffffff : 0xffff;
}

llvm::Value *NvidiaTarget::threadIndex(llvm::IRBuilderBase &builder) const {
  return specialRegister(builder, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 0, maxThreadsPerBlock);
}

llvm::Value *NvidiaTarget::oneLane(llvm::IRBuilderBase &builder) const {
  if (!architecture.hasElection())
    return GpuTarget::oneLane(builder);
  llvm::Value *elected = builder.CreateIntrinsic(
      llvm::Intrinsic::nvvm_elect_sync, llvm::ArrayRef<llvm::Type *>(), {builder.getInt32(~0u)});
  return builder.CreateExtractValue(elected, 1);
}

llvm::Value *NvidiaTarget::programIndex(llvm::IRBuilderBase &builder, unsigned axis) const {
  static constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  return specialRegister(builder, ids[axis], 0, gridLimit(axis));
}

llvm::Value *NvidiaTarget::programCount(llvm::IRBuilderBase &builder, unsigned axis) const {
  static constexpr llvm::Intrinsic::ID ids[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                                llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  return specialRegister(builder, ids[axis], 1, gridLimit(axis) + 1);
}

/// Applies `move` to a value in pieces of 32 bits.
static llvm::Value *inWords(llvm::IRBuilderBase &builder, llvm::Value *value,
                            llvm::function_ref<llvm::Value *(llvm::Value *)> move) {
  llvm::Type *type = value->getType(), *word = builder.getInt32Ty();
  if (type->isPointerTy())
    return builder.CreateIntToPtr(
        inWords(builder, builder.CreatePtrToInt(value, builder.getInt64Ty()), move), type);
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Type *integer = builder.getIntNTy(bits);
  llvm::Value *whole = builder.CreateBitCast(value, integer);
  if (bits <= 32) {
    whole = builder.CreateTrunc(move(builder.CreateZExt(whole, word)), integer);
    return builder.CreateBitCast(whole, type);
  }
  llvm::Value *low = move(builder.CreateTrunc(whole, word));
  llvm::Value *high = move(builder.CreateTrunc(builder.CreateLShr(whole, 32), word));
  whole = builder.CreateOr(builder.CreateZExt(low, integer),
                           builder.CreateShl(builder.CreateZExt(high, integer), 32));
  return builder.CreateBitCast(whole, type);
}

llvm::Value *NvidiaTarget::combineLanes(llvm::IRBuilderBase &builder, tile::RmwKind kind,
                                        llvm::Value *value) const {
  auto instruction = [&] {
    switch (kind) {
    case tile::RmwKind::Add:
      return llvm::Intrinsic::nvvm_redux_sync_add;
    case tile::RmwKind::And:
      return llvm::Intrinsic::nvvm_redux_sync_and;
    case tile::RmwKind::Or:
      return llvm::Intrinsic::nvvm_redux_sync_or;
    case tile::RmwKind::Xor:
      return llvm::Intrinsic::nvvm_redux_sync_xor;
    case tile::RmwKind::Min:
      return llvm::Intrinsic::nvvm_redux_sync_min;
    case tile::RmwKind::Max:
      return llvm::Intrinsic::nvvm_redux_sync_max;
    case tile::RmwKind::UMin:
      return llvm::Intrinsic::nvvm_redux_sync_umin;
    case tile::RmwKind::UMax:
      return llvm::Intrinsic::nvvm_redux_sync_umax;
    default:
      llvm_unreachable("not of integers");
    }
  };
  return builder.CreateIntrinsic(instruction(), {}, {value, builder.getInt32(~0u)});
}

llvm::Value *NvidiaTarget::shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                                      unsigned mask) const {
  return inWords(builder, value, [&](llvm::Value *word) {
    return builder.CreateIntrinsic(
        llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
        {builder.getInt32(~0u), word, builder.getInt32(mask), builder.getInt32(31)});
  });
}

llvm::Value *NvidiaTarget::shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                                       llvm::Value *source) const {
  return inWords(builder, value, [&](llvm::Value *word) {
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                                   {builder.getInt32(~0u), word, source, builder.getInt32(31)});
  });
}

void NvidiaTarget::barrier(llvm::IRBuilderBase &builder, unsigned threads, gpu::Ordered,
                           llvm::Value *barrier) const {
  // Orders memory among the lanes, too.
  if (!barrier && threads == laneCount)
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {builder.getInt32(~0u)});
  else if (!barrier)
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {},
                            {builder.getInt32(0)});
  else
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count, {},
                            {barrier, builder.getInt32(threads)});
}

void NvidiaTarget::failAssertion(llvm::IRBuilderBase &builder, llvm::StringRef message,
                                 const lang::SourcePlace &place) const {
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  auto text = [&](llvm::StringRef content) {
    return builder.CreateAddrSpaceCast(
        builder.CreateGlobalString(content, "assertion", gpu::kGlobalSpace, &module),
        builder.getPtrTy());
  };
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(),
                              {builder.getPtrTy(), builder.getPtrTy(), builder.getInt32Ty(),
                               builder.getPtrTy(), builder.getInt64Ty()},
                              /*isVarArg=*/false);
  llvm::FunctionCallee fail = module.getOrInsertFunction("__assertfail", type);
  cast<llvm::Function>(fail.getCallee())->setDoesNotReturn();
  // Code is found wherever its source lies, so it knows the file by its own name alone.
  constexpr uint64_t kBytesOfCharacter = 1;
  builder.CreateCall(fail, {text(message), text(llvm::sys::path::filename(place.file)),
                            builder.getInt32(place.line), text(place.function),
                            builder.getInt64(kBytesOfCharacter)});
}

llvm::Value *NvidiaTarget::anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth,
                                     unsigned threads, llvm::Value *, llvm::Value *barrier) const {
  if (!barrier)
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_all, {},
                                   {builder.getInt32(0), truth});
  return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_count, {},
                                 {barrier, builder.getInt32(threads), truth});
}

llvm::StringRef NvidiaTarget::syncScope(tile::MemoryScope scope) const {
  switch (scope) {
  case tile::MemoryScope::Block:
    return "block";
  case tile::MemoryScope::Device:
    return "device";
  case tile::MemoryScope::System:
    return "";
  }
  return "";
}

} // namespace sectile::nvidia
