#include "optimizer/FlattenMaps.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/FunctionOnTiles.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

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
      if (!hasFormOnTiles(function))
        continue;
      OpBuilder builder(op);
      op->replaceAllUsesWith(applyToTiles(builder, function, op.getSrcs()));
      op->erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createFlattenMaps() {
  return std::make_unique<FlattenMaps>();
}

} // namespace sectile::optimizer
