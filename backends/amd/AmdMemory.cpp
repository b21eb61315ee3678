// Global memory. In a buffer a predicate moves the offset outside, where nothing is accessed. There
// are no predicated instructions else: an access with a predicate stands in a branch of its own,
// which becomes a mask of lanes.
#include "backends/amd/AmdTarget.h"
#include "backends/common/math/Branch.h"
#include "lang/plain/BufferBytes.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/AMDGPUAddrSpace.h"

using namespace mlir;

namespace sectile::amd {
namespace {

using V = llvm::Value *;

llvm::Align alignmentOf(llvm::Type *type) {
  unsigned count = 1;
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    count = vector->getNumElements();
    type = vector->getElementType();
  }
  return llvm::Align(count * (type->isPointerTy() ? 8 : type->getPrimitiveSizeInBits() / 8));
}

/// Whether what is loaded or stored once need not be kept in caches.
bool isPassing(const gpu::GlobalAccess &access) {
  return access.cache == tile::CacheModifier::CS || access.cache == tile::CacheModifier::CG ||
         access.eviction == tile::EvictionPolicy::EvictFirst;
}

void setModifiers(llvm::Instruction *instruction, const gpu::GlobalAccess &access) {
  if (!isPassing(access))
    return;
  llvm::LLVMContext &context = instruction->getContext();
  auto *one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  instruction->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
}

bool isVolatile(const gpu::GlobalAccess &access) {
  return access.isVolatile || access.cache == tile::CacheModifier::CV;
}

//===-- buffers -------------------------------------------------------------------------------===//

/// The words of a buffer's description behind its address and extent: elements are bytes, and an
/// offset outside the extent is looked for.
uint32_t bufferFlags(const AmdArch &arch) {
  constexpr uint32_t kFormat = 7 << 12 | 4 << 15; // 32 bits, of any kind; GFX9's number and data
  // GFX11 and GFX12: the offset alone is compared with the extent.
  constexpr uint32_t kRaw = 3u << 28, kLevel = 1 << 24;
  return arch.isCdna() ? kFormat : kFormat | kRaw | kLevel;
}

/// The bits of LLVM's intrinsics for what metadata says of other accesses ("nontemporal").
uint32_t cachePolicy(const AmdArch &arch, const gpu::GlobalAccess &access, bool isStore) {
  if (!isPassing(access))
    return 0;
  constexpr uint32_t kGlc = 1, kSlc = 2, kDlc = 4, kNontemporal942 = 2, kNontemporal12 = 1;
  if (arch.isGfx12())
    return kNontemporal12;
  if (!arch.isCdna())
    return kSlc | kDlc | (isStore ? kGlc : 0);
  return arch.name == "gfx90a" ? kGlc | kSlc : kNontemporal942;
}

/// What the instructions of buffers load and store, of as many bytes: words, or one smaller number.
llvm::Type *wordsOf(llvm::IRBuilderBase &b, llvm::Type *type) {
  const llvm::DataLayout &data = b.GetInsertBlock()->getModule()->getDataLayout();
  const unsigned bytes = data.getTypeStoreSize(type);
  if (bytes <= 4)
    return b.getIntNTy(8 * bytes);
  return llvm::FixedVectorType::get(b.getInt32Ty(), bytes / 4);
}

/// Bits of one type as another's of the same size; pointers pass through integers.
V bitsAs(llvm::IRBuilderBase &b, V value, llvm::Type *type) {
  auto integersFor = [&](llvm::Type *pointers) { return pointers->getWithNewType(b.getInt64Ty()); };
  if (value->getType()->isPtrOrPtrVectorTy())
    value = b.CreatePtrToInt(value, integersFor(value->getType()));
  if (type->isPtrOrPtrVectorTy())
    return b.CreateIntToPtr(b.CreateBitCast(value, integersFor(type)), type);
  return b.CreateBitCast(value, type);
}

/// The operands of a buffer's instruction: its description, the lane's offset, a scalar one,
/// policy.
llvm::SmallVector<V, 4> bufferOperands(llvm::IRBuilderBase &b, const AmdArch &arch,
                                       const gpu::GlobalAccess &access, V predicate, bool isStore) {
  auto *description = b.getPtrTy(llvm::AMDGPUAS::BUFFER_RESOURCE);
  V buffer = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_make_buffer_rsrc,
                               {description, access.buffer->getType()},
                               {access.buffer, b.getInt16(0), b.getInt64(lang::kBufferBytes),
                                b.getInt32(bufferFlags(arch))});
  // Outside, and so far from the end of 32 bits that no constant leads back to the beginning.
  constexpr uint32_t kOutside = 1u << 31;
  static_assert(kOutside > lang::kBufferBytes);
  V offset = access.offset;
  if (predicate)
    offset = b.CreateSelect(predicate, offset, b.getInt32(kOutside));
  if (access.constantOffset)
    offset = b.CreateAdd(offset, b.getInt32(access.constantOffset));
  return {buffer, offset, b.getInt32(0), b.getInt32(cachePolicy(arch, access, isStore))};
}

} // namespace

