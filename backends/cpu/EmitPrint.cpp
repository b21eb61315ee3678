// Prints and assertions: what a kernel says to its host.
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

lang::DType dtypeOf(Type element, bool isSigned) {
  using K = lang::ScalarKind;
  auto scalar = [](K kind) { return lang::DType::scalar(kind); };
  if (element.isF64())
    return scalar(K::Float64);
  if (element.isF32())
    return scalar(K::Float32);
  if (auto narrow = narrowFloatOf(element))
    switch (*narrow) {
    case NarrowFloat::F16:
      return scalar(K::Float16);
    case NarrowFloat::BF16:
      return scalar(K::BFloat16);
    case NarrowFloat::F8E4M3FN:
      return scalar(K::Float8E4NV);
    case NarrowFloat::F8E4M3FNUZ:
      return scalar(K::Float8E4B8);
    case NarrowFloat::F8E5M2:
      return scalar(K::Float8E5);
    case NarrowFloat::F8E5M2FNUZ:
      return scalar(K::Float8E5B16);
    }
  if (auto integer = dyn_cast<IntegerType>(element))
    switch (integer.getWidth()) {
    case 1:
      return scalar(K::Int1);
    case 8:
      return scalar(isSigned ? K::Int8 : K::UInt8);
    case 16:
      return scalar(isSigned ? K::Int16 : K::UInt16);
    case 32:
      return scalar(isSigned ? K::Int32 : K::UInt32);
    default:
      break;
    }
  return scalar(isSigned && !isa<PtrType>(element) ? K::Int64 : K::UInt64);
}

} // namespace

LogicalResult KernelEmitter::emitPrint(PrintOp op) {
  backends::PrintSite site;
  site.prefix = op.getPrefix().str();
  site.isHexadecimal = op.getHex();
  int64_t bytes = 0;
  SmallVector<int64_t> offsets;
  for (auto [number, value] : llvm::enumerate(op.getArgs())) {
    Type element = elementTypeOf(value.getType());
    auto shape = shapeOf(value.getType());
    bool isSigned = number < op.getIsSigned().size() && op.getIsSigned()[number];
    site.operands.push_back({dtypeOf(element, isSigned), {shape.begin(), shape.end()}});
    bytes = llvm::alignTo(bytes, 8);
    offsets.push_back(bytes);
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    bytes += elements * memoryBytes(element);
  }
  int64_t frameAtEntry = frameBytes;
  llvm::Value *data = frameAddress(std::max<int64_t>(bytes, 8));
  for (auto [offset, value] : llvm::zip(offsets, op.getArgs())) {
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
  builder.CreateCall(type, service,
                     {launch, builder.getInt32(image.printSites.size()), program, data});
  image.printSites.push_back(std::move(site));
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
