#include "jit/compiler/KernelArguments.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/PointerProvenance.h"

using namespace mlir;
using sectile::lang::DType;
using sectile::lang::ScalarKind;

namespace sectile::jit {
namespace {

ScalarKind kindOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return ScalarKind::Int1;
    case 8:
      return ScalarKind::Int8;
    case 16:
      return ScalarKind::Int16;
    case 64:
      return ScalarKind::Int64;
    default:
      return ScalarKind::Int32;
    }
  }
  return llvm::TypeSwitch<Type, ScalarKind>(type)
      .Case([](Float16Type) { return ScalarKind::Float16; })
      .Case([](BFloat16Type) { return ScalarKind::BFloat16; })
      .Case([](Float64Type) { return ScalarKind::Float64; })
      .Case([](Float8E4M3FNType) { return ScalarKind::Float8E4NV; })
      .Case([](Float8E4M3FNUZType) { return ScalarKind::Float8E4B8; })
      .Case([](Float8E5M2Type) { return ScalarKind::Float8E5; })
      .Case([](Float8E5M2FNUZType) { return ScalarKind::Float8E5B16; })
      .Default([](Type) { return ScalarKind::Float32; });
}

DType dtypeOf(Type type) {
  if (auto pointer = dyn_cast<tile::PtrType>(type))
    return DType::pointer(kindOf(pointer.getPointee()));
  return DType::scalar(kindOf(type));
}

func::FuncOp kernelOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(tile::kKernelAttr))
      return function;
  return {};
}

} // namespace

std::vector<backends::KernelArgument> kernelArguments(ModuleOp module,
                                                      const lang::KernelSignature &signature) {
  std::vector<backends::KernelArgument> arguments;
  func::FuncOp function = kernelOf(module);
  if (!function)
    return arguments;
  lang::forEachLeaf(signature, [&](const lang::KernelParameter &parameter, size_t index) {
    if (!parameter.constant)
      arguments.push_back({parameter.name, parameter.dtype, uint32_t(index), false});
  });
  if (arguments.size() != function.getNumArguments()) {
    arguments.clear();
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto name = function.getArgAttrOfType<StringAttr>(index, tile::kArgumentNameAttr);
      arguments.push_back({name ? name.str() : "arg" + std::to_string(index),
                           dtypeOf(argument.getType()), index, false});
    }
  }
  optimizer::PointerProvenance provenance(function);
  for (auto [index, argument] : llvm::enumerate(arguments))
    argument.isWritten = provenance.mayWrite(index);
  return arguments;
}

} // namespace sectile::jit