V AmdTarget::load(llvm::IRBuilderBase &b, const gpu::GlobalAccess &access, V other) const {
  V rest = other ? other : llvm::Constant::getNullValue(access.type);
  V predicate = access.predicate;
  if (auto *known = llvm::dyn_cast_or_null<llvm::ConstantInt>(predicate)) {
    if (known->isZero())
      return rest;
    predicate = nullptr;
  }
  if (access.buffer) {
    llvm::Type *words = wordsOf(b, access.type);
    V loaded = bitsAs(
        b,
        b.CreateIntrinsic(llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, {words},
                          bufferOperands(b, architecture, access, predicate, /*isStore=*/false)),
        access.type);
    // A lane that is outside gets zeros.
    const bool isZero =
        llvm::isa<llvm::Constant>(rest) && llvm::cast<llvm::Constant>(rest)->isNullValue();
    return predicate && !isZero ? b.CreateSelect(predicate, loaded, rest) : loaded;
  }
  auto plain = [&] {
    auto *load = b.CreateAlignedLoad(access.type, access.address, alignmentOf(access.type),
                                     isVolatile(access));
    setModifiers(load, access);
    return load;
  };
  if (!predicate)
    return plain();
  V loaded = nullptr;
  auto [before, end] = backends::emitWhere(b, predicate, [&] { loaded = plain(); });
  auto *merged = b.CreatePHI(access.type, 2);
  merged->addIncoming(loaded, end);
  merged->addIncoming(rest, before);
  return merged;
}

void AmdTarget::store(llvm::IRBuilderBase &b, const gpu::GlobalAccess &access, V value) const {
  V predicate = access.predicate;
  if (auto *known = llvm::dyn_cast_or_null<llvm::ConstantInt>(predicate)) {
    if (known->isZero())
      return;
    predicate = nullptr;
  }
  if (access.buffer) {
    llvm::SmallVector<V, 5> operands{bitsAs(b, value, wordsOf(b, access.type))};
    operands.append(bufferOperands(b, architecture, access, predicate, /*isStore=*/true));
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_raw_ptr_buffer_store, {operands[0]->getType()},
                      operands);
    return;
  }
  auto plain = [&] {
    setModifiers(
        b.CreateAlignedStore(value, access.address, alignmentOf(access.type), isVolatile(access)),
        access);
  };
  if (!predicate)
    return plain();
  backends::emitWhere(b, predicate, plain);
  // One lane may have stored for others: LLVM takes lanes for threads of their own, and would load
  // what they have not stored before the branch.
  keepAccessesInOrder(b);
}

//===-- copies to LDS -------------------------------------------------------------------------===//

