#include "optimizer/gpu/NarrowOperands.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Returns the type of halves that an operand's numbers had; null where they are no such numbers.
/// They may have been moved since.
Type narrowTypeOf(Value operand) {
  while (isa_and_present<TransposeOp, ReshapeOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  auto widened = operand.getDefiningOp<arith::ExtFOp>();
  if (!widened || !getElementTypeOrSelf(widened.getType()).isF32())
    return {};
  Type narrow = getElementTypeOrSelf(widened.getIn().getType());
  return isa<Float16Type, BFloat16Type>(narrow) ? narrow : Type();
}

/// Returns the operand as it would be without the conversion.
Value narrowed(OpBuilder &builder, Value operand, Type element) {
  if (auto widened = operand.getDefiningOp<arith::ExtFOp>())
    return widened.getIn();
  Operation *move = operand.getDefiningOp();
  Value source = narrowed(builder, move->getOperand(0), element);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(move);
  Operation *moved = builder.clone(*move);
  moved->setOperand(0, source);
  moved->getResult(0).setType(cast<RankedTensorType>(operand.getType()).clone(element));
  return moved->getResult(0);
}

struct NarrowOperands : PassWrapper<NarrowOperands, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NarrowOperands)

  StringRef getArgument() const override { return "narrow-operands"; }
  StringRef getDescription() const override {
    return "products of halves that were widened are products of halves";
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    getOperation().walk([&](DotOp product) {
      if (product.getPrecision() == InputPrecision::Ieee)
        return;
      Type element = narrowTypeOf(product.getLhs());
      if (!element || narrowTypeOf(product.getRhs()) != element)
        return;
      product.getLhsMutable().assign(narrowed(builder, product.getLhs(), element));
      product.getRhsMutable().assign(narrowed(builder, product.getRhs(), element));
    });
  }
};

} // namespace

std::unique_ptr<Pass> createNarrowOperands() {
  return std::make_unique<NarrowOperands>();
}

} // namespace sectile::optimizer
