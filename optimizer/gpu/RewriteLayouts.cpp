#include "optimizer/gpu/RewriteLayouts.h"

#include "lang/layout/Builders.h"
#include "lang/layout/Conversion.h"
#include "optimizer/gpu/BlockedLayouts.h"
#include "optimizer/gpu/DotLayouts.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

/// Operations that may be done again to save a conversion.
constexpr unsigned kMaxRecomputed = 6;

class Rewriter {
public:
  Rewriter(func::FuncOp function, const CheapValues &cheap, const LayoutGraph &graph,
           ArrayRef<layout::TileLayout> layouts, const GpuShape &shape)
      : function(function), cheap(cheap), graph(graph), shape(shape),
        builder(function.getContext()) {
    for (const layout::TileLayout &layout : layouts)
      attributes.push_back(attributeOf(layout));
  }

  void rewrite() {
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function.getOperation())
        ops.push_back(op);
      return hasElementRegion(op) ? WalkResult::skip() : WalkResult::advance();
    });
    setTypes(ops);
    SmallVector<Operation *> cheapOps;
    llvm::erase_if(ops, [&](Operation *op) {
      bool isCheap = op->getNumResults() > 0 && cheap.contains(op->getResult(0));
      if (isCheap)
        cheapOps.push_back(op);
      return isCheap;
    });
    // What is computed may be computed again from what was converted: that first.
    for (bool computed : {false, true}) {
      convertsComputed = computed;
      for (Operation *op : ops)
        rewriteOperands(op);
    }
    for (Operation *op : llvm::reverse(cheapOps))
      if (op->use_empty())
        op->erase();
    updateFunctionType();
  }

