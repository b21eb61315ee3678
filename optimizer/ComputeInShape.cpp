#include "optimizer/ComputeInShape.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sectile::optimizer {

using tile::isTile;

bool makesTileElementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || op->getNumOperands() == 0 ||
      !isTile(op->getResult(0)))
    return false;
  if (isa<tile::PtrAddOp, tile::PtrCastOp, tile::PtrToIntOp, tile::IntToPtrOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op);
}

static DenseElementsAttr splatConstant(Value value) {
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements;
  return {};
}

bool isUniform(Value value) {
  return !isTile(value) || value.getDefiningOp<tile::SplatOp>() || splatConstant(value);
}

Value scalarOf(Value value, OpBuilder &builder) {
  if (!isTile(value))
    return value;
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    return splat.getSrc();
  return arith::ConstantOp::create(builder, value.getLoc(),
                                   splatConstant(value).getSplatValue<TypedAttr>());
}

Value rebuild(Operation *op, ValueRange operands, Type type, OpBuilder &builder) {
  OperationState state(op->getLoc(), op->getName(), operands, type,
                       op->getAttrDictionary().getValue());
  return builder.create(state)->getResult(0);
}

Value computeInShape(Operation *op, ArrayRef<int64_t> shape, OpBuilder &builder,
                     llvm::function_ref<Value(Value)> inShape) {
  auto inThatShape = [&](Value tile) {
    return RankedTensorType::get(shape, tile::elementTypeOf(tile.getType()));
  };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isTile(operand)) // a scalar condition
      operands.push_back(operand);
    else if (!isUniform(operand))
      operands.push_back(inShape(operand));
    else if (auto elements = splatConstant(operand))
      operands.push_back(arith::ConstantOp::create(builder, operand.getLoc(),
                                                   elements.resizeSplat(inThatShape(operand))));
    else
      operands.push_back(tile::SplatOp::create(builder, operand.getLoc(), inThatShape(operand),
                                               scalarOf(operand, builder)));
  }
  return rebuild(op, operands, inThatShape(op->getResult(0)), builder);
}

} // namespace sectile::optimizer
