#include "backends/DebugSites.h"

#include "lang/tile/SourcePlace.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::backends {
namespace {

lang::ScalarKind scalarKindOf(Type element, bool isSigned) {
  using K = lang::ScalarKind;
  if (element.isF64())
    return K::Float64;
  if (element.isF32())
    return K::Float32;
  if (element.isF16())
    return K::Float16;
  if (element.isBF16())
    return K::BFloat16;
  if (isa<Float8E4M3FNType>(element))
    return K::Float8E4NV;
  if (isa<Float8E4M3FNUZType>(element))
    return K::Float8E4B8;
  if (isa<Float8E5M2Type>(element))
    return K::Float8E5;
  if (isa<Float8E5M2FNUZType>(element))
    return K::Float8E5B16;
  if (auto integer = dyn_cast<IntegerType>(element))
    switch (integer.getWidth()) {
    case 1:
      return K::Int1;
    case 8:
      return isSigned ? K::Int8 : K::UInt8;
    case 16:
      return isSigned ? K::Int16 : K::UInt16;
    case 32:
      return isSigned ? K::Int32 : K::UInt32;
    default:
      break;
    }
  return isSigned ? K::Int64 : K::UInt64;
}

lang::DType dtypeOf(Type element, bool isSigned) {
  if (auto pointer = dyn_cast<PtrType>(element))
    return lang::DType::pointer(scalarKindOf(pointer.getPointee(), /*isSigned=*/true));
  return lang::DType::scalar(scalarKindOf(element, isSigned));
}

} // namespace

unsigned addTrapSite(KernelImage &image, Operation *op, TrapSite::Kind kind,
                     std::optional<unsigned> argument, StringRef message) {
  lang::SourcePlace place = lang::sourcePlaceOf(op->getLoc());
  TrapSite site;
  site.kind = kind;
  site.message = message.str();
  site.file = std::move(place.file);
  site.function = std::move(place.function);
  site.line = place.line;
  site.column = place.column;
  site.argument = argument ? int32_t(*argument) : -1;
  image.trapSites.push_back(std::move(site));
  return image.trapSites.size() - 1;
}

unsigned addGatherSite(KernelImage &image, GatherOp op) {
  int64_t extent = shapeOf(op.getSrc().getType())[op.getAxis()];
  return addTrapSite(image, op, TrapSite::Kind::Gather, {},
                     "axis " + std::to_string(op.getAxis()) + ", which has " +
                         std::to_string(extent) + (extent == 1 ? " element" : " elements"));
}

PrintLayout addPrintSite(KernelImage &image, PrintOp op) {
  PrintSite site;
  site.prefix = op.getPrefix().str();
  site.isHexadecimal = op.getHex();
  PrintLayout layout;
  layout.site = image.printSites.size();
  for (auto [number, value] : llvm::enumerate(op.getArgs())) {
    auto shape = shapeOf(value.getType());
    bool isSigned = number < op.getIsSigned().size() && op.getIsSigned()[number];
    lang::DType dtype = dtypeOf(elementTypeOf(value.getType()), isSigned);
    std::string name;
    if (ArrayAttr names = op.getNamesAttr(); names && number < names.size())
      name = cast<StringAttr>(names[number]).str();
    site.operands.push_back({dtype, {shape.begin(), shape.end()}, std::move(name)});
    layout.offsets.push_back(layout.bytes);
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    layout.bytes = llvm::alignTo(layout.bytes + elements * dtype.bytes(), 8);
  }
  image.printSites.push_back(std::move(site));
  return layout;
}

} // namespace sectile::backends
