#include "optimizer/gpu/BufferProducts.h"

#include "lang/layout/BufferOperand.h"
#include "optimizer/UnheededHints.h"
#include "optimizer/gpu/AccessWidth.h"
#include "optimizer/gpu/DotLayouts.h"
#include "optimizer/gpu/TensorCopies.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

//===-- Products are started ------------------------------------------------------------------===//

/// Returns the axis along which threads have, or load, the most neighbours.
int contiguousAxisOf(Value tile, const GpuShape &shape, const IndexAnalysis &analysis) {
  const layout::TileLayout &layout = *layoutOf(tile.getType());
  auto load = tile.getDefiningOp<LoadOp>();
  if (auto block =
          load && load.getBlock() ? load.getBlock().getDefiningOp<BlockAtOp>() : BlockAtOp())
    if (auto axis = rowAxisOf(block); axis && shapeOf(tile.getType()).size() == 2)
      return *axis;
  if (load)
    return accessWidth(memoryOperandsOf(load), mostElements(load, shape), layout, analysis,
                       masksOf(load, shape))
        .axis;
  return layout.contiguousRegisters(0) > layout.contiguousRegisters(1) ? 0 : 1;
}

class ProductStarter {
public:
  ProductStarter(func::FuncOp function, const GpuShape &shape, lang::Remarks &remarks)
      : function(function), shape(shape), analysis(function), remarks(remarks),
        builder(function.getContext()) {}

  void run() {
    SmallVector<DotOp> dots;
    function.walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      auto all = matrixInstructions(dot, shape);
      const auto *named = llvm::find_if(all, [&](const layout::MatrixInstruction *one) {
        return one->isOfBuffers() && one->name == dot.getInstruction();
      });
      if (named != all.end())
        start(dot, **named);
      else
        noteSumsTogether(dot, SumsApart::ByProduct, remarks);
    }
    SmallVector<Operation *> ways; // to operands
    function.walk([&](Operation *op) {
      if (isa<TransposeOp, ConvertLayoutOp>(op))
        ways.push_back(op);
    });
    for (Operation *op : llvm::reverse(ways))
      if (op->use_empty())
        op->erase();
  }

private:
  void start(DotOp dot, const layout::MatrixInstruction &instruction) {
    using layout::MatrixSide;
    Value lhs = operand(dot, instruction, MatrixSide::Lhs),
          rhs = operand(dot, instruction, MatrixSide::Rhs);
    builder.setInsertionPoint(dot);
    auto begin = [&](Value acc, DenseI32ArrayAttr depth) -> Value {
      return DotAsyncOp::create(builder, dot.getLoc(), dot.getType(), lhs, rhs, acc,
                                dot.getInstructionAttr(), /*delayable=*/UnitAttr(),
                                /*lasting=*/UnitAttr(), depth);
    };
    Value sum;
    if (std::optional<int64_t> apart = sumsApart(dot, instruction))
      sum = sumOfParts(dot, *apart, begin);
    else
      sum = wait(begin(dot.getAcc(), {}));
    dot.replaceAllUsesWith(sum);
    dot.erase();
  }

  Value wait(Value started) {
    return DotWaitOp::create(builder, started.getLoc(), TypeRange{started.getType()},
                             builder.getI32IntegerAttr(0), ValueRange{started})
        .getResult(0);
  }

  /// Adds the products of parts of the depth, each computed apart, to the accumulator. Where a
  /// thread would hold too many of them, because there are more than two or other products in the
  /// block, each begins behind what adds those before: a pinned wait for nothing, across which
  /// ptxas moves no addition. OrderProducts leaves these alone, and lets two overlap.
  Value sumOfParts(DotOp dot, int64_t part,
                   llvm::function_ref<Value(Value acc, DenseI32ArrayAttr depth)> begin) {
    Location place = dot.getLoc();
    const int64_t depth = shapeOf(dot.getLhs().getType()).back();
    addRemark(remarks, place, "sums-apart",
              "the sums of " + std::to_string(part) +
                  " products each are computed apart, and then added to the accumulator",
              {{"products", part}});
    Value none = arith::ConstantOp::create(builder, place, builder.getZeroAttr(dot.getType()));
    Value sum = dot.getAcc();
    bool isFirst = matchPattern(sum, m_PosZeroFloat());
    int32_t before = 0; // products of the block
    bool isAlone = true;
    for (Operation &op : *dot->getBlock()) {
      before += isa<DotAsyncOp>(op);
      isAlone &= &op == dot || !isa<DotOp, DotAsyncOp>(op);
    }
    const bool takesTurns = part < depth && (2 * part < depth || !isAlone);
    for (int64_t from = 0; from < depth; from += part) {
      const int64_t to = std::min(from + part, depth);
      if (takesTurns && (from || before))
        DotWaitOp::create(builder, place, TypeRange(), builder.getI32IntegerAttr(from ? 0 : before),
                          ValueRange())
            .setPinned(true);
      Value more =
          wait(begin(none, part < depth ? builder.getDenseI32ArrayAttr({int32_t(from), int32_t(to)})
                                        : DenseI32ArrayAttr()));
      sum = isFirst ? more : arith::AddFOp::create(builder, place, sum, more).getResult();
      isFirst = false;
    }
    return sum;
  }

  Value operand(DotOp dot, const layout::MatrixInstruction &instruction, layout::MatrixSide side) {
    Value tile = operandOf(dot, side);
    if (!isReadFromBuffer(instruction, side, dot))
      return tile;
    const TurnedTile turned(tile);
    const auto &order = turned.order;
    tile = turned.source;
    builder.setInsertionPointAfterValue(tile);
    Location place = tile.getLoc();
    auto type = cast<RankedTensorType>(tile.getType());
    const bool isLhs = side == layout::MatrixSide::Lhs;
    const int depthAxis = order[isLhs ? 1 : 0];
    const int contiguous =
        instruction.places(side).acrossDepth ? contiguousAxisOf(tile, shape, analysis) : depthAxis;
    const int64_t extent = contiguous == depthAxis ? type.getDimSize(depthAxis)
                           : isLhs                 ? instruction.m
                                                   : instruction.n;
    auto shared = layout::bufferOperandLayout(type.getShape(), contiguous,
                                              type.getElementTypeBitWidth(), extent);
    auto bufferOf = [&](const layout::SharedLayout &layout) {
      return BufferType::get(type.getContext(), 1, layout.shape(), type.getElementType(),
                             SharedLayoutAttr::get(type.getContext(), layout));
    };
    Value buffer = ToBufferOp::create(builder, place, bufferOf(shared), tile);
    if (order[0] == 0)
      return buffer;
    return BufferViewOp::create(builder, place, bufferOf(layout::transpose(shared, order)), buffer,
                                Value(), builder.getDenseI32ArrayAttr({order[0], order[1]}));
  }

  func::FuncOp function;
  const GpuShape &shape;
  IndexAnalysis analysis;
  lang::Remarks &remarks;
  OpBuilder builder;
};