/// Scopes that keep copies and reads of buffers apart. They never meet in one stage at one time;
/// without saying so LLVM waits for all copies in front of each read.
static std::pair<llvm::MDNode *, llvm::MDNode *> copyScopes(llvm::LLVMContext &context) {
  auto named = [&](llvm::ArrayRef<llvm::Metadata *> operands) {
    return llvm::MDNode::get(context, operands);
  };
  llvm::MDNode *domain = named({llvm::MDString::get(context, "sectile.copies")});
  auto scope = [&](const char *name) {
    return named({named({llvm::MDString::get(context, name), domain})});
  };
  return {scope("sectile.copies.copy"), scope("sectile.copies.read")};
}

llvm::AAMDNodes AmdCopies::aliasingOfReads(llvm::LLVMContext &context) const {
  llvm::AAMDNodes nodes;
  std::tie(nodes.NoAlias, nodes.Scope) = copyScopes(context);
  return nodes;
}

void AmdCopies::copy(llvm::IRBuilderBase &b, V shared, const gpu::GlobalAccess &access,
                     unsigned bytes, V validBytes) const {
  assert(!validBytes && "copies of whole warps are not partial");
  (void)validBytes;
  llvm::AAMDNodes nodes;
  std::tie(nodes.Scope, nodes.NoAlias) = copyScopes(b.getContext());
  // A constant offset of the instruction would move the place in LDS, too.
  V size = b.getInt32(bytes), none = b.getInt32(0);
  if (access.buffer) {
    auto from = bufferOperands(b, arch, access, access.predicate, /*isStore=*/false);
    // What is outside the buffer comes as zeros.
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_raw_ptr_buffer_load_lds, {},
                      {from[0], shared, size, from[1], from[2], none, from[3]})
        ->setAAMetadata(nodes);
    return;
  }
  auto plain = [&] {
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_global_load_lds, {},
                      {access.address, shared, size, none,
                       b.getInt32(cachePolicy(arch, access, /*isStore=*/false))})
        ->setAAMetadata(nodes);
  };
  if (!access.predicate)
    return plain();
  backends::emitWhere(b, access.predicate, plain);
  backends::emitWhere(b, b.CreateNot(access.predicate), [&] {
    V lane = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), none});
    lane = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {}, {b.getInt32(~0u), lane});
    V place = b.CreateGEP(b.getInt8Ty(), shared, b.CreateMul(lane, size));
    auto *zeros = llvm::FixedVectorType::get(b.getInt32Ty(), bytes / 4);
    b.CreateAlignedStore(llvm::Constant::getNullValue(zeros), place, llvm::Align(bytes));
  });
}

llvm::SmallVector<V, 4> AmdTransposingReads::load(llvm::IRBuilderBase &b, V row, Kind kind) const {
  const bool isOf16 = kind.elementBits == 16;
  auto *loaded =
      llvm::FixedVectorType::get(isOf16 ? b.getInt16Ty() : b.getInt32Ty(), isOf16 ? 4 : 2);
  llvm::CallInst *call = b.CreateIntrinsic(isOf16 ? llvm::Intrinsic::amdgcn_ds_read_tr16_b64
                                                  : llvm::Intrinsic::amdgcn_ds_read_tr8_b64,
                                           {loaded}, {row});
  llvm::AAMDNodes nodes;
  std::tie(nodes.NoAlias, nodes.Scope) = copyScopes(b.getContext());
  call->setAAMetadata(nodes);
  V words = bitsAs(b, call, llvm::FixedVectorType::get(b.getInt32Ty(), 2));
  return {b.CreateExtractElement(words, uint64_t(0)), b.CreateExtractElement(words, uint64_t(1))};
}

void AmdCopies::wait(llvm::IRBuilderBase &b, unsigned) const {
  constexpr uint32_t kLoadsOnGfx9 = 0x0f70; // vmcnt(0), the other counters at their most
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::amdgcn_s_waitcnt, {b.getInt32(kLoadsOnGfx9)});
}

} // namespace sectile::amd