private:
  LayoutAttr attributeOf(const layout::TileLayout &layout) {
    return LayoutAttr::get(function.getContext(), layout);
  }
  static LayoutAttr heldBy(Value tile) {
    return dyn_cast_or_null<LayoutAttr>(cast<RankedTensorType>(tile.getType()).getEncoding());
  }
  static void setLayout(Value tile, LayoutAttr layout) {
    tile.setType(cast<RankedTensorType>(tile.getType()).cloneWithEncoding(layout));
  }

  //-- Types ---------------------------------------------------------------------------------------

  void setType(Value value) {
    if (int node = graph.nodeOf(value); node >= 0)
      setLayout(value, attributes[node]);
  }

  void setTypes(ArrayRef<Operation *> ops) {
    for (BlockArgument argument : function.getArguments())
      setType(argument);
    for (Operation *op : ops) {
      for (Value result : op->getResults())
        setType(result);
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          setType(argument);
      if (auto dot = dyn_cast<DotOp>(op))
        setInstruction(dot);
      // What these give depends on what they are given; users convert from there.
      if (isa<ReduceOp>(op)) {
        const layout::TileLayout &operand = attributes[graph.operandNodeOf(op)].getLayout();
        for (Value result : op->getResults())
          if (isTile(result))
            setLayout(result, attributeOf(layout::sliceOf(operand, cast<ReduceOp>(op).getAxis())));
      } else if (auto join = dyn_cast<JoinOp>(op)) {
        if (!layout::split(heldBy(join.getResult()).getLayout()))
          setLayout(join.getResult(),
                    attributeOf(layout::join(freeLayout(join.getLhs()).getLayout())));
      }
    }
  }

  /// What the accumulator's layout decides is written down: no later step works it out again.
  void setInstruction(DotOp dot) {
    const LayoutNode &node = graph.nodes()[graph.nodeOf(dot.getResult())];
    if (auto spread = instructionOf(node.instructions, heldBy(dot.getResult()).getLayout()))
      dot.setInstruction(spread->instruction->name);
  }

  /// The layout a tile has, or a good one for a cheap value that may have any.
  LayoutAttr freeLayout(Value tile) {
    if (LayoutAttr held = heldBy(tile))
      return held;
    return attributeOf(defaultLayout(shapeOf(tile.getType()), shape));
  }

  void updateFunctionType() {
    if (function.empty())
      return;
    SmallVector<Type> results;
    function.walk([&](func::ReturnOp op) {
      results.assign(op.getOperandTypes().begin(), op.getOperandTypes().end());
    });
    function.setType(
        FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), results));
  }

  //-- Operands ------------------------------------------------------------------------------------

  void setOperand(OpOperand &operand, LayoutAttr layout) {
    Value tile = operand.get();
    if (!isTile(tile))
      return;
    Operation *maker = tile.getDefiningOp();
    bool isComputed = maker && isElementwise(maker) && !cheap.contains(tile);
    if (!isComputed || convertsComputed)
      operand.set(inLayout(tile, layout));
  }

  /// Those of a terminator or loop that flow into `targets`.
  void setFlow(MutableArrayRef<OpOperand> operands, ValueRange targets) {
    for (auto [operand, target] : llvm::zip(operands, targets))
      if (isTile(target))
        setOperand(operand, heldBy(target));
  }

  void rewriteOperands(Operation *op) {
    if (int node = graph.operandNodeOf(op); node >= 0) {
      for (OpOperand &operand : op->getOpOperands())
        setOperand(operand, attributes[node]);
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return setFlow(loop.getInitArgsMutable(), loop.getRegionIterArgs());
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return setFlow(loop.getInitsMutable(), loop.getBeforeArguments());
    if (auto condition = dyn_cast<scf::ConditionOp>(op))
      return setFlow(condition.getArgsMutable(),
                     cast<scf::WhileOp>(op->getParentOp()).getAfterArguments());
    if (isa<scf::YieldOp>(op)) {
      Operation *parent = op->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        setFlow(op->getOpOperands(), loop.getRegionIterArgs());
      else if (auto loop = dyn_cast<scf::WhileOp>(parent))
        setFlow(op->getOpOperands(), loop.getBeforeArguments());
      else
        setFlow(op->getOpOperands(), parent->getResults());
      return;
    }
    if (auto dot = dyn_cast<DotOp>(op))
      setOperand(dot.getAccMutable(), heldBy(dot.getResult()));
    if (auto gather = dyn_cast<GatherOp>(op))
      setOperand(gather.getIndexMutable(), heldBy(gather.getResult()));
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get()))
        setOperand(operand, layoutWanted(op, operand));
  }

  /// Returns the layout of an operand that does not simply share the layout of another value.
  LayoutAttr layoutWanted(Operation *op, OpOperand &operand) {
    LayoutAttr free = freeLayout(operand.get());
    std::optional<LayoutLink> link = linkOf(op, operand.getOperandNumber());
    if (!link)
      return free;
    const layout::TileLayout &user = heldBy(op->getResult(0)).getLayout();
    // A half that fits already needs not be made to fit.
    if (auto pushed = push(*link, free.getLayout(), user.shape()); pushed && *pushed == user)
      return free;
    auto pulled = pull(*link, user, shapeOf(operand.get().getType()));
    return pulled ? attributeOf(*pulled) : free;
  }

  std::optional<LayoutLink> linkOf(Operation *op, unsigned operand) {
    LayoutLink link;
    link.op = op;
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      link.kind = LinkKind::Expand;
      link.axis = expand.getAxis();
    } else if (isa<BroadcastOp>(op)) {
      link.kind = LinkKind::Broadcast;
    } else if (isa<TransposeOp>(op)) {
      link.kind = LinkKind::Transpose;
    } else if (isa<ReshapeOp>(op)) {
      link.kind = LinkKind::Reshape;
    } else if (isa<JoinOp>(op)) {
      link.kind = LinkKind::Join;
    } else if (isa<SplitOp>(op)) {
      link.kind = LinkKind::Split;
    } else if (auto dot = dyn_cast<DotOp>(op); dot && operand < 2) {
      link.kind = operand == 0 ? LinkKind::DotLhs : LinkKind::DotRhs;
      const LayoutNode &product = graph.nodes()[graph.nodeOf(dot.getResult())];
      link.instructions = product.instructions;
      link.isInBuffer = product.isInBuffer(sideOf(link.kind));
    } else {
      return std::nullopt;
    }
    return link;
  }

  //-- Values in other layouts ---------------------------------------------------------------------

  /// What a tile is a copy of; itself when it is none.
  Value originalOf(Value tile) {
    Value original = originals.lookup(tile);
    return original ? original : tile;
  }
  void remember(Value original, Value copy, LayoutAttr layout) {
    copies[{original, layout}] = copy;
    originals[copy] = original;
  }

  Value inLayout(Value tile, LayoutAttr layout) {
    if (heldBy(tile) == layout)
      return tile;
    tile = originalOf(tile);
    if (heldBy(tile) == layout)
      return tile;
    if (Value known = copies.lookup({tile, layout}))
      return known;
    unsigned budget = kMaxRecomputed;
    return cheap.contains(tile) || canRecompute(tile, layout, budget) ? recompute(tile, layout)
                                                                      : convert(tile, layout);
  }

  Value convert(Value tile, LayoutAttr layout) {
    builder.setInsertionPointAfterValue(tile);
    auto type = cast<RankedTensorType>(tile.getType()).cloneWithEncoding(layout);
    Value converted = ConvertLayoutOp::create(builder, tile.getLoc(), type, tile);
    remember(tile, converted, layout);
    return converted;
  }

  /// Whether a tile is there in a layout at no price.
  bool isAvailable(Value tile, LayoutAttr layout) {
    tile = originalOf(tile);
    return heldBy(tile) == layout || cheap.contains(tile) || copies.lookup({tile, layout});
  }

  /// Whether a few elementwise operations on what is available make `tile` in that layout, and save
  /// data from being moved.
  bool canRecompute(Value tile, LayoutAttr layout, unsigned &budget) {
    tile = originalOf(tile);
    Operation *op = tile.getDefiningOp();
    if (!op || !isElementwise(op) || budget == 0)
      return false;
    --budget;
    LayoutAttr held = heldBy(tile);
    if (!held || layout::classifyConversion(held.getLayout(), layout.getLayout(), 32) ==
                     layout::ConversionKind::Same)
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isTile(operand) || isAvailable(operand, layout) ||
             canRecompute(operand, layout, budget);
    });
  }

  /// A copy of the operation behind the original.
  Value recompute(Value tile, LayoutAttr layout) {
    Operation *op = tile.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? inLayout(operand, operandLayout(op, operand, layout))
                                         : operand);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    for (auto [result, original] : llvm::zip(copy->getResults(), op->getResults())) {
      setLayout(result, layout);
      remember(original, result, layout);
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue())
                                .reshape(cast<ShapedType>(constant.getType())));
    return copies[{tile, layout}];
  }

  /// What a copy of `op` with that layout takes.
  LayoutAttr operandLayout(Operation *op, Value operand, LayoutAttr layout) {
    std::optional<LayoutLink> link = linkOf(op, 0);
    return link ? attributeOf(*pull(*link, layout.getLayout(), shapeOf(operand.getType())))
                : layout;
  }

  func::FuncOp function;
  const CheapValues &cheap;
  const LayoutGraph &graph;
  const GpuShape &shape;
  OpBuilder builder;
  SmallVector<LayoutAttr> attributes; // by node
  DenseMap<std::pair<Value, LayoutAttr>, Value> copies;
  DenseMap<Value, Value> originals; // of copies
  bool convertsComputed = false;
};

} // namespace

void rewriteLayouts(func::FuncOp function, const CheapValues &cheap, const LayoutGraph &graph,
                    ArrayRef<layout::TileLayout> layouts, const GpuShape &shape) {
  Rewriter(function, cheap, graph, layouts, shape).rewrite();
}

} // namespace sectile::optimizer
