#include "optimizer/gpu/PrefetchLoads.h"

#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/AsyncLoads.h"
#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/LoopSlice.h"
#include "optimizer/gpu/PipelineLoops.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Registers of a thread besides those of tiles.
constexpr int64_t kOtherWords = 16;
/// Programs of a multiprocessor that a loop over rows is launched for, as a rule.
constexpr int64_t kUsualPrograms = 4;
/// Bytes that a multiprocessor must be waiting for at any time to get all that memory can give.
constexpr int64_t kBytesInFlight = 48 << 10;
/// Iterations under way: the one that computes, and the one whose loads it does not wait for.
constexpr int64_t kMostStages = 2;

/// Reads tiles of buffers again behind the last reduction or scan, and repeats the elementwise
/// operations on them, so that they are not held in registers until then.
class Rereader {
public:
  explicit Rereader(Block &body) {
    for (Operation &op : body)
      if (hasElementRegion(&op))
        last = &op;
  }

  void run() {
    if (!last)
      return;
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    SmallVector<Operation *> after;
    for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
      after.push_back(op);
    for (Operation *op : after)
      for (OpOperand &operand : op->getOpOperands())
        if (comesFromBuffer(operand.get()))
          operand.set(again(builder, operand.get()));
  }

private:
  bool isBefore(Operation *op) const {
    return op && op->getBlock() == last->getBlock() && op->isBeforeInBlock(last);
  }
  bool comesFromBuffer(Value value) {
    Operation *op = value.getDefiningOp();
    if (!isBefore(op))
      return false;
    if (isa<BufferLoadOp>(op))
      return true;
    return isElementwise(op) && layoutOf(value.getType()) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return comesFromBuffer(operand); });
  }
  Value again(OpBuilder &builder, Value value) {
    if (!comesFromBuffer(value))
      return value;
    if (Value known = made.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, again(builder, operand));
    return made[value] = builder.clone(*op, operands)->getResult(0);
  }

  Operation *last = nullptr;
  llvm::DenseMap<Value, Value> made;
};

class LoopPrefetcher {
public:
  LoopPrefetcher(scf::ForOp loop, const GpuShape &shape, const LoopWrites &writes,
                 SmallVectorImpl<ApartArguments> &apart, lang::Remarks &remarks)
      : loop(loop), shape(shape), writes(writes), apart(apart), remarks(remarks), slice(loop),
        builder(loop) {}

  /// Returns the programs that a multiprocessor should have room for; 0 when nothing changed.
  int64_t run(const CheapValues &cheap, const IndexAnalysis &analysis) {
    SmallVector<ApartArguments> assumed;
    for (LoadOp load : loop.getOps<LoadOp>()) {
      // All loads are prefetched or none: one late load stalls the iteration anyway.
      if (!writes.mayBePassedBy(load, assumed))
        return stay(load, writes.whyNotPassedBy(load));
      if (!slice.add({load.getPtr(), load.getMask(), load.getOther()}))
        return stay(load, kAddressNeedsIteration);
      loads.push_back(load);
    }
    int64_t programs = roomIfItPays(cheap, analysis);
    if (!programs)
      return stay({}, whyNot);
    for (LoadOp load : loads)
      note(load, "pipelined", "1 iteration ahead, in registers",
           {{"iterations_ahead", 1}, {"through_shared_memory", 0}});
    for (const AsyncLoad &copy : copies)
      note(copy.load, "pipelined", "1 iteration ahead, through 2 stages in shared memory",
           {{"iterations_ahead", 1}, {"stages", 2}, {"through_shared_memory", 1}});
    if (int64_t asked = stagesOf(loop, kMostStages); asked > kMostStages)
      addRemark(remarks, loop.getLoc(), "hint",
                "num_stages=" + std::to_string(asked) +
                    ": a loop without products loads one iteration ahead");
    for (ApartArguments pair : assumed)
      assumeApart(apart, pair);
    rewrite();
    return programs;
  }

private:
  void note(LoadOp load, StringRef kind, std::string text,
            std::initializer_list<std::pair<const char *, int64_t>> numbers = {}) {
    addRemark(remarks, load.getLoc(), kind, std::move(text), numbers);
  }
  /// Nothing is changed, because of `culprit` (null: of them all).
  int64_t stay(LoadOp culprit, const std::string &reason) {
    for (LoadOp load : loop.getOps<LoadOp>())
      note(load, "not-pipelined",
           !culprit || load == culprit ? reason
                                       : "another load of the loop cannot run ahead, and the "
                                         "iteration would wait for that all the same");
    return 0;
  }