struct StartProducts : GpuPass<StartProducts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StartProducts)
  StartProducts(const GpuPipelineOptions &options, GpuAssumptions *assumed)
      : GpuPass(options, assumed) {}

  StringRef getArgument() const override { return "start-products"; }
  StringRef getDescription() const override {
    return "products that read shared memory get buffers and a wait of their own "
           "(warps=4,lanes=32,bytes=16,registers=65536,each=255,wgmma=false,fixed=false)";
  }
  void runOnOperation() override {
    if (multiplies(getOperation()))
      ProductStarter(getOperation(), shape(), assumed().remarks).run();
  }
};

//===-- Buffers are filled --------------------------------------------------------------------===//

struct FillBuffers : PassWrapper<FillBuffers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FillBuffers)

  StringRef getArgument() const override { return "fill-buffers"; }
  StringRef getDescription() const override {
    return "tiles that products read in shared memory are stored there";
  }

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    SmallVector<ToBufferOp> all;
    getOperation().walk([&](ToBufferOp op) { all.push_back(op); });
    for (ToBufferOp op : all)
      sink(op);
    getOperation().walk([&](ToBufferOp op) {
      if (!llvm::is_contained(blocks, op->getBlock()))
        blocks.push_back(op->getBlock());
    });
    for (Block *block : blocks)
      fill(*block);
  }

  /// The first operation of the maker's block that uses its result, or holds a use.
  static Operation *firstUseOf(Operation *maker) {
    Operation *first = nullptr;
    for (Operation *user : maker->getUsers()) {
      Operation *here = maker->getBlock()->findAncestorOpInBlock(*user);
      if (here && (!first || here->isBeforeInBlock(first)))
        first = here;
    }
    return first;
  }

  static void moveToFirstUse(Operation *maker) {
    if (Operation *first = firstUseOf(maker))
      maker->moveBefore(first);
  }

  /// A buffer takes shared memory from its first use on, for which a view alone does not count.
  static void sink(ToBufferOp op) {
    for (Operation *user : op->getUsers())
      if (isa<BufferViewOp>(user))
        moveToFirstUse(user);
    moveToFirstUse(op);
  }

  /// Several stores share the barrier in front of the first operation that may read one of them.
  void fill(Block &block) {
    auto atEntry = OpBuilder::atBlockBegin(&getOperation().getBody().front());
    bool isStored = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      OpBuilder builder(&op);
      Location place = op.getLoc();
      if (isStored &&
          (isa<DotAsyncOp>(op) || op.getNumRegions() || op.hasTrait<OpTrait::IsTerminator>())) {
        ProxyFenceOp::create(builder, place);
        BarrierOp::create(builder, place, /*sharedOnly=*/true);
        isStored = false;
      }
      auto toBuffer = dyn_cast<ToBufferOp>(op);
      if (!toBuffer)
        continue;
      Value buffer = BufferAllocOp::create(atEntry, place, toBuffer.getType());
      Value stage = arith::ConstantOp::create(builder, place, builder.getI32IntegerAttr(0));
      BufferStoreOp::create(builder, place, toBuffer.getValue(), buffer, stage);
      toBuffer.replaceAllUsesWith(buffer);
      toBuffer.erase();
      isStored = true;
    }
  }
};

