// Threads, lanes and barriers. (AMD's ISA manuals; LLVM's AMDGPUUsage.)
#include "backends/amd/AmdTarget.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MemoryModelRelaxationAnnotations.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace sectile::amd {
namespace {

namespace id = llvm::Intrinsic;
using V = llvm::Value *;

/// DPP controls: how lanes of a row of 16 exchange.
constexpr unsigned quadPermutation(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a | b << 2 | c << 4 | d << 6;
}
constexpr unsigned kRowRotate8 = 0x128, kRowMirror = 0x140, kRowHalfMirror = 0x141,
                   kRowXorMask = 0x160;

/// Applies `move` to a value in pieces of 32 bits.
V inWords(llvm::IRBuilderBase &b, V value, llvm::function_ref<V(V)> move) {
  llvm::Type *type = value->getType(), *word = b.getInt32Ty();
  if (type->isPointerTy())
    return b.CreateIntToPtr(inWords(b, b.CreatePtrToInt(value, b.getInt64Ty()), move), type);
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Type *integer = b.getIntNTy(bits);
  V whole = b.CreateBitCast(value, integer);
  if (bits <= 32)
    return b.CreateBitCast(b.CreateTrunc(move(b.CreateZExt(whole, word)), integer), type);
  V low = move(b.CreateTrunc(whole, word)),
    high = move(b.CreateTrunc(b.CreateLShr(whole, 32), word));
  whole = b.CreateOr(b.CreateZExt(low, integer), b.CreateShl(b.CreateZExt(high, integer), 32));
  return b.CreateBitCast(whole, type);
}

llvm::CallInst *inRange(llvm::CallInst *call, uint32_t low, uint32_t high) {
  call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, low), llvm::APInt(32, high)));
  return call;
}

} // namespace

AmdTarget::AmdTarget(AmdArch arch, int32_t matrixExtent)
    : GpuTarget({.laneCount = arch.laneCount,
                 .maxThreadsPerBlock = 1024,
                 .maxSharedBytes = arch.sharedBytes,
                 .maxAccessBytes = 16,
                 .registerWords = arch.registerWords,
                 .threadWords = arch.threadWords(),
                 .lineCycles = {}}),
      architecture(std::move(arch)), mathematics(architecture),
      products(architecture, matrixExtent), copies(architecture) {}

void AmdTarget::declareKernel(llvm::Function &kernel, unsigned threads,
                              const backends::CompileOptions &options) const {
  llvm::Module &module = *kernel.getParent();
  module.setDataLayout(llvm::Triple(triple()).computeDataLayout());
  kernel.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  std::string count = std::to_string(threads);
  kernel.addFnAttr("amdgpu-flat-work-group-size", count + "," + count);
  kernel.addFnAttr("uniform-work-group-size", "true");
  kernel.addFnAttr("target-cpu", architecture.name);
  if (options.wavesPerUnit)
    kernel.addFnAttr("amdgpu-waves-per-eu", std::to_string(options.wavesPerUnit));
  // What the kernel does not ask for takes no register.
  for (const char *unused :
       {"amdgpu-no-dispatch-ptr", "amdgpu-no-queue-ptr", "amdgpu-no-dispatch-id",
        "amdgpu-no-workitem-id-y", "amdgpu-no-workitem-id-z", "amdgpu-no-lds-kernel-id",
        "amdgpu-no-hostcall-ptr", "amdgpu-no-heap-ptr", "amdgpu-no-default-queue",
        "amdgpu-no-completion-action", "amdgpu-no-multigrid-sync-arg"})
    kernel.addFnAttr(unused);
  kernel.addFnAttr(llvm::Attribute::NoUnwind);
}

//===-- Threads -------------------------------------------------------------------------------===//

V AmdTarget::threadIndex(llvm::IRBuilderBase &b) const {
  return inRange(b.CreateIntrinsic(b.getInt32Ty(), id::amdgcn_workitem_id_x, {}), 0,
                 maxThreadsPerBlock);
}

V AmdTarget::programIndex(llvm::IRBuilderBase &b, unsigned axis) const {
  static constexpr id::ID ids[] = {id::amdgcn_workgroup_id_x, id::amdgcn_workgroup_id_y,
                                   id::amdgcn_workgroup_id_z};
  return inRange(b.CreateIntrinsic(b.getInt32Ty(), ids[axis], {}), 0, 0x7fffffff);
}

V AmdTarget::programCount(llvm::IRBuilderBase &b, unsigned axis) const {
  // hidden_block_count_x, _y and _z, the first of the hidden arguments.
  constexpr unsigned kConstantSpace = 4;
  V arguments = b.CreateIntrinsic(llvm::PointerType::get(b.getContext(), kConstantSpace),
                                  id::amdgcn_implicitarg_ptr, {});
  auto *count = b.CreateAlignedLoad(
      b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt8Ty(), arguments, 4 * axis), llvm::Align(4));
  count->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return count;
}

