#include "optimizer/gpu/StageLoads.h"

#include "lang/layout/Conversion.h"
#include "lang/layout/WarpCopies.h"
#include "optimizer/RebuildLoop.h"
#include "optimizer/gpu/AsyncLoads.h"
#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/DotLayouts.h"
#include "optimizer/gpu/LoopSlice.h"
#include "optimizer/gpu/PipelineLoops.h"
#include "optimizer/gpu/ThreadWork.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

std::string whyNotStaged(LoadOp load, scf::ForOp loop) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type || type.getRank() < 2)
    return "only tiles of two dimensions or more wait in shared memory";
  bool feedsProducts = false;
  for (Operation *user : load->getUsers()) {
    if (isa<ToBufferOp>(user) && user->getBlock() == loop.getBody()) {
      feedsProducts = true;
      continue;
    }
    auto convert = dyn_cast<ConvertLayoutOp>(user);
    if (!convert || convert->getBlock() != loop.getBody())
      return "'" + user->getName().getStringRef().str() +
             "' takes it from registers, so shared memory would be a detour";
    feedsProducts |= llvm::any_of(convert->getUsers(), llvm::IsaPred<DotOp>);
  }
  return feedsProducts ? "" : "no product takes it";
}

namespace {

/// Registers of a thread besides those of tiles: addresses, and what is under way.
constexpr int64_t kOtherWords = 24;
/// Iterations under way: the one that computes, and the one whose loads it does not wait for.
constexpr int64_t kMostStages = 2;
/// Programs of a multiprocessor that stages leave room for.
constexpr int64_t kLeastPrograms = 2, kUsualPrograms = 4;

struct StagedLoad {
  LoadOp load;
  Value buffer = {};
  /// The copy of whole warps that takes the place of load and store, if there may be one.
  std::optional<AsyncLoad> copy = {};
};

/// The layout that a product wants of what is loaded.
const layout::TileLayout &layoutOfProduct(LoadOp load) {
  for (Operation *user : load->getUsers())
    if (llvm::any_of(user->getUsers(), llvm::IsaPred<DotOp>))
      return *layoutOf(user->getResult(0).getType());
  llvm_unreachable("a product takes it");
}

class LoopStager {
public:
  LoopStager(scf::ForOp loop, const GpuShape &shape, const IndexAnalysis *analysis,
             const LoopWrites &writes, GpuAssumptions &assumed)
      : loop(loop), shape(shape), analysis(analysis), writes(writes), assumed(assumed),
        builder(loop), slice(loop) {}

  void run() {
    SmallVector<ApartArguments> apart;
    for (auto load : loop.getOps<LoadOp>()) {
      std::string whyNot = consider(load, apart);
      if (!whyNot.empty() && isa<RankedTensorType>(load.getType()))
        addRemark(assumed.remarks, load.getLoc(), "not-pipelined", whyNot);
    }
    if (loads.empty())
      return;
    const CheapValues cheap(loop->getParentOfType<func::FuncOp>());
    int64_t words = wordsAhead(cheap);
    if (!decideStages(words))
      return;
    if (stages > 1)
      words = wordsAhead(cheap, /*copied=*/true);
    const int64_t most = std::min(shape.threadWords, shape.registerWords / shape.threadCount());
    if (stages == 1 || words > most)
      for (StagedLoad &one : loads)
        one.copy.reset();
    if (words > most) {
      noteAll("not-pipelined", "a thread would need about " + std::to_string(words) +
                                   " registers, and has " + std::to_string(most));
      return stageInPlace();
    }
    for (ApartArguments pair : apart)
      assumeApart(assumed.apart, pair);
    notePipelined();
    runAhead();
  }

private:
  /// Why it stays as it is; empty: it goes to `loads`.
  std::string consider(LoadOp load, SmallVectorImpl<ApartArguments> &apart) {
    if (std::string whyNot = whyNotStaged(load, loop); !whyNot.empty())
      return whyNot;
    if (load.getIsVolatile())
      return "it is volatile";
    auto type = cast<RankedTensorType>(load.getType());
    if (!type.getElementType().isIntOrFloat() || type.getElementTypeBitWidth() < 8)
      return "only numbers of whole bytes wait in shared memory";
    if (llvm::any_of(load->getUsers(), llvm::IsaPred<ToBufferOp>))
      return "a product reads it out of shared memory, and stores it there itself";
    if (layout::classifyConversion(*layoutOf(type), layoutOfProduct(load),
                                   type.getElementTypeBitWidth()) !=
        layout::ConversionKind::ThroughShared)
      return "a product takes it from registers, so shared memory would be a detour";
    if (!writes.mayBePassedBy(load, apart))
      return writes.whyNotPassedBy(load);
    if (!slice.add({load.getPtr(), load.getMask(), load.getOther()}))
      return kAddressNeedsIteration;
    loads.push_back({load});
    loads.back().copy = asWarpCopy(load);
    return {};
  }

