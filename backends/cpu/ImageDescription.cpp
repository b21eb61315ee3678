#include "backends/cpu/ImageDescription.h"

#include "backends/common/math/NumberConversion.h"
#include "backends/cpu/HostAbi.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/PointerProvenance.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

lang::ScalarKind scalarKindOf(Type type) {
  using K = lang::ScalarKind;
  if (type.isF64())
    return K::Float64;
  if (type.isF32())
    return K::Float32;
  if (auto narrow = backends::narrowFloatOf(type))
    switch (*narrow) {
    case backends::NarrowFloat::F16:
      return K::Float16;
    case backends::NarrowFloat::BF16:
      return K::BFloat16;
    case backends::NarrowFloat::F8E4M3FN:
      return K::Float8E4NV;
    case backends::NarrowFloat::F8E4M3FNUZ:
      return K::Float8E4B8;
    case backends::NarrowFloat::F8E5M2:
      return K::Float8E5;
    case backends::NarrowFloat::F8E5M2FNUZ:
      return K::Float8E5B16;
    }
  // The IR does not say which integers are unsigned; only the signature does.
  if (type.isInteger(1))
    return K::Int1;
  if (type.isInteger(8))
    return K::Int8;
  if (type.isInteger(16))
    return K::Int16;
  if (type.isInteger(32))
    return K::Int32;
  return K::Int64;
}

/// The kernel's name as a symbol, by which profilers and debuggers show it. Where it is the name of
/// a library function, calls that the code generator makes would find the kernel instead.
std::string entryPointOf(llvm::StringRef name) {
  std::string symbol = name.str();
  for (char &letter : symbol)
    if (!llvm::isAlnum(letter) && letter != '_')
      letter = '_';
  static const llvm::TargetLibraryInfoImpl library(llvm::Triple("x86_64-unknown-linux-gnu"));
  llvm::LibFunc known;
  bool isTaken = symbol.empty() || llvm::isDigit(symbol[0]) || symbol[0] == '_' ||
                 library.getLibFunc(symbol, known);
  return isTaken ? "sectile_kernel_" + symbol : symbol;
}

} // namespace

void describeKernel(func::FuncOp function, std::string targetName, backends::KernelImage &image) {
  image.variantName = function.getName().str();
  image.backend = "cpu";
  image.targetName = std::move(targetName);
  image.entryPoint = entryPointOf(function.getName());
  for (BlockArgument argument : function.getArguments()) {
    backends::KernelArgument described;
    unsigned number = argument.getArgNumber();
    if (auto name = function.getArgAttrOfType<StringAttr>(number, kArgumentNameAttr))
      described.name = name.getValue().str();
    else
      described.name = "arg" + std::to_string(number);
    described.parameterIndex = number;
    if (auto pointer = dyn_cast<PtrType>(argument.getType()))
      described.dtype = lang::DType::pointer(scalarKindOf(pointer.getPointee()));
    else
      described.dtype = lang::DType::scalar(scalarKindOf(argument.getType()));
    image.arguments.push_back(std::move(described));
  }
  optimizer::PointerProvenance provenance(function);
  for (auto [number, argument] : llvm::enumerate(image.arguments))
    argument.isWritten = provenance.mayWrite(number);
}

} // namespace sectile::cpu
