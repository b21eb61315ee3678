#include "optimizer/gpu/NarrowExchanges.h"

#include "lang/layout/Builders.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/CheapValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

int64_t bitsOf(Value tile) {
  Type element = elementTypeOf(tile.getType());
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

/// The tile's only user, if it stands in the block.
Operation *onlyUser(Value tile, Block *block) {
  if (!tile.hasOneUse())
    return nullptr;
  Operation *user = *tile.user_begin();
  return user->getBlock() == block ? user : nullptr;
}

/// Whether an operation makes a number of fewer bits, in whole bytes, of each of a tile.
bool isNarrowing(Operation *op) {
  return op && op->getNumOperands() == 1 && op->getNumResults() == 1 && isElementwise(op) &&
         isMemoryEffectFree(op) && bitsOf(op->getResult(0)) < bitsOf(op->getOperand(0)) &&
         bitsOf(op->getResult(0)) % 8 == 0;
}

Type withLayout(Value tile, const layout::TileLayout &layout) {
  return RankedTensorType::get(layout.shape(), elementTypeOf(tile.getType()),
                               LayoutAttr::get(tile.getContext(), layout));
}

/// Makes the operation work on what the conversion takes; the conversion stands behind it.
ConvertLayoutOp moveBehind(ConvertLayoutOp convert, Operation *narrowing) {
  OpBuilder builder(narrowing);
  builder.setInsertionPointAfter(narrowing);
  Value result = narrowing->getResult(0);
  auto made = ConvertLayoutOp::create(builder, convert.getLoc(), result.getType(), /*src=*/result);
  result.replaceAllUsesExcept(made, made);
  narrowing->setOperand(0, convert.getSrc());
  result.setType(cast<RankedTensorType>(withLayout(result, *layoutOf(convert.getSrc().getType()))));
  convert.erase();
  return made;
}

/// The same of a split into halves that are narrowed each.
bool moveBehindSplit(ConvertLayoutOp convert, SplitOp split,
                     SmallVectorImpl<ConvertLayoutOp> &made) {
  std::optional<layout::TileLayout> half = layout::split(*layoutOf(convert.getSrc().getType()));
  if (!half || !llvm::all_of(split.getResults(), [&](Value each) {
        return isNarrowing(onlyUser(each, split->getBlock()));
      }))
    return false;
  OpBuilder builder(split);
  builder.setInsertionPointAfter(split);
  split.getOperation()->setOperand(0, convert.getSrc());
  for (Value each : split.getResults()) {
    auto after = ConvertLayoutOp::create(builder, convert.getLoc(), each.getType(), /*src=*/each);
    each.replaceAllUsesExcept(after, after);
    each.setType(withLayout(each, *half));
    made.push_back(after);
  }
  convert.erase();
  return true;
}

struct NarrowExchanges : PassWrapper<NarrowExchanges, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NarrowExchanges)

  StringRef getArgument() const override { return "narrow-exchanges"; }
  StringRef getDescription() const override {
    return "numbers are narrowed before threads exchange them";
  }
  void runOnOperation() override {
    SmallVector<ConvertLayoutOp> pending;
    getOperation().walk([&](ConvertLayoutOp convert) { pending.push_back(convert); });
    while (!pending.empty()) {
      ConvertLayoutOp convert = pending.pop_back_val();
      Operation *user = onlyUser(convert.getResult(), convert->getBlock());
      if (isNarrowing(user))
        pending.push_back(moveBehind(convert, user));
      else if (auto split = dyn_cast_or_null<SplitOp>(user))
        moveBehindSplit(convert, split, pending);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createNarrowExchanges() {
  return std::make_unique<NarrowExchanges>();
}

} // namespace sectile::optimizer
