// Folders and canonicalization patterns of the tile dialect. They bring splats to the surface (what
// is the same for every element is computed once, as a scalar), merge chains of shape changes, and
// drop masks that are known.
#include "lang/tile/TileDialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sectile::tile;

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

llvm::APFloat sectile::tile::convertFloat(llvm::APFloat value, FloatType type,
                                          llvm::RoundingMode rounding) {
  bool losesInfo, isNegative = value.isNegative(), isNan = value.isNaN();
  value.convert(type.getFloatSemantics(), rounding, &losesInfo);
  // The formats without infinity have NaN for what is too large.
  bool isBeyond = !isNan && (value.isInfinity() || value.isNaN());
  if (isBeyond && type.getWidth() == 8)
    return llvm::APFloat::getLargest(type.getFloatSemantics(), isNegative);
  return value;
}

OpFoldResult NarrowOp::fold(FoldAdaptor adaptor) {
  auto rounding =
      getTowardZero() ? llvm::RoundingMode::TowardZero : llvm::RoundingMode::NearestTiesToEven;
  auto type = cast<FloatType>(elementTypeOf(getType()));
  if (auto number = dyn_cast_or_null<FloatAttr>(adaptor.getSrc()))
    return FloatAttr::get(type, convertFloat(number.getValue(), type, rounding));
  if (auto elements = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSrc()))
    return SplatElementsAttr::get(
        cast<ShapedType>(getType()),
        convertFloat(elements.getSplatValue<llvm::APFloat>(), type, rounding));
  return {};
}

namespace {

/// One constant repeated: a splat attribute of the wider type, or null.
Attribute resplat(Attribute constant, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  if (auto elements = dyn_cast_or_null<SplatElementsAttr>(constant))
    return elements.resizeSplat(tensor);
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(constant))
    return SplatElementsAttr::get(tensor, constant);
  return {};
}

/// The scalar every element of `value` equals, if it comes from a tile.splat.
Value splatSource(Value value) {
  auto splat = value.getDefiningOp<SplatOp>();
  return splat ? splat.getSrc() : Value();
}

//===-- splats --------------------------------------------------------------------------------===//

/// shape change (splat x)  ==>  splat x
template <class ShapeOp>
struct SplatThroughShape : OpRewritePattern<ShapeOp> {
  using OpRewritePattern<ShapeOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ShapeOp op, PatternRewriter &rewriter) const override {
    Value scalar = splatSource(op.getSrc());
    if (!scalar)
      return failure();
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), scalar);
    return success();
  }
};

/// op (splat x), (splat y), dense<c>  ==>  splat (op x, y, c)     for every elementwise op
struct ScalarizeElementwise : OpRewritePattern<SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplatOp splat, PatternRewriter &rewriter) const override {
    for (Operation *user : splat->getUsers())
      if (succeeded(scalarize(user, rewriter)))
        return success();
    return failure();
  }

  static LogicalResult scalarize(Operation *op, PatternRewriter &rewriter) {
    bool isElementwise = OpTrait::hasElementwiseMappableTraits(op) || isa<PtrAddOp>(op);
    if (!isElementwise || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
        !isMemoryEffectFree(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return failure();
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && !splatSource(operand) &&
          !matchPattern(operand, m_Constant<SplatElementsAttr>(nullptr)))
        return failure();

    rewriter.setInsertionPoint(op);
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr constant;
      if (Value scalar = splatSource(operand)) {
        scalars.push_back(scalar);
      } else if (isa<RankedTensorType>(operand.getType()) &&
                 matchPattern(operand, m_Constant(&constant))) {
        scalars.push_back(
            arith::ConstantOp::create(rewriter, op->getLoc(), constant.getSplatValue<TypedAttr>()));
      } else {
        scalars.push_back(operand);
      }
    }
    OperationState state(op->getLoc(), op->getName(), scalars, {type.getElementType()});
    state.attributes = op->getDiscardableAttrDictionary();
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *scalar = rewriter.create(state);
    rewriter.replaceOpWithNewOp<SplatOp>(op, type, scalar->getResult(0));
    return success();
  }
};

//===-- shapes --------------------------------------------------------------------------------===//

/// op (op x)  ==>  op x, for broadcasts and reshapes: only the last extents count.
template <class ShapeOp>
struct MergeShapes : OpRewritePattern<ShapeOp> {
  using OpRewritePattern<ShapeOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ShapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().template getDefiningOp<ShapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ShapeOp>(op, op.getType(), inner.getSrc());
    return success();
  }
};

