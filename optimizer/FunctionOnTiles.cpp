#include "optimizer/FunctionOnTiles.h"

#include "lang/tile/EffectMasks.h"
#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

class Application {
public:
  Application(OpBuilder &builder, Block &function, ValueRange sources)
      : builder(builder), shape(shapeOf(sources.front().getType())) {
    tiles.map(function.getArguments(), sources);
  }

  SmallVector<Value> run(Block &block) {
    for (Operation &op : block.without_terminator())
      apply(op);
    return llvm::map_to_vector(block.getTerminator()->getOperands(),
                               [&](Value value) { return tiles.lookup(value); });
  }

private:
  void apply(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return repeat(constant);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return select(branch);
    if (op.getNumOperands() == 0)
      return repeat(*builder.clone(op), op);
    OperationState state(op.getLoc(), op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(tiles.lookup(operand));
    for (Type type : op.getResultTypes())
      state.addTypes(tileOf(shape, type));
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    Operation *made = builder.create(state);
    if (isHere && !isMemoryEffectFree(made))
      maskEffects(builder, made, isHere);
    tiles.map(op.getResults(), made->getResults());
  }

  void repeat(arith::ConstantOp constant) {
    auto type = cast<RankedTensorType>(tileOf(shape, constant.getType()));
    auto elements = DenseElementsAttr::get(type, constant.getValue());
    tiles.map(constant.getResult(),
              arith::ConstantOp::create(builder, constant.getLoc(), elements).getResult());
  }
  /// What takes nothing is the same for every element: the number of the program, a clock.
  void repeat(Operation &made, Operation &op) {
    for (auto [result, scalar] : llvm::zip(op.getResults(), made.getResults()))
      tiles.map(result,
                SplatOp::create(builder, op.getLoc(), tileOf(shape, result.getType()), scalar)
                    .getResult());
  }
  void select(scf::IfOp branch) {
    const Value condition = tiles.lookup(branch.getCondition()), around = isHere;
    const bool hasEffects = !isMemoryEffectFree(branch);
    if (hasEffects)
      isHere = both(branch.getLoc(), around, condition);
    SmallVector<Value> then = run(*branch.thenBlock()), otherwise;
    if (branch.elseBlock()) {
      if (hasEffects)
        isHere = both(branch.getLoc(), around, negated(builder, branch.getLoc(), condition));
      otherwise = run(*branch.elseBlock());
    }
    isHere = around;
    for (auto [result, whenTrue, whenFalse] : llvm::zip(branch.getResults(), then, otherwise))
      tiles.map(result,
                arith::SelectOp::create(builder, branch.getLoc(), condition, whenTrue, whenFalse)
                    .getResult());
  }

  /// Both conditions; the first may be null, which always holds.
  Value both(Location loc, Value first, Value second) {
    return first ? arith::AndIOp::create(builder, loc, first, second).getResult() : second;
  }

  OpBuilder &builder;
  SmallVector<int64_t> shape;
  IRMapping tiles;
  /// The elements that take all branches around, where these have effects; null: all elements.
  Value isHere;
};

} // namespace

bool hasFormOnTiles(Block &function) {
  return llvm::all_of(function, [](Operation &op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return hasFormOnTiles(*branch.thenBlock()) &&
             (!branch.elseBlock() || hasFormOnTiles(*branch.elseBlock()));
    return op.hasTrait<OpTrait::IsTerminator>() || isa<arith::ConstantOp>(op) ||
           (OpTrait::hasElementwiseMappableTraits(&op) && isMemoryEffectFree(&op)) ||
           isa<PtrAddOp, PtrToIntOp, IntToPtrOp, PtrCastOp>(op);
  });
}

SmallVector<Value> applyToTiles(OpBuilder &builder, Block &function, ValueRange tiles) {
  return Application(builder, function, tiles).run(function);
}

} // namespace sectile::optimizer
