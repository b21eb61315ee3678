#include "lang/semantics/KernelFunction.h"

#include "lang/semantics/BlockValues.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {

KernelFunction createKernelFunction(OpBuilder &builder, const KernelSignature &signature,
                                    Location location) {
  DiagnosticSink unused; // only types are asked for
  Semantics sema(builder, unused);
  KernelFunction kernel;
  kernel.module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(kernel.module->getBody());

  SmallVector<mlir::Type> types;
  forEachLeaf(signature, [&](const KernelParameter &parameter, size_t) {
    if (!parameter.constant)
      types.push_back(sema.irType(parameter.dtype));
  });
  kernel.function = func::FuncOp::create(builder, location, signature.nameOfCode(),
                                         builder.getFunctionType(types, {}));
  kernel.function->setAttr(tile::kKernelAttr, builder.getUnitAttr());
  Block *body = kernel.function.addEntryBlock();

  builder.setInsertionPointToEnd(body);
  unsigned index = 0;
  auto operandOf = [&](auto &self, const KernelParameter &parameter) -> Operand {
    if (parameter.constant)
      return *parameter.constant;
    if (parameter.items) {
      std::vector<Operand> items;
      for (const KernelParameter &item : *parameter.items)
        items.push_back(self(self, item));
      if (isSameClass(parameter.tupleClass, tensorDescriptorClass()))
        return descriptorOfArguments(sema, std::move(items));
      return makeTuple(std::move(items), parameter.tupleClass);
    }
    kernel.function.setArgAttr(index, tile::kArgumentNameAttr,
                               builder.getStringAttr(parameter.name));
    if (parameter.divisibleBy16)
      kernel.function.setArgAttr(index, tile::kDivisibilityAttr, builder.getI64IntegerAttr(16));
    return Value{body->getArgument(index++), {parameter.dtype, {}}};
  };
  for (const KernelParameter &parameter : signature.parameters)
    kernel.parameters.push_back(operandOf(operandOf, parameter));
  return kernel;
}

} // namespace sectile::lang
