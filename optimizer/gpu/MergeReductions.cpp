#include "optimizer/gpu/MergeReductions.h"

#include "lang/tile/TileDialect.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

bool areSameCombiners(ReduceOp a, ReduceOp b) {
  return OperationEquivalence::isRegionEquivalentTo(&a.getCombiner(), &b.getCombiner(),
                                                    OperationEquivalence::IgnoreLocations);
}

struct MergeReductions : PassWrapper<MergeReductions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeReductions)

  StringRef getArgument() const override { return "merge-reductions"; }
  StringRef getDescription() const override {
    return "reductions along all axes of a tile become one";
  }

  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp reduce) { reductions.push_back(reduce); });
    for (ReduceOp reduce : reductions)
      merge(reduce);
  }

  /// Goes up from a reduction to a number as long as nothing else takes what is reduced.
  static void merge(ReduceOp last) {
    if (last.getSrcs().size() != 1 || isTile(last->getResult(0)) ||
        !isMemoryEffectFree(last.getOperation()))
      return;
    SmallVector<ReduceOp, 2> before;
    Value source = last.getSrcs().front();
    while (auto reduce = source.getDefiningOp<ReduceOp>()) {
      if (reduce.getSrcs().size() != 1 || !reduce->hasOneUse() || !areSameCombiners(reduce, last) ||
          reduce->getBlock() != last->getBlock())
        break;
      before.push_back(reduce);
      source = reduce.getSrcs().front();
    }
    if (before.empty())
      return;
    auto type = cast<RankedTensorType>(source.getType());
    OpBuilder builder(last);
    Value flat = ReshapeOp::create(
        builder, last.getLoc(),
        RankedTensorType::get({type.getNumElements()}, type.getElementType()), source);
    last.getSrcsMutable().assign(flat);
    last.setAxis(0);
    for (ReduceOp reduce : before)
      reduce.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createMergeReductions() {
  return std::make_unique<MergeReductions>();
}

} // namespace sectile::optimizer