  /// Whole warps copy it, if the way it lies in threads puts it where the product can read it.
  std::optional<AsyncLoad> asWarpCopy(LoadOp load) const {
    if (shape.asyncCopies != AsyncKind::WholeWarps || !warpFilled(load))
      return std::nullopt;
    std::string whyNot;
    auto copy = asAsyncLoad(load, shape, *analysis, whyNot);
    const int64_t bytes = elementTypeOf(load.getType()).getIntOrFloatBitWidth() / 8;
    if (!copy || copy->width * bytes != shape.maxAccessBytes ||
        load.getCache() == CacheModifier::CV)
      return std::nullopt;
    return copy;
  }

  std::optional<layout::SharedLayout> warpFilled(LoadOp load) const {
    auto type = cast<RankedTensorType>(load.getType());
    return layout::filledByWarpsFor(*layoutOf(type), layoutOfProduct(load),
                                    type.getElementTypeBitWidth(), shape.maxAccessBytes,
                                    shape.sharedBanks);
  }

  //-- How many stages, and how far ahead ----------------------------------------------------------

  BufferType bufferOf(const StagedLoad &one, int64_t stages) const {
    LoadOp load = one.load;
    auto type = cast<RankedTensorType>(load.getType());
    auto shared = one.copy
                      ? *warpFilled(load)
                      : layout::sharedBetween(*layoutOf(type), layoutOfProduct(load),
                                              type.getElementTypeBitWidth(), shape.sharedBanks);
    return BufferType::get(load.getContext(), stages, type.getShape(), type.getElementType(),
                           SharedLayoutAttr::get(load.getContext(), shared));
  }

  bool isReplaced(Operation *op) const {
    Operation *source = isa<ConvertLayoutOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
    return source && llvm::any_of(loads, [&](StagedLoad one) { return one.load == source; });
  }

  /// Shared memory that the rest of the loop wants at a time.
  int64_t scratchOfRest() {
    int64_t most = 0;
    if (shape.scratchBytes)
      loop.getBody()->walk([&](Operation *op) {
        if (!isReplaced(op))
          most = std::max(most, shape.scratchBytes(op));
      });
    return most;
  }

  /// False where there is too little shared memory for one.
  bool decideStages(int64_t words) {
    int64_t bytes = 0;
    for (const StagedLoad &one : loads)
      bytes += bufferOf(one, 1).getStageBytes();
    int64_t rest = scratchOfRest();
    // Another program hides what the first one waits for at its barriers: stages leave shared
    // memory for as many as have registers.
    // Copies of whole warps take no registers and no stores, and need a second stage.
    int64_t programs = std::clamp(shape.registerWords / (shape.threadCount() * words),
                                  kLeastPrograms, hasCopies() ? kLeastPrograms : kUsualPrograms);
    stages = kMostStages * bytes + rest <= shape.sharedBytes / programs ? kMostStages : 1;
    if (bytes + rest <= shape.sharedBytes)
      return true;
    noteAll("not-pipelined", "the tiles of a round take " + std::to_string(bytes) +
                                 " bytes, which is too much shared memory");
    return false;
  }

