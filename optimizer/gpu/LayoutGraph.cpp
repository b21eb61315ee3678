#include "optimizer/gpu/LayoutGraph.h"

#include "lang/tile/LoopTrips.h"
#include "optimizer/gpu/AccessWidth.h"
#include "optimizer/gpu/DotLayouts.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

int64_t LayoutNode::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int LayoutGraph::nodeOf(Value value) const {
  auto found = nodesOfValues.find(value);
  return found == nodesOfValues.end() ? -1 : found->second;
}

int LayoutGraph::operandNodeOf(Operation *op) const {
  auto found = operandNodes.find(op);
  return found == operandNodes.end() ? -1 : found->second;
}

namespace {

/// How often a loop of unknown length is thought to run, and when to stop multiplying.
constexpr double kLoopTrips = 16, kMaxTrips = 1e6;

unsigned bitsOf(Value value) {
  Type element = elementTypeOf(value.getType());
  return isa<PtrType>(element) ? 64 : std::max(8u, element.getIntOrFloatBitWidth());
}

double tripsOf(scf::ForOp loop) {
  std::optional<APInt> trips = constantTrips(loop);
  return trips ? std::max(1.0, trips->roundToDouble(/*isSigned=*/false)) : kLoopTrips;
}

} // namespace

class LayoutGraphBuilder {
public:
  LayoutGraphBuilder(LayoutGraph &graph, func::FuncOp function, const CheapValues &cheap,
                     const IndexAnalysis &analysis, const GpuShape &shape)
      : graph(graph), function(function), cheap(cheap), analysis(analysis), shape(shape) {}

  void build() {
    for (BlockArgument argument : function.getArguments())
      makeNode({argument});
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { makeNodes(op); });
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { describe(op); });
  }

