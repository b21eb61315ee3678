#include "optimizer/gpu/MakePersistent.h"

#include "optimizer/gpu/StagePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// The kernel's one loop; null where there are others, or it is in a branch.
scf::ForOp onlyLoopOf(func::FuncOp function) {
  scf::ForOp only;
  int count = 0;
  function.walk([&](LoopLikeOpInterface loop) {
    ++count;
    only = dyn_cast<scf::ForOp>(loop.getOperation());
  });
  return count == 1 && only && only->getParentOp() == function ? only : scf::ForOp();
}

/// Whether programs may run in any order, one after another.
bool isFreeOfOrder(func::FuncOp function) {
  return !function.getBody()
              .walk([](Operation *op) {
                bool isFree = llvm::TypeSwitch<Operation *, bool>(op)
                                  .Case([](LoadOp load) { return !load.getIsVolatile(); })
                                  .Case([](AtomicRmwOp atomic) { return atomic->use_empty(); })
                                  .Case<StoreOp, AssumeOp>([](Operation *) { return true; })
                                  .Default([](Operation *op) {
                                    return touchesOnlySharedMemory(op) || isMemoryEffectFree(op) ||
                                           op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
                                  });
                return isFree ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// The numbers of a kernel that are the same for all programs.
class CommonNumbers {
public:
  explicit CommonNumbers(Block &body) {
    for (Operation &op : body)
      if (op.getNumResults() && !op.getNumRegions() && isMemoryEffectFree(&op) &&
          llvm::none_of(op.getResultTypes(), llvm::IsaPred<ShapedType, BufferType, BlockType>) &&
          !isa<ProgramIdOp>(op) &&
          llvm::all_of(op.getOperands(), [&](Value operand) { return contains(operand); }))
        operations.insert(&op);
  }

  bool contains(Value value) const {
    Operation *op = value.getDefiningOp();
    return !op || operations.contains(op);
  }
  bool contains(Operation *op) const { return operations.contains(op); }

private:
  llvm::DenseSet<Operation *> operations;
};

struct MakePersistent : GpuPass<MakePersistent> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakePersistent)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "make-persistent"; }
  StringRef getDescription() const override {
    return "a block of threads runs several programs where a copy engine feeds the kernel's loop "
           "(warps=4,lanes=32,maps=0,shared=49152,stages=3,overlap=false,persistent=true)";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!options.persistent || !shape().hasTensorCopy())
      return;
    scf::ForOp loop = onlyLoopOf(function);
    Block &body = function.front();
    const CommonNumbers common(body);
    if (!loop || !isFreeOfOrder(function) ||
        !llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                      [&](Value bound) { return common.contains(bound); }) ||
        !isFedByEngine(loop, options))
      return;
    // Programs that share a multiprocessor multiply while another one computes between its
    // products; what a loop around takes of registers and shared memory would cost one of them. A
    // producer's program has the multiprocessor to itself.
    llvm::SmallDenseSet<std::pair<Value, Value>, 2> multiplied; // parts of one product are one
    for (auto product : loop.getOps<DotAsyncOp>())
      multiplied.insert({product.getLhs(), product.getRhs()});
    for (auto product : loop.getOps<DotOp>())
      multiplied.insert({product.getLhs(), product.getRhs()});
    if (multiplied.size() > 1 && !hasProducerThen(function)) {
      addRemark(assumed().remarks, loop.getLoc(), "not-persistent",
                "its loop has several products, whose waits other programs hide");
      return;
    }
    wrap(function, loop.getLoc());
    addRemark(assumed().remarks, loop.getLoc(), "persistent",
              "a block of threads runs several programs, and loads of the next one start before "
              "the last one ends (persistent=False: one for each)");
  }

private:
  /// Whether a producer would copy for one program while the last one ends.
  bool hasProducerThen(func::FuncOp function) {
    OwningOpRef<func::FuncOp> copy(function.clone());
    scf::ForOp loop = onlyLoopOf(*copy);
    wrap(*copy, loop.getLoc());
    return isFedAcrossRoundsByProducer(loop, options);
  }

  static void wrap(func::FuncOp function, Location place) {
    Block &body = function.front();
    const CommonNumbers common(body);
    Operation *end = body.getTerminator();
    SmallVector<Operation *> ofProgram;
    for (Operation &op : body.without_terminator())
      if (!common.contains(&op))
        ofProgram.push_back(&op);
    SmallVector<ProgramIdOp> numbers;
    body.walk([&](ProgramIdOp op) { numbers.push_back(op); });
    // Programs along y and z are in the row that blocks of threads share where the kernel tells
    // them apart: rows of their own would all be under way at one time, and what they read would
    // not stay in the cache. Others take no division.
    const bool ofGrid = llvm::any_of(numbers, [](ProgramIdOp op) { return op.getAxis() > 0; });
    OpBuilder builder(end);
    Value first = WorkerIdOp::create(builder, place, ofGrid);
    Value workers = NumWorkersOp::create(builder, place);
    SmallVector<Value, 3> counts;
    for (int32_t axis = 0; axis < (ofGrid ? 3 : 1); ++axis)
      counts.push_back(NumProgramsOp::create(builder, place, axis));
    Value programs = counts.front();
    for (Value more : ArrayRef(counts).drop_front())
      programs = arith::MulIOp::create(builder, place, programs, more);
    auto loop = scf::ForOp::create(builder, place, first, programs, workers);
    Operation *roundEnd = loop.getBody()->getTerminator();
    builder.setInsertionPoint(roundEnd);
    // The last axis has what is left.
    SmallVector<Value, 3> along;
    Value left = loop.getInductionVar();
    for (Value count : ArrayRef(counts).drop_back()) {
      along.push_back(arith::RemSIOp::create(builder, place, left, count));
      left = arith::DivSIOp::create(builder, place, left, count);
    }
    along.push_back(left);
    for (auto [axis, number] : llvm::enumerate(along))
      number = ProgramIdOp::create(builder, place, int32_t(axis), number);
    for (Operation *op : ofProgram)
      op->moveBefore(roundEnd);
    for (ProgramIdOp op : numbers) {
      op.replaceAllUsesWith(along[op.getAxis()]);
      op.erase();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createMakePersistent(const GpuPipelineOptions &options,
                                           GpuAssumptions *assumed) {
  return std::make_unique<MakePersistent>(options, assumed);
}

} // namespace sectile::optimizer
