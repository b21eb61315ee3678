#include "optimizer/gpu/VerifyLayouts.h"

#include "lang/layout/BufferOperand.h"
#include "lang/layout/Builders.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/DotLayouts.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

using layout::TileLayout;

/// Threads of the layout are those of the kernel.
bool fits(const TileLayout &layout, const GpuShape &shape) {
  return layout.lanesPerWarp() == shape.laneCount && layout.warpCount() == shape.warpCount;
}

bool areAlike(Operation *op) {
  Attribute first;
  auto check = [&](Value value) {
    if (!isTile(value))
      return true;
    Attribute encoding = cast<RankedTensorType>(value.getType()).getEncoding();
    if (!first)
      first = encoding;
    return first == encoding;
  };
  return llvm::all_of(op->getOperands(), check) && llvm::all_of(op->getResults(), check);
}

LogicalResult verifyDot(DotOp dot, const GpuShape &shape) {
  const TileLayout &acc = *layoutOf(dot.getType());
  if (*layoutOf(dot.getAcc().getType()) != acc)
    return dot.emitOpError("layouts: accumulator and result differ");
  layout::MatrixInstructions instructions = matrixInstructions(dot, shape);
  if (!dot.getInstruction())
    return instructions.empty() ? success()
                                : dot.emitOpError("layouts: the product has no instruction, and "
                                                  "there is ")
                                      << instructions.front()->name;
  llvm::erase_if(instructions, [&](const layout::MatrixInstruction *instruction) {
    return instruction->name != *dot.getInstruction();
  });
  if (instructions.empty())
    return dot.emitOpError("layouts: there is no instruction ")
           << dot.getInstructionAttr() << " for this product";
  auto spread = instructionOf(instructions, acc);
  if (!spread)
    return dot.emitOpError("layouts: the accumulator is none of ") << dot.getInstructionAttr();
  auto hasLayout = [&](layout::MatrixSide side) {
    RankedTensorType type = operandOf(dot, side).getType();
    return isReadFromBuffer(*spread->instruction, side, dot) ||
           *layoutOf(type) == spread->operand(side, type.getShape());
  };
  if (!hasLayout(layout::MatrixSide::Lhs) || !hasLayout(layout::MatrixSide::Rhs))
    return dot.emitOpError("layouts: the operands do not fit the accumulator");
  return success();
}

/// The operation that takes the result of a product under way before a wait has given it; null when
/// there is none. The next product may add to it, and loops and branches may carry it.
Operation *usedTooEarly(Value result, llvm::SmallDenseSet<Value, 4> &seen) {
  if (!seen.insert(result).second)
    return nullptr;
  for (OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    auto next = dyn_cast<DotAsyncOp>(user);
    if (isa<DotWaitOp>(user) || (next && use.get() == next.getAcc()))
      continue;
    SmallVector<Value, 2> carried;
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      carried = {loop.getTiedLoopRegionIterArg(&use), loop.getTiedLoopResult(&use)};
    } else if (isa<scf::YieldOp>(user)) {
      Operation *parent = user->getParentOp();
      carried = {parent->getResult(use.getOperandNumber())};
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        carried.push_back(loop.getRegionIterArg(use.getOperandNumber()));
    } else {
      return user;
    }
    for (Value value : carried)
      if (Operation *early = usedTooEarly(value, seen))
        return early;
  }
  return nullptr;
}

/// Whether a product goes on into the next round of its loop, and has its left operand in registers
/// that the round may write before it has waited.
bool isLhsOverwritten(DotAsyncOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  return loop && llvm::is_contained(loop.getYieldedValues(), dot.getResult()) &&
         !keepsLhs(dot, loop, {});
}

LogicalResult verifyDotAsync(DotAsyncOp dot, const GpuShape &shape) {
  const TileLayout &acc = *layoutOf(dot.getType());
  if (*layoutOf(dot.getAcc().getType()) != acc)
    return dot.emitOpError("layouts: accumulator and result differ");
  const layout::MatrixInstruction *instruction =
      shape.bufferInstruction ? shape.bufferInstruction(dot.getInstruction()) : nullptr;
  if (!instruction)
    return dot.emitOpError("layouts: there is no instruction ") << dot.getInstructionAttr();
  auto groups = layout::groupsOf(*instruction, acc);
  if (!groups)
    return dot.emitOpError("layouts: the accumulator is none of ") << dot.getInstructionAttr();
  for (layout::MatrixSide side : {layout::MatrixSide::Lhs, layout::MatrixSide::Rhs}) {
    const bool isLhs = side == layout::MatrixSide::Lhs;
    Type type = isLhs ? dot.getLhs().getType() : Type(dot.getRhs().getType());
    auto held = dyn_cast<BufferType>(type);
    ArrayRef<int64_t> extents = held ? held.getShape() : shapeOf(type);
    if (!isHeldAs(held ? held.getElement() : elementTypeOf(type),
                  isLhs ? instruction->elements.lhs : instruction->elements.rhs) ||
        extents.size() != 2 || extents[isLhs ? 1 : 0] % instruction->k != 0)
      return dot.emitOpError("layouts: its instruction does not multiply ") << type;
    if (held) {
      auto found = layout::bufferOperandOf(held.getLayout().getLayout(), isLhs ? 1 : 0,
                                           held.getElement().getIntOrFloatBitWidth());
      if (!found || !instruction->places(side).sharedMemory ||
          (!found->isDepthContiguous && !instruction->places(side).acrossDepth))
        return dot.emitOpError("layouts: its instruction cannot read ") << held;
    } else if (!instruction->places(side).registers ||
               *layoutOf(type) != layout::operandOf(*instruction, side, shapeOf(type), *groups)) {
      return dot.emitOpError("layouts: the operand in registers does not fit the accumulator");
    }
  }
  if (auto [from, to] = dot.depthRange();
      dot.getDepth() && (from % instruction->k != 0 || to % instruction->k != 0))
    return dot.emitOpError("layouts: its depth is not one of whole instructions, of ")
           << instruction->k;
  llvm::SmallDenseSet<Value, 4> seen;
  if (Operation *early = usedTooEarly(dot.getResult(), seen))
    return dot.emitOpError("is used before it is waited for, by '") << early->getName() << "'";
  if (isLhsOverwritten(dot))
    return dot.emitOpError("goes on into the next round, which writes the registers of its left "
                           "operand before it has waited");
  return success();
}

