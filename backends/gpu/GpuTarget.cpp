#include "backends/gpu/GpuTarget.h"

using namespace sectile::tile;

namespace sectile::gpu {
namespace {

llvm::AtomicOrdering orderingOf(MemorySemantic semantic) {
  switch (semantic) {
  case MemorySemantic::Relaxed:
    return llvm::AtomicOrdering::Monotonic;
  case MemorySemantic::Acquire:
    return llvm::AtomicOrdering::Acquire;
  case MemorySemantic::Release:
    return llvm::AtomicOrdering::Release;
  case MemorySemantic::AcquireRelease:
    return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::AcquireRelease;
}

llvm::AtomicRMWInst::BinOp binaryOf(RmwKind kind) {
  using B = llvm::AtomicRMWInst::BinOp;
  switch (kind) {
  case RmwKind::And:
    return B::And;
  case RmwKind::Or:
    return B::Or;
  case RmwKind::Xor:
    return B::Xor;
  case RmwKind::Add:
    return B::Add;
  case RmwKind::FAdd:
    return B::FAdd;
  case RmwKind::Max:
    return B::Max;
  case RmwKind::Min:
    return B::Min;
  case RmwKind::UMax:
    return B::UMax;
  case RmwKind::UMin:
    return B::UMin;
  case RmwKind::FMax:
    return B::FMax;
  case RmwKind::FMin:
    return B::FMin;
  case RmwKind::Exchange:
    return B::Xchg;
  }
  return B::Xchg;
}

llvm::Align alignOf(llvm::Value *value) {
  llvm::Type *type = value->getType();
  return llvm::Align(type->isPointerTy() ? 8 : type->getPrimitiveSizeInBits() / 8);
}

} // namespace

void GpuTarget::fence(llvm::IRBuilderBase &builder, MemoryScope scope) const {
  builder.CreateFence(llvm::AtomicOrdering::AcquireRelease,
                      builder.getContext().getOrInsertSyncScopeID(syncScope(scope)));
}

llvm::Value *GpuTarget::atomicRmw(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                  RmwKind kind, llvm::Value *value, mlir::Type, bool) const {
  auto scope = builder.getContext().getOrInsertSyncScopeID(syncScope(access.scope));
  return builder.CreateAtomicRMW(binaryOf(kind), access.address, value, alignOf(value),
                                 orderingOf(access.semantic), scope);
}

llvm::Value *GpuTarget::atomicCas(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                  llvm::Value *expected, llvm::Value *desired, mlir::Type) const {
  auto scope = builder.getContext().getOrInsertSyncScopeID(syncScope(access.scope));
  llvm::Type *type = expected->getType();
  bool isInteger = type->isIntegerTy() || type->isPointerTy();
  llvm::Type *integer = isInteger ? type : builder.getIntNTy(type->getPrimitiveSizeInBits());
  auto ordering = orderingOf(access.semantic);
  auto *pair = builder.CreateAtomicCmpXchg(
      access.address, builder.CreateBitCast(expected, integer),
      builder.CreateBitCast(desired, integer), alignOf(expected), ordering,
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering), scope);
  return builder.CreateBitCast(builder.CreateExtractValue(pair, 0), type);
}

} // namespace sectile::gpu
