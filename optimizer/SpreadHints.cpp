#include "optimizer/SpreadHints.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

struct SpreadHints : PassWrapper<SpreadHints, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SpreadHints)

  StringRef getArgument() const override { return "spread-hints"; }
  StringRef getDescription() const override {
    return "values that a hint without uses is about are used as the hint says they are";
  }

  void runOnOperation() override {
    SmallVector<HintOp> unread;
    getOperation().walk([&](HintOp hint) {
      // What a descriptor promises, its kernel does not say of other accesses.
      if (hint->use_empty() && !hint.getDescribed())
        unread.push_back(hint);
    });
    if (unread.empty())
      return;
    auto &dominance = getAnalysis<DominanceInfo>();
    for (HintOp hint : unread) {
      auto isBehind = [&](OpOperand &use) {
        return use.getOwner() != hint &&
               dominance.properlyDominates(hint.getOperation(), use.getOwner());
      };
      // Hints before this one have spread, too: their results are the same value.
      for (Value value = hint.getSrc(); value;) {
        value.replaceUsesWithIf(hint.getResult(), isBehind);
        auto before = value.getDefiningOp<HintOp>();
        value = before ? before.getSrc() : Value();
      }
    }
  }
};

} // namespace

std::unique_ptr<Pass> createSpreadHints() {
  return std::make_unique<SpreadHints>();
}

} // namespace sectile::optimizer