/// transpose (transpose x [p]) [q]  ==>  transpose x [p of q]
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int32_t> order;
    for (int32_t dim : op.getOrder())
      order.push_back(inner.getOrder()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getSrc(), order);
    return success();
  }
};

/// join (split x)  ==>  x
struct JoinOfSplit : OpRewritePattern<JoinOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(JoinOp op, PatternRewriter &rewriter) const override {
    auto split = op.getLhs().getDefiningOp<SplitOp>();
    if (!split || op.getLhs() != split.getLhs() || op.getRhs() != split.getRhs())
      return failure();
    rewriter.replaceOp(op, split.getSrc());
    return success();
  }
};

/// reshape (expand_dims x)  ==>  reshape x
struct ReshapeOfExpandDims : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<ExpandDimsOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getSrc());
    return success();
  }
};

/// convert_layout (splat x)  ==>  splat x; likewise arange: every thread can make its own elements.
struct ConvertedMaker : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, PatternRewriter &rewriter) const override {
    Operation *maker = op.getSrc().getDefiningOp();
    if (!isa_and_nonnull<SplatOp, ArangeOp>(maker))
      return failure();
    Operation *copy = rewriter.clone(*maker);
    rewriter.modifyOpInPlace(copy, [&] { copy->getResult(0).setType(op.getType()); });
    rewriter.replaceOp(op, copy->getResults());
    return success();
  }
};

//===-- pointers and memory -------------------------------------------------------------------===//

/// ptr_add (ptr_add p, c1), c2  ==>  ptr_add p, c1 + c2     for constants that do not overflow
struct MergeConstantOffsets : OpRewritePattern<PtrAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PtrAddOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getPtr().getDefiningOp<PtrAddOp>();
    if (!inner || inner.getOffset().getType() != op.getOffset().getType())
      return failure();
    APInt first, second;
    if (!matchPattern(inner.getOffset(), m_ConstantInt(&first)) ||
        !matchPattern(op.getOffset(), m_ConstantInt(&second)))
      return failure();
    bool overflows;
    APInt sum = first.sadd_ov(second, overflows);
    if (overflows)
      return failure();
    Type type = op.getOffset().getType();
    TypedAttr attr = IntegerAttr::get(elementTypeOf(type), sum);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      attr = SplatElementsAttr::get(tensor, Attribute(attr));
    Value offset = arith::ConstantOp::create(rewriter, op.getLoc(), attr);
    rewriter.replaceOpWithNewOp<PtrAddOp>(op, op.getType(), inner.getPtr(), offset);
    return success();
  }
};

/// Whether a mask is the same known truth value everywhere.
std::optional<bool> knownMask(Value mask) {
  APInt truth;
  if (!mask || !matchPattern(mask, m_ConstantInt(&truth)))
    return std::nullopt;
  return !truth.isZero();
}

/// load p, true, other  ==>  load p;      load p, false, other  ==>  other
struct LoadWithKnownMask : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoadOp op, PatternRewriter &rewriter) const override {
    auto mask = knownMask(op.getMask());
    if (!mask)
      return failure();
    if (*mask) {
      rewriter.modifyOpInPlace(op, [&] {
        op.getOtherMutable().clear();
        op.getMaskMutable().clear();
      });
      return success();
    }
    if (!op.getOther())
      return failure();
    rewriter.replaceOp(op, op.getOther());
    return success();
  }
};

/// An access under `true` needs no mask; under `false` it does nothing.
template <class Op>
struct WriteWithKnownMask : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto mask = knownMask(op.getMask());
    if (!mask)
      return failure();
    if (*mask) {
      rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
      return success();
    }
    if (!op->use_empty())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

//===-- reductions, hints, debugging ----------------------------------------------------------===//

/// reduce over an extent of one  ==>  reshape
struct ReduceOfOneElement : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto shape = shapeOf(op.getSrcs().front().getType());
    // A rank of one gives scalars, which no other op takes out of a tile.
    if (shape.size() == 1 || shape[op.getAxis()] != 1)
      return failure();
    SmallVector<Value> results;
    for (auto [src, result] : llvm::zip(op.getSrcs(), op.getResults()))
      results.push_back(ReshapeOp::create(rewriter, op.getLoc(), result.getType(), src));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A second hint of another kind joins the first; of one kind the outer one stays apart.