  /// More registers in each thread make fewer programs on a multiprocessor, and with many of them
  /// there is enough under way without this.
  int64_t roomIfItPays(const CheapValues &cheap, const IndexAnalysis &analysis) {
    int64_t ahead = 0, bytes = 0;
    for (LoadOp load : loads) {
      ahead += wordsPerThread(load.getType());
      if (layoutOf(load.getType()))
        bytes += wordsPerThread(load.getType()) * 4 * shape.threadCount();
    }
    int64_t now = kOtherWords + peakWords(loop, cheap), then = now + ahead;
    auto room = [&](int64_t words) {
      int64_t programs = shape.registerWords / (shape.threadCount() * words);
      return std::clamp<int64_t>(programs, 1, kUsualPrograms);
    };
    bool isAlone = room(now) == 1;
    if (!isAlone && room(now) * bytes >= kBytesInFlight) {
      whyNot = "about " + std::to_string(room(now)) + " programs fit on a multiprocessor, and " +
               std::to_string(room(now) * bytes) + " bytes are under way without this";
      return 0;
    }
    // A few values can be computed again where they are used.
    int64_t most = std::min<int64_t>(256, shape.registerWords / shape.threadCount()) * 5 / 4;
    bool fitsRegisters = isAlone ? then <= most : room(then) * 5 >= room(now) * 3;
    if (!fitsRegisters && !moveToSharedMemory(bytes * room(now), analysis)) {
      whyNot = "a thread would need about " + std::to_string(then) + " registers, and " + whyNot;
      return 0;
    }
    // ptxas usually needs a quarter fewer registers than estimated here.
    return room((fitsRegisters ? then : now) * 3 / 4);
  }

  /// All tiles, if two stages of them (`bytes` each, of all programs) fit beside what else programs
  /// exchange there.
  bool moveToSharedMemory(int64_t bytes, const IndexAnalysis &analysis) {
    if (shape.asyncCopies != AsyncKind::PerLane) {
      whyNot = "the target has no asynchronous copies of single threads";
      return false;
    }
    if (2 * bytes > shape.sharedBytes * 2 / 3) {
      whyNot = "two stages of " + std::to_string(bytes) + " bytes are too much shared memory";
      return false;
    }
    SmallVector<LoadOp, 4> scalars;
    for (LoadOp load : loads) {
      if (!layoutOf(load.getType()))
        scalars.push_back(load);
      else if (auto copy = asAsyncLoad(load, shape, analysis, whyNot))
        copies.push_back(*copy);
      else
        return false;
    }
    loads = std::move(scalars);
    for (AsyncLoad &copy : copies)
      allocateBuffer(copy, 2);
    return true;
  }

  /// The loads of the iteration of `index`, where it `exists`; `carried` becomes the next one's.
  SmallVector<Value> load(Value index, SmallVector<Value> &carried, Value exists, Value stage) {
    IRMapping there = slice.clone(builder, index, carried);
    for (const AsyncLoad &copy : copies)
      startCopy(builder, copy, there, stage, exists);
    if (!copies.empty())
      AsyncCommitOp::create(builder, loop.getLoc());
    SmallVector<Value> loaded;
    for (LoadOp load : loads)
      loaded.push_back(emitLoadAhead(builder, load, there, exists));
    carried = slice.next(there);
    return loaded;
  }

  void rewrite() {
    LoopExtent extent(builder, loop, 1);
    Value zero = number(0), one = number(1);
    SmallVector<Value> carried = slice.initial();
    SmallVector<Value> loaded = load(loop.getLowerBound(), carried, extent.hasFirst(builder), zero);

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, carried);
    llvm::append_range(initial, loaded);
    initial.push_back(zero);
    scf::ForOp made = rebuildLoop(builder, loop, initial);
    unsigned ownCount = loop.getNumRegionIterArgs();
    auto arguments = made.getRegionIterArgs();