V AmdTarget::clock(llvm::IRBuilderBase &b) const {
  // A counter of 100 MHz.
  V ticks = b.CreateIntrinsic(b.getInt64Ty(), id::readsteadycounter, {});
  return b.CreateMul(ticks, b.getInt64(10));
}

V AmdTarget::processor(llvm::IRBuilderBase &b) const {
  auto hardware = [&](unsigned reg, unsigned offset, unsigned bits) -> V {
    return b.CreateIntrinsic(b.getInt32Ty(), id::amdgcn_s_getreg,
                             {b.getInt32(reg | offset << 6 | (bits - 1) << 11)});
  };
  // HW_ID: compute unit, shader array, shader engine; HW_ID1 of GFX11 and 12: WGP, array, engine.
  if (!architecture.isCdna())
    return hardware(/*HW_ID1*/ 23, 10, 11);
  V number = hardware(/*HW_ID*/ 4, 8, 8);
  if (architecture.name == "gfx90a")
    return number;
  V die = hardware(/*XCC_ID*/ 20, 0, 4);
  return b.CreateOr(number, b.CreateShl(die, 8));
}

V AmdTarget::lane(llvm::IRBuilderBase &b) const {
  V low = b.CreateIntrinsic(id::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), b.getInt32(0)});
  if (laneCount == 32)
    return low;
  return b.CreateIntrinsic(id::amdgcn_mbcnt_hi, {}, {b.getInt32(~0u), low});
}

//===-- Lanes ---------------------------------------------------------------------------------===//

V AmdTarget::shuffleXor(llvm::IRBuilderBase &b, V value, unsigned mask) const {
  const bool isCdna = architecture.isCdna();
  auto dppControl = [&]() -> std::optional<unsigned> {
    switch (mask) {
    case 1:
      return quadPermutation(1, 0, 3, 2);
    case 2:
      return quadPermutation(2, 3, 0, 1);
    case 3:
      return quadPermutation(3, 2, 1, 0);
    case 7:
      return kRowHalfMirror;
    case 8:
      return kRowRotate8;
    case 15:
      return kRowMirror;
    default:
      if (!isCdna && mask < 16)
        return kRowXorMask | mask;
      return std::nullopt;
    }
  };
  return inWords(b, value, [&](V word) -> V {
    if (auto control = dppControl())
      return b.CreateIntrinsic(
          id::amdgcn_update_dpp, {b.getInt32Ty()},
          {word, word, b.getInt32(*control), b.getInt32(15), b.getInt32(15), b.getTrue()});
    if (!isCdna && mask == 16) // the other row, each lane from its like
      return b.CreateIntrinsic(
          id::amdgcn_permlanex16, {b.getInt32Ty()},
          {word, word, b.getInt32(0x76543210), b.getInt32(0xfedcba98), b.getFalse(), b.getFalse()});
    if (mask < 32) // in groups of 32: and mask, or mask, xor mask
      return b.CreateIntrinsic(id::amdgcn_ds_swizzle, {}, {word, b.getInt32(0x1f | mask << 10)});
    V from = b.CreateXor(lane(b), b.getInt32(mask));
    return b.CreateIntrinsic(id::amdgcn_ds_bpermute, {}, {b.CreateShl(from, 2), word});
  });
}

V AmdTarget::shuffleFrom(llvm::IRBuilderBase &b, V value, V source) const {
  // Into a scalar register, which LLVM knows to be the same in all lanes.
  if (llvm::isa<llvm::Constant>(source))
    return inWords(b, value, [&](V word) -> V {
      return b.CreateIntrinsic(id::amdgcn_readlane, {b.getInt32Ty()}, {word, source});
    });
  V bytes = b.CreateShl(source, 2);
  return inWords(b, value, [&](V word) -> V {
    return b.CreateIntrinsic(id::amdgcn_ds_bpermute, {}, {bytes, word});
  });
}

//===-- The work-group ------------------------------------------------------------------------===//

/// lgkmcnt(0), the other counters at their most.
constexpr uint32_t kSharedOnGfx9 = 0xc07f, kSharedOnGfx11 = 0xfc07;
/// All of what loads count on, too.
constexpr uint32_t kLoadsOnGfx11 = 0x0007;

/// Whether an instruction of the block's own waits for all of shared memory already. (Others wait
/// for copies to it.)
static bool waitsForShared(const llvm::BasicBlock &block) {
  return llvm::any_of(llvm::reverse(block), [](const llvm::Instruction &one) {
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&one);
    if (!call)
      return false;
    auto counts = [&](std::initializer_list<uint64_t> allowed) {
      auto *operand = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
      return operand && llvm::is_contained(allowed, operand->getZExtValue());
    };
    if (call->getIntrinsicID() == id::amdgcn_s_waitcnt)
      return counts({kSharedOnGfx9, kSharedOnGfx11, kLoadsOnGfx11});
    return call->getIntrinsicID() == id::amdgcn_s_wait_dscnt && counts({0});
  });
}

