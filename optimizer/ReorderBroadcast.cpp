#include "optimizer/ReorderBroadcast.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/ComputeInShape.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

using tile::isTile;

/// op(splat, splat, ...) -> splat(op)
struct ComputeOnScalars : RewritePattern {
  explicit ComputeOnScalars(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool isUniformLoad = isa<tile::LoadOp>(op) && !cast<tile::LoadOp>(op).getIsVolatile() &&
                         isTile(op->getResult(0));
    if ((!makesTileElementwise(op) && !isUniformLoad) ||
        !llvm::all_of(op->getOperands(), isUniform))
      return failure();
    // Constants are the folders' work.
    if (llvm::all_of(op->getOperands(),
                     [](Value value) { return matchPattern(value, m_Constant()); }))
      return failure();
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands())
      scalars.push_back(scalarOf(operand, rewriter));
    Type type = op->getResult(0).getType();
    Value scalar = rebuild(op, scalars, tile::elementTypeOf(type), rewriter);
    rewriter.replaceOpWithNewOp<tile::SplatOp>(op, type, scalar);
    return success();
  }
};

/// shape(splat) -> splat
struct SplatFinalShape : RewritePattern {
  explicit SplatFinalShape(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp, tile::TransposeOp,
             tile::FlipOp>(op))
      return failure();
    auto splat = op->getOperand(0).getDefiningOp<tile::SplatOp>();
    if (!splat) {
      // Their folders take constants, but for expand_dims and flip.
      DenseElementsAttr elements;
      if (!matchPattern(op->getOperand(0), m_Constant(&elements)) || !elements.isSplat())
        return failure();
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(
          op, elements.resizeSplat(cast<RankedTensorType>(op->getResult(0).getType())));
      return success();
    }
    rewriter.replaceOpWithNewOp<tile::SplatOp>(op, op->getResult(0).getType(), splat.getSrc());
    return success();
  }
};

/// op(broadcast, broadcast, splat, ...) -> broadcast(op), all broadcasts from one shape.
struct ComputeBeforeBroadcast : RewritePattern {
  explicit ComputeBeforeBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!makesTileElementwise(op))
      return failure();
    RankedTensorType narrow;
    for (Value operand : op->getOperands()) {
      if (isUniform(operand))
        continue;
      auto broadcast = operand.getDefiningOp<tile::BroadcastOp>();
      if (!broadcast)
        return failure();
      auto type = cast<RankedTensorType>(broadcast.getSrc().getType());
      if (narrow && narrow.getShape() != type.getShape())
        return failure();
      narrow = type;
    }
    if (!narrow)
      return failure();
    Type type = op->getResult(0).getType();
    Value result = computeInShape(op, narrow.getShape(), rewriter, [](Value operand) {
      return operand.getDefiningOp<tile::BroadcastOp>().getSrc();
    });
    rewriter.replaceOpWithNewOp<tile::BroadcastOp>(op, type, result);
    return success();
  }
};

/// broadcast(broadcast) -> broadcast
struct BroadcastOnce : OpRewritePattern<tile::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tile::BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<tile::BroadcastOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<tile::BroadcastOp>(op, op.getType(), inner.getSrc());
    return success();
  }
};

struct ReorderBroadcast : PassWrapper<ReorderBroadcast, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReorderBroadcast)

  StringRef getArgument() const override { return "reorder-broadcast"; }
  StringRef getDescription() const override {
    return "compute on scalars and narrow tiles, then repeat";
  }

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<ComputeOnScalars, SplatFinalShape, ComputeBeforeBroadcast, BroadcastOnce>(context);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    if (failed(applyPatternsGreedily(getOperation(), patterns))) {
      getOperation().emitOpError("reorder-broadcast does not come to an end");
      signalPassFailure();
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

std::unique_ptr<Pass> createReorderBroadcast() {
  return std::make_unique<ReorderBroadcast>();
}

} // namespace sectile::optimizer