bool isInBuffer(Value operand) {
  return isa<BufferType>(operand.getType());
}

} // namespace

DotWaitOp onlyWaitFor(DotAsyncOp product) {
  if (!product->hasOneUse())
    return {};
  auto wait = dyn_cast<DotWaitOp>(*product->user_begin());
  return wait && wait->getBlock() == product->getBlock() && wait.getValues().size() == 1 &&
                 wait.getPending() == 0
             ? wait
             : DotWaitOp();
}

std::optional<unsigned> carriedBy(DotWaitOp wait, scf::ForOp loop) {
  if (!wait->hasOneUse())
    return std::nullopt;
  OpOperand &use = *wait->use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  return use.getOperandNumber();
}

std::optional<CarriedProduct> asCarried(DotAsyncOp start, scf::ForOp loop) {
  auto carried = dyn_cast<BlockArgument>(start.getAcc());
  if (start->getBlock() != loop.getBody() || !carried || carried.getOwner() != loop.getBody() ||
      !carried.hasOneUse())
    return std::nullopt;
  DotWaitOp wait = onlyWaitFor(start);
  const unsigned argument = carried.getArgNumber() - loop.getNumInductionVars();
  if (!wait || carriedBy(wait, loop) != argument)
    return std::nullopt;
  return CarriedProduct{start, wait, argument};
}

/// Whether the value is computed from what a wait of the loop gives, for none of these products. Of
/// a branch's result both sides are.
static bool comesBehindWait(Value value, scf::ForOp loop, ArrayRef<DotAsyncOp> besides) {
  SmallVector<Value> left{value};
  llvm::SmallDenseSet<Value, 16> seen;
  while (!left.empty()) {
    Value one = left.pop_back_val();
    Operation *op = one.getDefiningOp();
    if (!op || !loop->isProperAncestor(op) || !seen.insert(one).second)
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      const unsigned number = cast<OpResult>(one).getResultNumber();
      if (llvm::all_of(ArrayRef{branch.thenYield(), branch.elseYield()}, [&](scf::YieldOp side) {
            return comesBehindWait(side.getOperand(number), loop, besides);
          }))
        return true;
    }
    if (isa<DotWaitOp>(op) && llvm::none_of(op->getOperands(), [&](Value given) {
          return llvm::is_contained(besides, given.getDefiningOp<DotAsyncOp>());
        }))
      return true;
    llvm::append_range(left, op->getOperands());
  }
  return false;
}

bool keepsLhs(DotAsyncOp product, scf::ForOp loop, ArrayRef<DotAsyncOp> carried) {
  Value lhs = product.getLhs();
  if (isInBuffer(lhs))
    return true;
  Operation *maker = lhs.getDefiningOp();
  const bool liesStill = maker ? !loop->isProperAncestor(maker)
                               : !loop->isAncestor(lhs.getParentBlock()->getParentOp());
  return liesStill || comesBehindWait(lhs, loop, carried);
}

std::optional<CarriedProduct> carriedProduct(scf::ForOp loop) {
  SmallVector<DotAsyncOp, 2> products;
  loop.getBody()->walk([&](DotAsyncOp product) { products.push_back(product); });
  if (products.size() != 1 || !isInBuffer(products.front().getLhs()))
    return std::nullopt;
  return asCarried(products.front(), loop);
}

std::unique_ptr<Pass> createStartProducts(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<StartProducts>(options, assumed);
}

std::unique_ptr<Pass> createFillBuffers() {
  return std::make_unique<FillBuffers>();
}

} // namespace sectile::optimizer
