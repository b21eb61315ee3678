#include "optimizer/FlattenMaps.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Whether every operation of the block has a counterpart on tiles that may run for elements that
/// do not need it.
bool canFlatten(Block &block) {
  return llvm::all_of(block, [](Operation &op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return canFlatten(*branch.thenBlock()) &&
             (!branch.elseBlock() || canFlatten(*branch.elseBlock()));
    return op.hasTrait<OpTrait::IsTerminator>() || isa<arith::ConstantOp>(op) ||
           (OpTrait::hasElementwiseMappableTraits(&op) && isMemoryEffectFree(&op)) ||
           isa<PtrAddOp, PtrToIntOp, IntToPtrOp, PtrCastOp>(op);
  });
}

class Flattener {
public:
  explicit Flattener(MapOp op) : builder(op), shape(shapeOf(op.getSrcs().front().getType())) {
    for (auto [argument, source] : llvm::zip(op.getFunction().getArguments(), op.getSrcs()))
      tiles.map(argument, source);
  }

  SmallVector<Value> run(Block &block) {
    for (Operation &op : block.without_terminator())
      flatten(op);
    return llvm::map_to_vector(block.getTerminator()->getOperands(),
                               [&](Value value) { return tiles.lookup(value); });
  }

private:
  void flatten(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = cast<RankedTensorType>(tileOf(shape, constant.getType()));
      auto elements = DenseElementsAttr::get(type, constant.getValue());
      tiles.map(constant.getResult(),
                arith::ConstantOp::create(builder, op.getLoc(), elements).getResult());
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      SmallVector<Value> then = run(*branch.thenBlock()), otherwise;
      if (branch.elseBlock())
        otherwise = run(*branch.elseBlock());
      for (auto [result, whenTrue, whenFalse] : llvm::zip(branch.getResults(), then, otherwise))
        tiles.map(result,
                  arith::SelectOp::create(builder, op.getLoc(), tiles.lookup(branch.getCondition()),
                                          whenTrue, whenFalse)
                      .getResult());
      return;
    }
    OperationState state(op.getLoc(), op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(tiles.lookup(operand));
    for (Type type : op.getResultTypes())
      state.addTypes(tileOf(shape, type));
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    Operation *made = builder.create(state);
    for (auto [result, tile] : llvm::zip(op.getResults(), made->getResults()))
      tiles.map(result, tile);
  }

  OpBuilder builder;
  SmallVector<int64_t> shape;
  IRMapping tiles;
};

struct FlattenMaps : PassWrapper<FlattenMaps, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenMaps)

  StringRef getArgument() const override { return "flatten-maps"; }
  StringRef getDescription() const override {
    return "functions of elements that do not loop become operations on tiles";
  }

  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation().walk([&](MapOp op) { maps.push_back(op); });
    for (MapOp op : maps) {
      Block &function = op.getFunction().front();
      if (!canFlatten(function))
        continue;
      op->replaceAllUsesWith(Flattener(op).run(function));
      op->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createFlattenMaps() {
  return std::make_unique<FlattenMaps>();
}

} // namespace sectile::optimizer
