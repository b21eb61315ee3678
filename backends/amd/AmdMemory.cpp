// Global memory. There are no predicated instructions: an access with a predicate stands in a
// branch of its own, which becomes a mask of lanes.
#include "backends/amd/AmdTarget.h"
#include "backends/common/math/Branch.h"

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

/// What was loaded or stored once is not kept in caches.
void setModifiers(llvm::Instruction *instruction, const gpu::GlobalAccess &access) {
  if (access.cache != tile::CacheModifier::CS && access.cache != tile::CacheModifier::CG &&
      access.eviction != tile::EvictionPolicy::EvictFirst)
    return;
  llvm::LLVMContext &context = instruction->getContext();
  auto *one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  instruction->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
}

bool isVolatile(const gpu::GlobalAccess &access) {
  return access.isVolatile || access.cache == tile::CacheModifier::CV;
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

} // namespace sectile::amd
