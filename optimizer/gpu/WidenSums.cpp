#include "optimizer/gpu/WidenSums.h"

#include "optimizer/gpu/DotLayouts.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

struct WidenSums : PassWrapper<WidenSums, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenSums)

  StringRef getArgument() const override { return "widen-sums"; }
  StringRef getDescription() const override {
    return "products add in the type that instructions add in";
  }

  void runOnOperation() override {
    getOperation().walk([&](DotOp product) {
      auto type = product.getType();
      // Narrow integers wrap, which is the same at any time.
      if (!isa<Float16Type, BFloat16Type>(type.getElementType()))
        return;
      OpBuilder builder(product);
      Location place = product.getLoc();
      auto wide = cast<RankedTensorType>(type.clone(computedIn(type.getElementType())));
      Value acc = product.getAcc();
      if (matchPattern(acc, m_PosZeroFloat()))
        acc = arith::ConstantOp::create(builder, place, cast<TypedAttr>(builder.getZeroAttr(wide)));
      else
        acc = arith::ExtFOp::create(builder, place, wide, acc);
      auto sum = cast<DotOp>(builder.clone(*product));
      sum.getAccMutable().assign(acc);
      sum.getResult().setType(wide);
      Value rounded = arith::TruncFOp::create(builder, place, type, sum.getResult());
      product.replaceAllUsesWith(rounded);
      product.erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createWidenSums() {
  return std::make_unique<WidenSums>();
}

} // namespace sectile::optimizer
