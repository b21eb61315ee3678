#include "backends/gpu/GpuTarget.h"

#include "backends/common/Atomics.h"

using namespace sectile::tile;

namespace sectile::gpu {
namespace {

llvm::Align alignOf(llvm::Value *value) {
  llvm::Type *type = value->getType();
  return llvm::Align(type->isPointerTy() ? 8 : type->getPrimitiveSizeInBits() / 8);
}

} // namespace

void GpuTarget::fence(llvm::IRBuilderBase &builder, MemoryScope scope) const {
  builder.CreateFence(llvm::AtomicOrdering::AcquireRelease,
                      builder.getContext().getOrInsertSyncScopeID(syncScope(scope)));
}

llvm::Value *GpuTarget::oneLane(llvm::IRBuilderBase &builder) const {
  llvm::Value *lane = builder.CreateAnd(threadIndex(builder), laneCount - 1);
  return builder.CreateICmpEQ(lane, builder.getInt32(0));
}

llvm::Value *GpuTarget::atomicRmw(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                  RmwKind kind, llvm::Value *value, mlir::Type, bool) const {
  auto scope = builder.getContext().getOrInsertSyncScopeID(syncScope(access.scope));
  return builder.CreateAtomicRMW(backends::binaryOf(kind), access.address, value, alignOf(value),
                                 backends::orderingOf(access.semantic), scope);
}

llvm::Value *GpuTarget::atomicCas(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                  llvm::Value *expected, llvm::Value *desired, mlir::Type) const {
  auto scope = builder.getContext().getOrInsertSyncScopeID(syncScope(access.scope));
  llvm::Type *type = expected->getType();
  bool isInteger = type->isIntegerTy() || type->isPointerTy();
  llvm::Type *integer = isInteger ? type : builder.getIntNTy(type->getPrimitiveSizeInBits());
  auto ordering = backends::orderingOf(access.semantic);
  auto *pair = builder.CreateAtomicCmpXchg(
      access.address, builder.CreateBitCast(expected, integer),
      builder.CreateBitCast(desired, integer), alignOf(expected), ordering,
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering), scope);
  return builder.CreateBitCast(builder.CreateExtractValue(pair, 0), type);
}

} // namespace sectile::gpu