LogicalResult verify(Operation *op, const GpuShape &shape) {
  auto of = [](Value value) -> const TileLayout & { return *layoutOf(value.getType()); };
  auto require = [&](bool holds, StringRef what) -> LogicalResult {
    return holds ? success() : op->emitOpError("layouts: ") << what;
  };
  if (hasOneLayout(op))
    return require(areAlike(op), "operands and results differ");
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    for (Value source : reduce.getSrcs())
      if (failed(require(of(source) == of(reduce.getSrcs().front()), "sources differ")))
        return failure();
    for (Value result : reduce.getResults())
      if (isTile(result) &&
          failed(
              require(of(result) == layout::sliceOf(of(reduce.getSrcs().front()), reduce.getAxis()),
                      "the result is no slice of the source")))
        return failure();
    return success();
  }
  if (auto histogram = dyn_cast<HistogramOp>(op); histogram && histogram.getMask())
    return require(of(histogram.getSrc()) == of(histogram.getMask()), "source and mask differ");
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return require(of(expand.getSrc()) == layout::sliceOf(of(expand.getResult()), expand.getAxis()),
                   "the source is no slice of the result");
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return require(of(broadcast.getSrc()) ==
                       layout::broadcastOperand(of(broadcast.getResult()),
                                                broadcast.getSrc().getType().getShape()),
                   "the source does not hold what the result repeats");
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int> order(transpose.getOrder().begin(), transpose.getOrder().end());
    return require(of(transpose.getResult()) == layout::transpose(of(transpose.getSrc()), order),
                   "the result is not the source transposed");
  }
  if (auto join = dyn_cast<JoinOp>(op))
    return require(layout::split(of(join.getResult())) == of(join.getLhs()),
                   "the sources are not the halves of the result");
  if (auto split = dyn_cast<SplitOp>(op))
    return require(layout::split(of(split.getSrc())) == of(split.getLhs()),
                   "the results are not the halves of the source");
  if (auto dot = dyn_cast<DotOp>(op))
    return verifyDot(dot, shape);
  if (auto dot = dyn_cast<DotAsyncOp>(op))
    return verifyDotAsync(dot, shape);
  if (auto wait = dyn_cast<DotWaitOp>(op)) {
    for (auto [value, result] : llvm::zip(wait.getValues(), wait.getResults()))
      if (failed(require(of(value) == of(result), "a product and what the wait gives differ")))
        return failure();
    return success();
  }
  if (auto gather = dyn_cast<GatherOp>(op))
    return require(of(gather.getIndex()) == of(gather.getResult()), "index and result differ");
  return success();
}

} // namespace

LogicalResult verifyLayouts(func::FuncOp function, const GpuShape &shape) {
  auto check = [&](Value value, Operation *op) -> LogicalResult {
    if (!isTile(value))
      return success();
    const TileLayout *layout = layoutOf(value.getType());
    if (!layout)
      return op->emitOpError("layouts: ") << value.getType() << " has none";
    if (!fits(*layout, shape))
      return op->emitOpError("layouts: ") << value.getType() << " is not of " << shape.warpCount
                                          << " warps of " << shape.laneCount << " lanes";
    return success();
  };
  WalkResult result = function.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(check(value, op)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(check(argument, op)))
          return WalkResult::interrupt();
    return failed(verify(op, shape)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct VerifyLayouts : GpuPass<VerifyLayouts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyLayouts)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "verify-layouts"; }
  StringRef getDescription() const override {
    return "fail where layouts do not fit together (warps=4,lanes=32,registers=65536,each=255,"
           "matrix=false,wgmma=false,fixed=false)";
  }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLayouts(getOperation(), shape())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyLayouts(const GpuPipelineOptions &options) {
  return std::make_unique<VerifyLayouts>(options);
}

} // namespace sectile::optimizer
