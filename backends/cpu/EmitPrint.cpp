// Prints and assertions: what a kernel says to its host.
#include "backends/DebugSites.h"
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
LogicalResult KernelEmitter::emitPrint(PrintOp op) {
  backends::PrintLayout layout = backends::addPrintSite(image, op);
  int64_t frameAtEntry = frameBytes;
  llvm::Value *data = frameAddress(std::max<int64_t>(layout.bytes, 8));
  for (auto [offset, value] : llvm::zip(layout.offsets, op.getArgs())) {
    Type element = elementTypeOf(value.getType());
    auto shape = shapeOf(value.getType());
    llvm::Align align(memoryBytes(element));
    llvm::Value *start = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), data, offset);
    if (shape.empty()) {
      builder.CreateAlignedStore(toMemory(scalar(value), element), start, align);
      continue;
    }
    llvm::Type *inRegister = registerType(element);
    bool isTruth = inRegister->isIntegerTy(1);
    TileBuffer *from = operandBuffer(value, isTruth ? builder.getInt8Ty() : inRegister);
    // Element by element, without the rows' padding.
    llvm::Value *source = index(0), *target = index(0);
    SmallVector<EmittedLoop> loops;
    for (auto [extent, stride] : llvm::zip(shape, from->strides)) {
      loops.push_back(beginLoop(index(0), index(extent), index(1), {}, false));
      source = builder.CreateAdd(source, builder.CreateMul(loops.back().induction, index(stride)));
      target = builder.CreateAdd(builder.CreateMul(target, index(extent)), loops.back().induction);
    }
    llvm::Value *loaded = builder.CreateAlignedLoad(
        from->element, builder.CreateGEP(from->element, from->base, source), llvm::Align(1));
    llvm::Value *stored = isTruth ? loaded : toMemory(loaded, element);
    builder.CreateAlignedStore(stored, builder.CreateGEP(memoryType(element), start, target),
                               align);
    for (EmittedLoop &loop : llvm::reverse(loops))
      endLoop(loop, {});
  }
  llvm::Value *services = callField(offsetof(HostCall, services), builder.getPtrTy(), "services");
  llvm::Value *launch = callField(offsetof(HostCall, launch), builder.getPtrTy(), "launch");
  llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), services,
                                                         offsetof(HostServices, print));
  llvm::Value *service = builder.CreateAlignedLoad(builder.getPtrTy(), slot, llvm::Align(8));
  auto *type = llvm::FunctionType::get(
      builder.getVoidTy(),
      {builder.getPtrTy(), builder.getInt32Ty(), builder.getInt64Ty(), builder.getPtrTy()}, false);
  builder.CreateCall(type, service, {launch, builder.getInt32(layout.site), program, data});
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

LogicalResult KernelEmitter::emitAssert(AssertOp op) {
  if (!options.debug)
    return success();
  auto shape = shapeOf(op.getCondition().getType());
  if (shape.empty()) {
    unsigned site = addTrapSite(op, backends::TrapSite::Kind::Assertion, {}, op.getMessage());
    emitTrapIf(builder.CreateNot(scalar(op.getCondition())), site, index(0));
    return success(!hasFailed);
  }
  Nest nest;
  nest.shape.assign(shape.begin(), shape.end());
  nest.roots.push_back({Root::Kind::Assert, op, {}, nullptr});
  NestEmitter(*this, nest).emit();
  return success(!hasFailed);
}

} // namespace sectile::cpu
