#include "optimizer/ExactMath.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

struct ExactMath : PassWrapper<ExactMath, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExactMath)

  StringRef getArgument() const override { return "exact-math"; }
  StringRef getDescription() const override {
    return "no operation is approximated, and fp32 is multiplied as fp32";
  }

  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    getOperation().walk([&](Operation *op) {
      if (auto approximable = dyn_cast<arith::ArithFastMathInterface>(op))
        op->setAttr(approximable.getFastMathAttrName(), none);
      if (auto dot = dyn_cast<tile::DotOp>(op))
        dot.setPrecision(tile::InputPrecision::Ieee);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createExactMath() {
  return std::make_unique<ExactMath>();
}

} // namespace sectile::optimizer