/// Waits for the memory that a barrier is to order. The fence before a barrier asks for it, but
/// LLVM 22 drops that wait at the head of a loop in whose last round alone something is under way:
/// its pass over waits comes to the head before it knows what the round leaves. Behind a wait of
/// the same block the pass knows, and leaves the fence's wait out where nothing is under way.
void AmdTarget::waitForMemory(llvm::IRBuilderBase &b, gpu::Ordered ordered) const {
  const bool ofAll = ordered == gpu::Ordered::All;
  if (!ofAll && waitsForShared(*b.GetInsertBlock()))
    return;
  auto wait = [&](llvm::Intrinsic::ID counter) {
    b.CreateIntrinsic(b.getVoidTy(), counter, {b.getInt16(0)});
  };
  if (architecture.isGfx12()) {
    wait(id::amdgcn_s_wait_dscnt);
    if (ofAll)
      wait(id::amdgcn_s_wait_loadcnt), wait(id::amdgcn_s_wait_storecnt);
    return;
  }
  // The waves of a work-group on gfx9 are on one compute unit, where global memory stays in order.
  b.CreateIntrinsic(b.getVoidTy(), id::amdgcn_s_waitcnt,
                    {b.getInt32(architecture.isCdna() ? kSharedOnGfx9
                                : ofAll               ? kLoadsOnGfx11
                                                      : kSharedOnGfx11)});
  if (ofAll && !architecture.isCdna()) {
    auto *type = llvm::FunctionType::get(b.getVoidTy(), false);
    b.CreateCall(llvm::InlineAsm::get(type, "s_waitcnt_vscnt null, 0x0", "", true));
  }
}

void AmdTarget::barrier(llvm::IRBuilderBase &b, unsigned, gpu::Ordered ordered, V) const {
  llvm::LLVMContext &context = b.getContext();
  auto scope = context.getOrInsertSyncScopeID("workgroup");
  auto fence = [&](llvm::AtomicOrdering ordering) {
    llvm::FenceInst *made = b.CreateFence(ordering, scope);
    if (ordered == gpu::Ordered::Shared)
      made->setMetadata(llvm::LLVMContext::MD_mmra,
                        llvm::MMRAMetadata::getTagMD(context, "amdgpu-synchronize-as", "local"));
  };
  fence(llvm::AtomicOrdering::Release);
  waitForMemory(b, ordered);
  b.CreateIntrinsic(b.getVoidTy(), id::amdgcn_s_barrier, {});
  // Neither barrier nor fence keeps LLVM 22 from sinking a load that stands before them into a
  // branch behind them (MachineSink stops at what may store).
  if (ordered == gpu::Ordered::All)
    keepAccessesInOrder(b);
  fence(llvm::AtomicOrdering::Acquire);
}

void AmdTarget::keepAccessesInOrder(llvm::IRBuilderBase &b) {
  b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), "", "~{memory}",
                                    /*hasSideEffects=*/true));
}

void AmdTarget::scheduleBarrier(llvm::IRBuilderBase &b) const {
  constexpr uint32_t kNothingPasses = 0;
  b.CreateIntrinsic(b.getVoidTy(), id::amdgcn_sched_barrier, {b.getInt32(kNothingPasses)});
}

void AmdTarget::failAssertion(llvm::IRBuilderBase &b, llvm::StringRef,
                              const lang::SourcePlace &) const {
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::trap, {});
}

V AmdTarget::anyThread(llvm::IRBuilderBase &b, V truth, unsigned threads, V scratch, V team) const {
  auto *lanes = b.getIntNTy(laneCount);
  V any = b.CreateICmpNE(b.CreateIntrinsic(id::amdgcn_ballot, {lanes}, {truth}),
                         llvm::ConstantInt::get(lanes, 0));
  unsigned waves = threads / laneCount;
  if (waves <= 1)
    return any;
  // There is no barrier that votes: each wave leaves its answer in LDS.
  llvm::Type *word = b.getInt32Ty();
  V wave = b.CreateLShr(threadIndex(b), llvm::Log2_32(laneCount));
  barrier(b, threads, gpu::Ordered::Shared, team); // the answers to the vote before are read
  b.CreateStore(b.CreateZExt(any, word), b.CreateGEP(word, scratch, wave));
  barrier(b, threads, gpu::Ordered::Shared, team);
  V all = b.getInt32(0);
  for (unsigned each = 0; each < waves; ++each)
    all = b.CreateOr(all, b.CreateLoad(word, b.CreateConstGEP1_32(word, scratch, each)));
  return b.CreateICmpNE(all, b.getInt32(0));
}

llvm::StringRef AmdTarget::syncScope(tile::MemoryScope scope) const {
  switch (scope) {
  case tile::MemoryScope::Block:
    return "workgroup";
  case tile::MemoryScope::Device:
    return "agent";
  case tile::MemoryScope::System:
    return "";
  }
  return "";
}

} // namespace sectile::amd
