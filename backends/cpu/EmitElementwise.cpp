// Scalar and elementwise ops: those of every back end (backends/common/ElementwiseEmitter.h).
#include "backends/cpu/KernelEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

bool KernelEmitter::isElementwise(Operation *op) {
  return backends::ElementwiseEmitter::isElementwise(op);
}

llvm::SmallVector<llvm::Value *, 2>
KernelEmitter::emitElementwise(Operation *op, ArrayRef<llvm::Value *> operands) {
  auto results = elementwise.emit(op, operands);
  if (!results.empty() || !op->getNumResults())
    return results;
  fail(op, "no lowering to host code");
  for (Type type : op->getResultTypes())
    results.push_back(llvm::PoisonValue::get(registerType(elementTypeOf(type))));
  return results;
}

llvm::SmallVector<llvm::Value *, 2> KernelEmitter::emitCombiner(Block &block,
                                                                ArrayRef<llvm::Value *> arguments) {
  return backends::ElementwiseEmitter::emitCombiner(
      block, arguments, [&](Attribute number, Type type) { return constantOf(number, type); },
      [&](Operation *op, ArrayRef<llvm::Value *> operands) {
        return emitElementwise(op, operands);
      });
}

} // namespace sectile::cpu
