// Atomics are LLVM's, which makes a loop of compare and swap of what the chip has no instruction
// for, or none that is right for every kind of memory: instructions on floating-point numbers may
// be dropped without a word where memory is fine-grained, as the host's is. (LLVM's AMDGPUUsage,
// "LLVM IR Metadata".)
#include "backends/amd/AmdTarget.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::amd {

unsigned AmdTarget::atomicWidth(RmwKind kind, Type element) const {
  // Where pairs have no instruction, one loop for both is still better than a loop for each, which
  // has to compare and swap the whole word.
  return kind == RmwKind::FAdd && (element.isF16() || element.isBF16()) ? 2 : 1;
}

bool AmdTarget::wantsDeviceMemory(RmwKind kind, Type element, MemoryScope scope) const {
  const bool isDouble = element.isF64();
  switch (kind) {
  case RmwKind::Add:
  case RmwKind::Exchange: // all that PCIe has
    return false;
  case RmwKind::FAdd: {
    bool hasInstruction = isDouble           ? architecture.isCdna()
                          : element.isF16()  ? architecture.name != "gfx1100"
                          : element.isBF16() ? architecture.addsAnywhere
                                             : element.isF32();
    return hasInstruction && (!architecture.addsAnywhere || scope == MemoryScope::System);
  }
  case RmwKind::FMax:
  case RmwKind::FMin: {
    bool hasInstruction = architecture.isCdna() ? isDouble : element.isF32();
    return hasInstruction && (!architecture.addsAnywhere || scope == MemoryScope::System);
  }
  default:
    return scope == MemoryScope::System && element.getIntOrFloatBitWidth() >= 32;
  }
}

llvm::Value *AmdTarget::atomicRmw(llvm::IRBuilderBase &b, const gpu::AtomicAccess &access,
                                  RmwKind kind, llvm::Value *value, Type element,
                                  bool isUsed) const {
  llvm::Value *old = GpuTarget::atomicRmw(b, access, kind, value, element, isUsed);
  if (!access.isDeviceMemory)
    return old;
  auto *atomic = llvm::cast<llvm::AtomicRMWInst>(old);
  auto *yes = llvm::MDNode::get(b.getContext(), {});
  atomic->setMetadata("amdgpu.no.fine.grained.memory", yes);
  atomic->setMetadata("amdgpu.no.remote.memory", yes);
  // gfx90a adds f32 in memory without subnormal numbers, as NVIDIA's GPUs do.
  if (kind == RmwKind::FAdd && element.isF32())
    atomic->setMetadata("amdgpu.ignore.denormal.mode", yes);
  return old;
}

} // namespace sectile::amd