private:
  //-- Nodes ---------------------------------------------------------------------------------------

  int newNode(Type type) {
    LayoutNode &node = graph.allNodes.emplace_back();
    node.shape.assign(shapeOf(type).begin(), shapeOf(type).end());
    return graph.allNodes.size() - 1;
  }

  /// One node for values that are all tiles or all scalars.
  int makeNode(ArrayRef<Value> values) {
    if (values.empty() || !isTile(values.front()))
      return -1;
    int node = newNode(values.front().getType());
    for (Value value : values)
      graph.nodesOfValues[value] = node;
    return node;
  }

  void makeNodes(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
        makeNode({argument, result});
      return;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (Value argument : loop.getBeforeArguments())
        makeNode({argument});
      for (auto [argument, result] : llvm::zip(loop.getAfterArguments(), loop.getResults()))
        makeNode({argument, result});
      return;
    }
    if (isa<ReduceOp, HistogramOp>(op)) {
      graph.operandNodes[op] = newNode(op->getOperand(0).getType());
      for (Value result : op->getResults())
        makeNode({result});
      return;
    }
    if (isa<StoreOp>(op)) {
      if (isTile(op->getOperand(0)))
        graph.operandNodes[op] = newNode(op->getOperand(0).getType());
      return;
    }
    if (isa<scf::IfOp>(op)) { // scalars and tiles in any order
      for (Value result : op->getResults())
        makeNode({result});
      return;
    }
    if (op->getNumResults() == 0 || !isTile(op->getResult(0)) || cheap.contains(op->getResult(0)))
      return;
    if (isElementwise(op)) {
      makeElementwise(op);
      return;
    }
    // Both halves of a split, all results of a scan or a map: of one shape.
    int node = makeNode(SmallVector<Value>(op->getResults()));
    if (hasOneLayout(op))
      graph.operandNodes[op] = node;
    if (auto dot = dyn_cast<DotOp>(op)) {
      LayoutNode &product = graph.allNodes[node];
      product.dot = dot;
      product.instructions = wantedInstructions(dot, shape, analysis);
      product.dotDepth = dot.getLhs().getType().getShape().back();
      if (!product.instructions.empty()) {
        // All of them take operands from the same places.
        const layout::MatrixInstruction &one = *product.instructions.front();
        product.isLhsInBuffer = isReadFromBuffer(one, layout::MatrixSide::Lhs, dot);
        product.isRhsInBuffer = isReadFromBuffer(one, layout::MatrixSide::Rhs, dot);
      }
    }
  }

  /// The results of elementwise operations that feed each other are one node. An operation that
  /// joins two nodes makes one of them.
  void makeElementwise(Operation *op) {
    int node = -1;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      int made = graph.nodeOf(operand);
      if (made < 0 || !maker || !isElementwise(maker) || made == node)
        continue;
      if (node >= 0)
        merge(made, node);
      else
        node = made;
    }
    if (node < 0)
      node = newNode(op->getResult(0).getType());
    for (Value result : op->getResults())
      graph.nodesOfValues[result] = node;
    graph.operandNodes[op] = node;
  }

  void merge(int from, int into) {
    for (auto &[value, node] : graph.nodesOfValues)
      if (node == from)
        node = into;
    for (auto &[op, node] : graph.operandNodes)
      if (node == from)
        node = into;
  }

  //-- Costs and links -----------------------------------------------------------------------------

  double tripsOfBlock(Block *block) {
    auto [found, isNew] = blockTrips.try_emplace(block, 1);
    if (!isNew)
      return found->second;
    double trips = 1;
    Operation *parent = block->getParentOp();
    if (parent && parent != function.getOperation()) {
      trips = tripsOfBlock(parent->getBlock());
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        trips *= tripsOf(loop);
      else if (isa<scf::WhileOp>(parent))
        trips *= kLoopTrips;
      trips = std::min(trips, kMaxTrips);
    }
    return blockTrips[block] = trips;
  }

  void link(Value made, int user, LinkKind kind, Operation *op, int axis = 0) {
    int maker = graph.nodeOf(made);
    if (maker < 0 || user < 0 || (maker == user && kind == LinkKind::Same))
      return;
    // A tile used twice is converted once.
    for (LayoutLink &held : graph.allLinks)
      if (kind == LinkKind::Same && held.kind == kind && held.from == maker && held.to == user &&
          linkedValues.lookup(&held - graph.allLinks.data()) == made)
        return;
    linkedValues[graph.allLinks.size()] = made;
    LayoutLink link{maker, user, kind, op, axis, bitsOf(made), tripsOfBlock(made.getParentBlock())};
    bool isOperand = kind == LinkKind::DotLhs || kind == LinkKind::DotRhs;
    if (isOperand) {
      link.instructions = graph.allNodes[user].instructions;
      link.isInBuffer = graph.allNodes[user].isInBuffer(sideOf(kind));
    }
    const bool isOfBuffers = !link.instructions.empty() && link.instructions.front()->isOfBuffers();
    Value loaded = isOfBuffers ? TurnedTile(made).source : made;
    link.canBeAhead =
        !link.instructions.empty() && link.trips > 1 && loaded.getDefiningOp<LoadOp>() != nullptr;
    graph.allLinks.push_back(link);
  }

  void linkSame(ValueRange made, ValueRange users, Operation *op) {
    for (auto [value, user] : llvm::zip(made, users))
      link(value, graph.nodeOf(user), LinkKind::Same, op);
  }

  void describe(Operation *op) {
    double trips = op == function.getOperation() ? 1 : tripsOfBlock(op->getBlock());
    int node = graph.operandNodeOf(op);
    if (node >= 0)
      for (Value operand : op->getOperands())
        link(operand, node, LinkKind::Same, op);

    if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op)) {
      if (node >= 0)
        graph.allNodes[node].accesses.push_back(describeAccess(op, trips));
    } else if (isa<ReduceOp, ScanOp>(op)) {
      describeCombination(op, node, trips);
    } else if (isElementwise(op)) {
      if (node >= 0)
        graph.allNodes[node].elementwiseOps += trips;
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      int result = graph.nodeOf(dot.getResult());
      graph.allNodes[result].dotTrips = trips;
      link(dot.getAcc(), result, LinkKind::Same, op);
      link(dot.getLhs(), result, LinkKind::DotLhs, op);
      link(dot.getRhs(), result, LinkKind::DotRhs, op);
    } else if (auto gather = dyn_cast<GatherOp>(op)) {
      link(gather.getIndex(), graph.nodeOf(gather.getResult()), LinkKind::Same, op);
    } else {
      describeShapeOrControl(op);
    }
  }

  void describeCombination(Operation *op, int node, double trips) {
    Combination combination;
    combination.isScan = isa<ScanOp>(op);
    combination.axis =
        combination.isScan ? cast<ScanOp>(op).getAxis() : cast<ReduceOp>(op).getAxis();
    combination.bits = 0;
    for (Value operand : op->getOperands())
      combination.bits += bitsOf(operand);
    combination.trips = trips;
    graph.allNodes[node].combinations.push_back(combination);
    if (combination.isScan)
      return;
    for (Value result : op->getResults())
      if (int made = graph.nodeOf(result); made >= 0)
        graph.allLinks.push_back(
            {node, made, LinkKind::Slice, op, combination.axis, bitsOf(result), trips});
  }

  void describeShapeOrControl(Operation *op) {
    auto linkTo = [&](LinkKind kind, int axis = 0) {
      for (Value operand : op->getOperands())
        link(operand, graph.nodeOf(op->getResult(0)), kind, op, axis);
    };
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      linkTo(LinkKind::Expand, expand.getAxis());
    else if (isa<BroadcastOp>(op))
      linkTo(LinkKind::Broadcast);
    else if (isa<TransposeOp>(op))
      linkTo(LinkKind::Transpose);
    else if (isa<ReshapeOp>(op))
      linkTo(LinkKind::Reshape);
    else if (isa<JoinOp>(op))
      linkTo(LinkKind::Join);
    else if (isa<SplitOp>(op))
      linkTo(LinkKind::Split);
    else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      linkSame(loop.getInitArgs(), loop.getRegionIterArgs(), op);
      linkSame(loop.getYieldedValues(), loop.getRegionIterArgs(), op);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      linkSame(loop.getInits(), loop.getBeforeArguments(), op);
      linkSame(loop.getConditionOp().getArgs(), loop.getAfterArguments(), op);
      linkSame(loop.getYieldOp().getResults(), loop.getBeforeArguments(), op);
    } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() > 0) {
      linkSame(branch.thenYield().getResults(), branch.getResults(), op);
      linkSame(branch.elseYield().getResults(), branch.getResults(), op);
    }
  }

  MemoryAccess describeAccess(Operation *op, double trips) {
    const MemoryOperands operands = memoryOperandsOf(op);
    const int64_t most = mostElements(op, shape);
    const Masks masks = masksOf(op, shape);
    MemoryAccess access;
    access.isWrite = !isa<LoadOp>(op);
    access.cyclesPerLine = access.isWrite ? shape.lineCycles.written : shape.lineCycles.read;
    access.bytes = operands.bytes;
    access.trips = trips;
    for (auto [axis, facts] : llvm::enumerate(analysis.of(operands.pointer).dimensions)) {
      MemoryAccess::Axis &entry = access.axes.emplace_back();
      entry.neighbours = facts.contiguity();
      entry.alignment = analysis.alignment(operands.pointer, axis);
      entry.isConstant = facts.isConstant();
      entry.width = accessAlong(operands, axis, most, /*layout=*/nullptr, analysis, masks).width;
    }
    return access;
  }

  LayoutGraph &graph;
  func::FuncOp function;
  const CheapValues &cheap;
  const IndexAnalysis &analysis;
  const GpuShape &shape;
  DenseMap<Block *, double> blockTrips;
  DenseMap<size_t, Value> linkedValues; // by number of the link
};

LayoutGraph::LayoutGraph(func::FuncOp function, const CheapValues &cheap,
                         const IndexAnalysis &analysis, const GpuShape &shape) {
  LayoutGraphBuilder(*this, function, cheap, analysis, shape).build();
}

} // namespace sectile::optimizer
