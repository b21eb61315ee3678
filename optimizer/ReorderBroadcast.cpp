#include "optimizer/ReorderBroadcast.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

using tile::isTile;

/// One result, no effect, computed element by element: may be done on fewer elements.
bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || op->getNumOperands() == 0 ||
      !isTile(op->getResult(0)))
    return false;
  if (isa<tile::PtrAddOp, tile::PtrCastOp, tile::PtrToIntOp, tile::IntToPtrOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op);
}

DenseElementsAttr splatConstant(Value value) {
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements;
  return {};
}

/// `value` is a scalar, or repeats one.
bool isUniform(Value value) {
  return !isTile(value) || value.getDefiningOp<tile::SplatOp>() || splatConstant(value);
}

Value scalarOf(Value value, PatternRewriter &rewriter) {
  if (!isTile(value))
    return value;
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    return splat.getSrc();
  return arith::ConstantOp::create(rewriter, value.getLoc(),
                                   splatConstant(value).getSplatValue<TypedAttr>());
}

/// The same operation on other operands, in another shape.
Value rebuild(Operation *op, ValueRange operands, Type type, PatternRewriter &rewriter) {
  OperationState state(op->getLoc(), op->getName(), operands, type,
                       op->getAttrDictionary().getValue());
  return rewriter.create(state)->getResult(0);
}

/// op(splat, splat, ...) -> splat(op)
struct ComputeOnScalars : RewritePattern {
  explicit ComputeOnScalars(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool isUniformLoad = isa<tile::LoadOp>(op) && !cast<tile::LoadOp>(op).getIsVolatile() &&
                         isTile(op->getResult(0));
    if ((!isElementwise(op) && !isUniformLoad) || !llvm::all_of(op->getOperands(), isUniform))
      return failure();
    // Constants are the folders' work.
    if (llvm::all_of(op->getOperands(), [](Value value) { return bool(splatConstant(value)); }))
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
      auto elements = splatConstant(op->getOperand(0));
      if (!elements)
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
    if (!isElementwise(op))
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
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (auto broadcast = operand.getDefiningOp<tile::BroadcastOp>()) {
        operands.push_back(broadcast.getSrc());
        continue;
      }
      if (!isTile(operand)) { // a scalar condition
        operands.push_back(operand);
        continue;
      }
      auto type = RankedTensorType::get(narrow.getShape(), tile::elementTypeOf(operand.getType()));
      if (auto elements = splatConstant(operand))
        operands.push_back(
            arith::ConstantOp::create(rewriter, operand.getLoc(), elements.resizeSplat(type)));
      else
        operands.push_back(
            tile::SplatOp::create(rewriter, operand.getLoc(), type, scalarOf(operand, rewriter)));
    }
    Type type = op->getResult(0).getType();
    Value result =
        rebuild(op, operands, RankedTensorType::get(narrow.getShape(), tile::elementTypeOf(type)),
                rewriter);
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