  /// Registers of a thread when the loads of the next round are under way in it: these, the tiles
  /// that live through the loop, and a product's result and operands of two steps; and a quarter
  /// more, for what is computed in between.
  int64_t wordsAhead(const CheapValues &cheap, bool copied = false) const {
    int64_t words = kOtherWords;
    for (const StagedLoad &one : loads)
      if (LoadOp load = one.load; !copied || !one.copy)
        words += wordsPerThread(load.getType());
    scf::ForOp loop = this->loop;
    llvm::SmallDenseSet<Value, 16> living(loop.getRegionIterArgs().begin(),
                                          loop.getRegionIterArgs().end());
    loop.getBody()->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (operand.getParentRegion()->isProperAncestor(&loop.getRegion()))
          living.insert(operand);
    });
    for (Value value : living)
      if (layoutOf(value.getType()) && elementTypeOf(value.getType()).isIntOrFloat() &&
          !cheap.contains(value))
        words += wordsPerThread(value.getType());
    int64_t most = 0;
    for (auto dot : loop.getOps<DotOp>()) {
      int64_t result = living.contains(dot.getAcc()) ? 0 : wordsPerThread(dot.getType());
      most = std::max(most, result + wordsOfSteps(dot));
    }
    return (words + most) * 5 / 4;
  }

  int64_t wordsOfSteps(DotOp dot) const {
    int64_t words = wordsPerThread(dot.getLhs().getType()) + wordsPerThread(dot.getRhs().getType());
    int64_t depth = dot.getLhs().getType().getShape().back();
    for (const layout::MatrixInstruction *instruction : matrixInstructions(dot, shape))
      if (instruction->name == dot.getInstruction())
        return words * std::min(depth, 2 * instruction->k) / depth;
    return words;
  }

  //-- Remarks -------------------------------------------------------------------------------------

  void noteAll(StringRef kind, const std::string &text) {
    for (StagedLoad &one : loads)
      addRemark(assumed.remarks, one.load.getLoc(), kind, text);
  }

  void notePipelined() {
    for (StagedLoad &one : loads)
      addRemark(assumed.remarks, one.load.getLoc(), "pipelined",
                std::string("1 iteration ahead, ") +
                    (one.copy ? "by copies of whole warps" : "in registers, and") + " through " +
                    std::to_string(stages) + (stages == 1 ? " stage" : " stages") +
                    " in shared memory",
                {{"iterations_ahead", 1},
                 {"stages", stages},
                 {"through_shared_memory", 1},
                 {"by_warp_copies", one.copy ? 1 : 0},
                 {"stage_bytes", bufferOf(one, stages).getStageBytes()}});
    if (int64_t asked = stagesOf(loop, kMostStages); asked > kMostStages)
      addRemark(assumed.remarks, loop.getLoc(), "hint",
                "num_stages=" + std::to_string(asked) +
                    ": on this GPU a loop loads one iteration ahead");
  }

  //-- The loop ------------------------------------------------------------------------------------

  Value number(int32_t value) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getI32IntegerAttr(value));
  }
  void barrier() { BarrierOp::create(builder, loop.getLoc(), /*sharedOnly=*/true); }

  bool hasCopies() const {
    return llvm::any_of(loads, [](const StagedLoad &one) { return one.copy.has_value(); });
  }
  /// Copies land before the warps meet.
  void waitForCopies() {
    if (hasCopies())
      AsyncWaitOp::create(builder, loop.getLoc(), builder.getI32IntegerAttr(0));
  }

  void allocateBuffers() {
    auto function = loop->getParentOfType<func::FuncOp>();
    auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
    for (StagedLoad &one : loads) {
      one.buffer = BufferAllocOp::create(atEntry, one.load.getLoc(), bufferOf(one, stages));
      if (one.copy)
        one.copy->buffer = one.buffer;
    }
  }

  Value bufferOf(Operation *load) const {
    for (const StagedLoad &one : loads)
      if (one.load == load)
        return one.buffer;
    return {};
  }

  /// The body without what is staged, read from `stage`: each tile in front of its first user,
  /// where a product reads it step by step. Returns what the round yields.
  SmallVector<Value> cloneBody(IRMapping mapping, Value stage) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (bufferOf(&op) || isReplaced(&op))
        continue;
      readOperands(&op, mapping, stage);
      builder.clone(op, mapping);
    }
    Operation *yield = loop.getBody()->getTerminator();
    readOperands(yield, mapping, stage);
    SmallVector<Value> yielded;
    for (Value value : yield->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    return yielded;
  }

  void readOperands(Operation *op, IRMapping &mapping, Value stage) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *convert = operand.getDefiningOp();
        if (!convert || !isReplaced(convert) || mapping.contains(operand))
          continue;
        Value buffer = bufferOf(convert->getOperand(0).getDefiningOp());
        mapping.map(operand, BufferLoadOp::create(builder, convert->getLoc(), operand.getType(),
                                                  buffer, stage)
                                 .getResult());
      }
    });
  }

  IRMapping mapTo(Value index, ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), index);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), carried))
      mapping.map(from, to);
    return mapping;
  }

  /// The loads of the round of `index`, where it `exists` (null: it does), and copies to `stage`,
  /// for which there is null among what is loaded; `carried` becomes the next round's.
  SmallVector<Value> load(Value index, SmallVector<Value> &carried, Value exists, Value stage) {
    IRMapping there = slice.clone(builder, index, carried);
    SmallVector<Value> loaded;
    for (const StagedLoad &one : loads) {
      LoadOp load = one.load;
      if (one.copy) {
        startCopy(builder, *one.copy, there, stage, exists);
        loaded.push_back({});
        continue;
      }
      loaded.push_back(emitLoadAhead(builder, load, there, exists));
    }
    if (hasCopies())
      AsyncCommitOp::create(builder, loop.getLoc());
    carried = slice.next(there);
    return loaded;
  }

  void store(ValueRange loaded, Value stage) {
    for (auto [one, value] : llvm::zip(loads, loaded))
      if (value)
        BufferStoreOp::create(builder, one.load.getLoc(), value, one.buffer, stage);
  }

  void runAhead() {
    Location place = loop.getLoc();
    allocateBuffers();
    LoopExtent extent(builder, loop, 1);
    LoopBounds bounds = LoopBounds::of(loop);
    Value first = extent.hasFirst(builder), zero = number(0), one = number(1);
    SmallVector<Value> ahead = slice.initial();
    store(load(bounds.lower, ahead, first, zero), zero);

    // As far as the second last round: i + step < end is i < end - step where there is such a
    // round.
    Value hasSecond =
        arith::AndIOp::create(builder, place, first, extent.hasNext(builder, bounds.lower));
    Value end = arith::SubIOp::create(builder, place, bounds.upper, bounds.step);
    bounds.upper = arith::SelectOp::create(builder, place, hasSecond, end, bounds.lower);

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, ahead);
    initial.push_back(bounds.lower);
    initial.push_back(zero);
    scf::ForOp made = rebuildLoop(builder, loop, bounds, initial);
    unsigned ownCount = loop.getNumRegionIterArgs();
    auto arguments = made.getRegionIterArgs();

    builder.setInsertionPointToStart(made.getBody());
    Value index = made.getInductionVar(), stage = arguments.back(), other = stage;
    auto takeOther = [&] { other = arith::SubIOp::create(builder, place, one, stage); };
    waitForCopies();
    barrier();
    if (hasCopies())
      takeOther();
    Value next = extent.later(builder, index);
    ahead.assign(arguments.slice(ownCount, ahead.size()).begin(),
                 arguments.slice(ownCount, ahead.size()).end());
    SmallVector<Value> loaded = load(next, ahead, {}, other);
    ScheduleBarrierOp::create(builder, place);
    SmallVector<Value> yielded = cloneBody(mapTo(index, arguments.take_front(ownCount)), stage);
    // Nothing that waits for the loads moves up among the products.
    ScheduleBarrierOp::create(builder, place);
    if (stages == 1)
      barrier();
    else if (!hasCopies())
      takeOther();
    store(loaded, other);
    llvm::append_range(yielded, ahead);
    yielded.push_back(next);
    yielded.push_back(other);
    scf::YieldOp::create(builder, place, yielded);

    builder.setInsertionPointAfter(made);
    waitForCopies();
    auto results = made.getResults();
    auto last = scf::IfOp::create(builder, place, loop.getResultTypes(), first,
                                  /*withElseRegion=*/ownCount > 0);
    auto endRegion = [&](ValueRange values) {
      if (ownCount > 0)
        scf::YieldOp::create(builder, place, values);
    };
    builder.setInsertionPointToStart(last.thenBlock());
    barrier();
    endRegion(cloneBody(mapTo(results[results.size() - 2], results.take_front(ownCount)),
                        results.back()));
    if (ownCount > 0) {
      builder.setInsertionPointToStart(last.elseBlock());
      endRegion(results.take_front(ownCount));
    }
    loop.replaceAllUsesWith(last.getResults());
    loop.erase();
  }

  /// Within the round: a tile goes to its buffer behind its load, before the next one is loaded,
  /// and a barrier stands in front of the first reader.
  void stageInPlace() {
    stages = 1;
    allocateBuffers();
    builder.setInsertionPoint(loop);
    Value stage = number(0);
    bool isPending = false;
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
      if (Value buffer = bufferOf(&op)) {
        builder.setInsertionPointAfter(&op);
        BufferStoreOp::create(builder, op.getLoc(), op.getResult(0), buffer, stage);
        ScheduleBarrierOp::create(builder, op.getLoc());
        isPending = true;
      }
      if (isReplaced(&op))
        continue;
      builder.setInsertionPoint(&op);
      op.walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands()) {
          Operation *convert = operand.get().getDefiningOp();
          if (!convert || !isReplaced(convert))
            continue;
          if (isPending)
            barrier();
          isPending = false;
          Value buffer = bufferOf(convert->getOperand(0).getDefiningOp());
          convert->getResult(0).replaceAllUsesWith(BufferLoadOp::create(
              builder, convert->getLoc(), operand.get().getType(), buffer, stage));
        }
      });
    }
    for (const StagedLoad &one : loads)
      for (Operation *user : llvm::make_early_inc_range(one.load->getUsers()))
        if (isa<ConvertLayoutOp>(user))
          user->erase();
  }

  scf::ForOp loop;
  const GpuShape &shape;
  const IndexAnalysis *analysis;
  const LoopWrites &writes;
  GpuAssumptions &assumed;
  OpBuilder builder;
  SmallVector<StagedLoad, 2> loads;
  LoopSlice slice;
  int64_t stages = kMostStages;
};

} // namespace

void stageLoads(scf::ForOp loop, const GpuShape &shape, const IndexAnalysis *analysis,
                const LoopWrites &writes, GpuAssumptions &assumed) {
  LoopStager(loop, shape, analysis, writes, assumed).run();
}

} // namespace sectile::optimizer
