#include "optimizer/HoistInvariants.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

struct HoistInvariants : PassWrapper<HoistInvariants, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistInvariants)

  StringRef getArgument() const override { return "hoist-invariants"; }
  StringRef getDescription() const override {
    return "move what does not change from turn to turn out of loops";
  }

  void runOnOperation() override {
    // Inner before outer: what leaves one loop may leave the next.
    getOperation().walk([](LoopLikeOpInterface loop) {
      if (!loop->hasAttr(tile::kKeepInvariantsAttr))
        moveLoopInvariantCode(loop);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createHoistInvariants() {
  return std::make_unique<HoistInvariants>();
}

} // namespace sectile::optimizer