    builder.setInsertionPointToStart(made.getBody());
    Value index = made.getInductionVar(), stage = arguments.back();
    Value otherStage = arith::SubIOp::create(builder, loop.getLoc(), one, stage);
    if (!copies.empty()) {
      AsyncWaitOp::create(builder, loop.getLoc(), builder.getI32IntegerAttr(0));
      BarrierOp::create(builder, loop.getLoc(), /*sharedOnly=*/true);
    }
    SmallVector<Value> aheadCarried(arguments.slice(ownCount, carried.size()));
    SmallVector<Value> ahead = load(extent.later(builder, index), aheadCarried,
                                    extent.hasLater(builder, index), otherStage);

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), index);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), arguments))
      mapping.map(from, to);
    for (auto [from, to] : llvm::zip(loads, arguments.drop_front(ownCount + carried.size())))
      mapping.map(from.getResult(), to);
    llvm::SmallDenseMap<Operation *, Value> buffers;
    for (AsyncLoad &copy : copies)
      buffers[copy.load] = copy.buffer;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (Value buffer = buffers.lookup(&op))
        mapping.map(op.getResult(0), BufferLoadOp::create(builder, op.getLoc(),
                                                          op.getResult(0).getType(), buffer, stage)
                                         .getResult());
      else if (!isa<LoadOp>(op))
        builder.clone(op, mapping);
    }
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadCarried);
    llvm::append_range(yielded, ahead);
    yielded.push_back(otherStage);
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, loop.getLoc(), yielded);
    loop.replaceAllUsesWith(made.getResults().take_front(ownCount));
    if (!copies.empty()) {
      Rereader(*made.getBody()).run();
      // Copies of a round that does not exist write zeros; behind them the buffers' bytes are free.
      builder.setInsertionPointAfter(made);
      AsyncWaitOp::create(builder, loop.getLoc(), builder.getI32IntegerAttr(0));
    }
    loop.erase();
  }

  Value number(int32_t value) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getI32IntegerAttr(value));
  }

  scf::ForOp loop;
  const GpuShape &shape;
  const LoopWrites &writes;
  SmallVectorImpl<ApartArguments> &apart;
  lang::Remarks &remarks;
  std::string whyNot;
  LoopSlice slice;
  OpBuilder builder;
  SmallVector<LoadOp, 4> loads;     // wait in registers
  SmallVector<AsyncLoad, 4> copies; // wait in shared memory
};

/// Whether all threads wait for the loads of every iteration, because a reduction or scan follows.
/// (ptxas unrolls loops that only add up, which is better.)
bool isCandidate(scf::ForOp loop, lang::Remarks &remarks) {
  if (loop.getOps<LoadOp>().empty())
    return false;
  bool hasLoops = false, multiplies = false, meets = false;
  loop.getBody()->walk([&](Operation *op) {
    hasLoops |= isa<scf::ForOp, scf::WhileOp>(op);
    multiplies |= isa<DotOp, DotAsyncOp, AsyncCopyOp>(op);
    meets |= isa<ReduceOp, ScanOp, SortOp, HistogramOp>(op);
  });
  if (int64_t stages = stagesOf(loop, kMostStages); !multiplies && stages < 2) {
    for (auto load : loop.getOps<LoadOp>())
      addRemark(remarks, load.getLoc(), "not-pipelined", "num_stages is " + std::to_string(stages));
    return false;
  }
  // Loops with products are PipelineLoops'.
  if (!multiplies && (hasLoops || !meets))
    for (auto load : loop.getOps<LoadOp>())
      addRemark(remarks, load.getLoc(), "not-pipelined",
                hasLoops ? "there is another loop in this one"
                         : "threads do not wait for each other in the loop (no reduction, no "
                           "scan), so loads of later iterations start early as it is");
  return !hasLoops && !multiplies && meets;
}

struct PrefetchLoads : GpuPass<PrefetchLoads> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrefetchLoads)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "prefetch-loads"; }
  StringRef getDescription() const override {
    return "start the loads of loops a turn ahead (warps=4,lanes=32,bytes=16,registers=65536,"
           "shared=49152,async=false,overlap=false)";
  }
  void runOnOperation() override;
};

void PrefetchLoads::runOnOperation() {
  func::FuncOp function = getOperation();
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    if (isCandidate(loop, assumed().remarks))
      loops.push_back(loop);
  });
  if (loops.empty())
    return;
  // Products elsewhere have registers of their own, of which the loops' programs say nothing.
  const bool hasProducts = multiplies(function);
  PointerProvenance provenance(function);
  CheapValues cheap(function);
  IndexAnalysis analysis(function);
  for (scf::ForOp loop : loops) {
    LoopWrites writes(loop, provenance, options.argumentsOverlap);
    LoopPrefetcher prefetcher(loop, shape(), writes, assumed().apart, assumed().remarks);
    const int64_t programs = prefetcher.run(cheap, analysis);
    if (!hasProducts)
      assumed().programs = std::max(assumed().programs, programs);
  }
}

} // namespace

std::unique_ptr<Pass> createPrefetchLoads(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<PrefetchLoads>(options, assumed);
}

} // namespace sectile::optimizer