struct MergeHints : OpRewritePattern<HintOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(HintOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getSrc().getDefiningOp<HintOp>();
    if (!inner)
      return failure();
    auto merge = [](DenseI64ArrayAttr outer,
                    DenseI64ArrayAttr held) -> std::optional<DenseI64ArrayAttr> {
      if (outer && held && outer != held)
        return std::nullopt;
      return outer ? outer : held;
    };
    auto divisibility = merge(op.getDivisibilityAttr(), inner.getDivisibilityAttr());
    auto contiguity = merge(op.getContiguityAttr(), inner.getContiguityAttr());
    auto constancy = merge(op.getConstancyAttr(), inner.getConstancyAttr());
    if (!divisibility || !contiguity || !constancy)
      return failure();
    rewriter.replaceOpWithNewOp<HintOp>(op, op.getType(), inner.getSrc(), *divisibility,
                                        *contiguity, *constancy,
                                        op.getDescribed() || inner.getDescribed());
    return success();
  }
};

/// assume and assert of what is known to hold  ==>  nothing
template <class Op>
struct DropKnownCondition : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!knownMask(op.getCondition()).value_or(false))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

//===-- folders -------------------------------------------------------------------------------===//

OpFoldResult ArangeOp::fold(FoldAdaptor) {
  if (getType().getDimSize(0) != 1)
    return {};
  return DenseElementsAttr::get(getType(), APInt(32, int32_t(getStart()), /*isSigned=*/true));
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getOrder(), llvm::seq<int32_t>(0, getOrder().size())))
    return getSrc();
  return resplat(adaptor.getSrc(), getType());
}

OpFoldResult FlipOp::fold(FoldAdaptor adaptor) {
  if (getType().getDimSize(getAxis()) == 1 || splatSource(getSrc()) ||
      isa_and_nonnull<SplatElementsAttr>(adaptor.getSrc()))
    return getSrc();
  if (auto inner = getSrc().getDefiningOp<FlipOp>(); inner && inner.getAxis() == getAxis())
    return inner.getSrc();
  return {};
}

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto join = getSrc().getDefiningOp<JoinOp>();
  if (!join)
    return failure();
  results.append({join.getLhs(), join.getRhs()});
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getSrc()))
    return elements.reshape(getType());
  auto inner = getSrc().getDefiningOp<ConvertLayoutOp>();
  if (!inner)
    return {};
  if (inner.getSrc().getType() == getType())
    return inner.getSrc();
  setOperand(inner.getSrc());
  return getResult();
}

OpFoldResult PtrAddOp::fold(FoldAdaptor adaptor) {
  return matchPattern(adaptor.getOffset(), m_Zero()) ? OpFoldResult(getPtr()) : OpFoldResult();
}

OpFoldResult PtrToIntOp::fold(FoldAdaptor) {
  auto inner = getSrc().getDefiningOp<IntToPtrOp>();
  return inner && inner.getSrc().getType() == getType() ? inner.getSrc() : OpFoldResult();
}

OpFoldResult IntToPtrOp::fold(FoldAdaptor) {
  auto inner = getSrc().getDefiningOp<PtrToIntOp>();
  return inner && inner.getSrc().getType() == getType() ? inner.getSrc() : OpFoldResult();
}

OpFoldResult PtrCastOp::fold(FoldAdaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  auto inner = getSrc().getDefiningOp<PtrCastOp>();
  if (!inner)
    return {};
  if (inner.getSrc().getType() == getType())
    return inner.getSrc();
  setOperand(inner.getSrc());
  return getResult();
}

LogicalResult ScanOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (shapeOf(getSrcs().front().getType())[getAxis()] != 1)
    return failure();
  llvm::append_range(results, getSrcs());
  return success();
}

OpFoldResult SortOp::fold(FoldAdaptor) {
  return getType().getDimSize(getAxis()) == 1 ? getSrc() : OpFoldResult();
}

//===-- registration --------------------------------------------------------------------------===//

void SplatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ScalarizeElementwise>(context);
}
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SplatThroughShape<BroadcastOp>, MergeShapes<BroadcastOp>>(context);
}
void ExpandDimsOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SplatThroughShape<ExpandDimsOp>>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SplatThroughShape<ReshapeOp>, MergeShapes<ReshapeOp>, ReshapeOfExpandDims>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SplatThroughShape<TransposeOp>, MergeTransposes>(context);
}
void JoinOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<JoinOfSplit>(context);
}
void PtrAddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeConstantOffsets>(context);
}
void ConvertLayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<ConvertedMaker>(context);
}
void LoadOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<LoadWithKnownMask>(context);
}
void StoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<WriteWithKnownMask<StoreOp>>(context);
}
void AtomicRmwOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<WriteWithKnownMask<AtomicRmwOp>>(context);
}
void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReduceOfOneElement>(context);
}
void HintOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeHints>(context);
}
void AssumeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropKnownCondition<AssumeOp>>(context);
}
void AssertOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropKnownCondition<AssertOp>>(context);
}
