#include "optimizer/AddToProducts.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

bool isZero(Value tile) {
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_PosZeroFloat());
}

/// Whether the value is what a loop carries, or has become of that, or another product: it is there
/// anyway when the product begins, which then waits for nothing.
bool isRunningSum(Value acc) {
  constexpr int kMostChanges = 4;
  for (int change = 0; change <= kMostChanges; ++change) {
    Operation *maker = acc.getDefiningOp();
    if (!maker)
      return isa<scf::ForOp, scf::WhileOp>(acc.getParentBlock()->getParentOp());
    if (isa<DotOp>(maker))
      return change == 0;
    if (!OpTrait::hasElementwiseMappableTraits(maker) || maker->getNumResults() != 1)
      return false;
    // A factor for each row is a broadcast.
    auto isSum = [&](Value operand) {
      return operand.getType() == acc.getType() && !operand.getDefiningOp<BroadcastOp>() &&
             !operand.getDefiningOp<SplatOp>();
    };
    auto sums = llvm::make_filter_range(maker->getOperands(), isSum);
    if (sums.empty())
      return false;
    acc = *sums.begin();
  }
  return false;
}

struct AddToProducts : PassWrapper<AddToProducts, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddToProducts)
  explicit AddToProducts(bool exactOnly = false) { this->exactOnly = exactOnly; }
  AddToProducts(const AddToProducts &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "add-to-products"; }
  StringRef getDescription() const override { return "acc + dot(a, b) becomes dot(a, b, acc)"; }

  void runOnOperation() override {
    SmallVector<DotOp> products;
    getOperation().walk([&](DotOp product) { products.push_back(product); });
    if (products.empty())
      return;
    const DominanceInfo dominance(getOperation());
    for (DotOp product : products)
      addTo(product, dominance);
  }

private:
  /// Whether another order of the product's sums is as good.
  bool mayBeReordered(DotOp product) const {
    if (product.getType().getElementType().isInteger())
      return true;
    return !exactOnly && product.getLhs().getType().getElementTypeBitWidth() > 8 &&
           !product.getMaxImpreciseAcc();
  }

  void addTo(DotOp product, const DominanceInfo &dominance) const {
    if (!isZero(product.getAcc()) || !product->hasOneUse() || !mayBeReordered(product))
      return;
    Operation *sum = *product->user_begin();
    if (!isa<arith::AddFOp, arith::AddIOp>(sum) || sum->getBlock() != product->getBlock())
      return;
    const unsigned other = sum->getOperand(0) == product.getResult() ? 1 : 0;
    Value acc = sum->getOperand(other);
    if (acc == product.getResult() || !isRunningSum(acc) ||
        !dominance.properlyDominates(acc, product))
      return;
    product.getAccMutable().assign(acc);
    sum->getResult(0).replaceAllUsesWith(product.getResult());
    sum->erase();
  }

  Option<bool> exactOnly{*this, "exact-only",
                         llvm::cl::desc("only where the order of sums is of no account")};
};

} // namespace

std::unique_ptr<Pass> createAddToProducts(bool exactOnly) {
  return std::make_unique<AddToProducts>(exactOnly);
}

} // namespace sectile::optimizer
