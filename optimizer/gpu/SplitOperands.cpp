#include "optimizer/gpu/SplitOperands.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/DotLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

using Tile = TypedValue<RankedTensorType>;

/// Returns how many parts an operand is the sum of; 0 where it stays whole.
unsigned partsOf(InputPrecision precision) {
  switch (precision) {
  case InputPrecision::Bf16x3:
    return 2;
  case InputPrecision::Bf16x6:
    return 3;
  case InputPrecision::Tf32:
  case InputPrecision::Tf32x3:
  case InputPrecision::Ieee:
    return 0;
  }
  return 0;
}

/// Puts acc + `product` in the place of `dot`.
void replaceBySum(OpBuilder &builder, DotOp dot, Value product) {
  if (!matchPattern(dot.getAcc(), m_AnyZeroFloat()))
    product = arith::AddFOp::create(builder, dot.getLoc(), dot.getAcc(), product);
  dot.replaceAllUsesWith(product);
  dot.erase();
}

TypedAttr zeroOf(RankedTensorType type) {
  return DenseElementsAttr::get(type, APFloat(0.0f));
}

class Splitter {
public:
  /// Multiplies the greatest parts, to see whether the target has an instruction for them.
  explicit Splitter(DotOp dot)
      : builder(dot), place(dot.getLoc()), count(partsOf(dot.getPrecision())), dot(dot),
        lhs{narrowed(dot.getLhs())}, rhs{narrowed(dot.getRhs())},
        greatest(multiply(0, 0, dot.getAcc())) {}

  DotOp greatestProduct() const { return greatest; }

  /// Takes the product back.
  void drop() {
    for (Value made : {Value(greatest), lhs[0], rhs[0]})
      made.getDefiningOp()->erase();
  }

  /// Puts the sum of the products in the place of the one that was split.
  void finish() {
    greatest.erase();
    split(dot.getLhs(), lhs);
    split(dot.getRhs(), rhs);
    const auto type = dot.getType();
    Value small = arith::ConstantOp::create(builder, place, zeroOf(type));
    // The smallest first. Parts `i` and `j` together are 2^-8(i + j) of the greatest.
    for (unsigned smaller = count - 1; smaller > 0; --smaller)
      for (unsigned left = 0; left <= smaller; ++left)
        small = multiply(left, smaller - left, small);
    Value size = math::AbsFOp::create(builder, place, small);
    Value infinity = arith::ConstantOp::create(
        builder, place, DenseElementsAttr::get(type, APFloat::getInf(APFloat::IEEEsingle())));
    Value isFinite =
        arith::CmpFOp::create(builder, place, arith::CmpFPredicate::OLT, size, infinity);
    Value zero = arith::ConstantOp::create(builder, place, zeroOf(type));
    small = arith::SelectOp::create(builder, place, isFinite, small, zero);
    replaceBySum(builder, dot, multiply(0, 0, small));
  }

private:
  using Parts = SmallVector<Value, 3>;

  Value narrowed(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType()).clone(builder.getBF16Type());
    return arith::TruncFOp::create(builder, place, type, tile);
  }

  /// Adds the parts of what the first one leaves.
  void split(Value rest, Parts &parts) {
    const Type wide = rest.getType();
    while (parts.size() < count) {
      Value part = arith::ExtFOp::create(builder, place, wide, parts.back());
      rest = arith::SubFOp::create(builder, place, rest, part);
      parts.push_back(narrowed(rest));
    }
  }

  DotOp multiply(unsigned left, unsigned right, Value acc) {
    return DotOp::create(builder, place, lhs[left], rhs[right], acc, InputPrecision::Tf32,
                         /*maxImpreciseAcc=*/IntegerAttr(), /*instruction=*/StringAttr());
  }

  OpBuilder builder;
  Location place;
  unsigned count;
  DotOp dot;
  Parts lhs, rhs; // the greatest first
  DotOp greatest;
};

struct SplitOperands : GpuPass<SplitOperands> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitOperands)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "split-operands"; }
  StringRef getDescription() const override {
    return "products of f32 that ask for it are made of products of bf16 parts (matrix=false)";
  }

  void runOnOperation() override {
    SmallVector<DotOp> wanted;
    getOperation().walk([&](DotOp dot) {
      auto isF32 = [](Tile tile) { return tile.getType().getElementType().isF32(); };
      if (dot.getPrecision() != InputPrecision::Ieee && isF32(dot.getLhs()) &&
          isF32(dot.getRhs()) && isF32(dot.getAcc()))
        wanted.push_back(dot);
    });
    for (DotOp dot : wanted)
      if (partsOf(dot.getPrecision()))
        split(dot);
      else if (dot.getPrecision() == InputPrecision::Tf32x3)
        addApart(dot);
  }

private:
  void split(DotOp dot) {
    Splitter splitter(dot);
    if (matrixInstructions(splitter.greatestProduct(), options.shape).empty())
      splitter.drop();
    else
      splitter.finish();
  }

  void addApart(DotOp dot) {
    if (matrixInstructions(dot, options.shape).empty() ||
        matchPattern(dot.getAcc(), m_AnyZeroFloat()))
      return;
    OpBuilder builder(dot);
    Value zero = arith::ConstantOp::create(builder, dot.getLoc(), zeroOf(dot.getType()));
    auto apart = cast<DotOp>(builder.clone(*dot));
    apart.getAccMutable().assign(zero);
    replaceBySum(builder, dot, apart);
  }
};

} // namespace

std::unique_ptr<Pass> createSplitOperands(const GpuPipelineOptions &options) {
  return std::make_unique<SplitOperands>(options);
}

} // namespace sectile::optimizer
