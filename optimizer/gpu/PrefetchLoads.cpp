#include "optimizer/gpu/PrefetchLoads.h"

#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/LoopSlice.h"
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

/// 32-bit registers that tiles take in the loop, where they are most. Of each thread.
int64_t peakWords(scf::ForOp loop, const CheapValues &cheap) {
  auto wordsOf = [&](Value value) -> int64_t {
    bool isHeld = layoutOf(value.getType()) && !cheap.contains(value) &&
                  elementTypeOf(value.getType()).isIntOrFloat() &&
                  !elementTypeOf(value.getType()).isInteger(1);
    return isHeld ? wordsPerThread(value.getType()) : 0;
  };
  llvm::SmallDenseSet<Value, 32> live;
  int64_t words = 0, most = 0;
  auto use = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (live.insert(operand).second)
        words += wordsOf(operand);
  };
  // What is made before the loop lives through it.
  loop.getBody()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() != loop.getBody() &&
          operand.getParentRegion()->isProperAncestor(&loop.getRegion()) &&
          live.insert(operand).second)
        words += wordsOf(operand);
  });
  for (Operation &op : llvm::reverse(*loop.getBody())) {
    most = std::max(most, words);
    for (Value result : op.getResults())
      if (live.erase(result))
        words -= wordsOf(result);
    op.walk(use);
  }
  return std::max(most, words);
}

class LoopPrefetcher {
public:
  LoopPrefetcher(scf::ForOp loop, const GpuShape &shape, const LoopWrites &writes,
                 SmallVectorImpl<ApartArguments> &apart)
      : loop(loop), shape(shape), writes(writes), apart(apart), slice(loop), builder(loop) {}

  /// Programs that a multiprocessor should have room for; 0: nothing changed.
  int64_t run(const CheapValues &cheap) {
    SmallVector<ApartArguments> assumed;
    for (LoadOp load : loop.getOps<LoadOp>()) {
      // Without some of its loads an iteration would wait all the same.
      if (!writes.mayBePassedBy(load, assumed) ||
          !slice.add({load.getPtr(), load.getMask(), load.getOther()}))
        return 0;
      loads.push_back(load);
    }
    int64_t programs = roomIfItPays(cheap);
    if (!programs)
      return 0;
    for (ApartArguments pair : assumed)
      if (!llvm::is_contained(apart, pair))
        apart.push_back(pair);
    rewrite();
    return programs;
  }

private:
  /// More registers in each thread make fewer programs on a multiprocessor, and with many of them
  /// there is enough under way without this.
  int64_t roomIfItPays(const CheapValues &cheap) {
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
    // A few values can be made again when they are wanted.
    int64_t most = std::min<int64_t>(256, shape.registerWords / shape.threadCount()) * 5 / 4;
    bool isAlone = room(now) == 1;
    if (isAlone ? then > most
                : room(then) * 5 < room(now) * 3 || room(now) * bytes >= kBytesInFlight)
      return 0;
    // An assembler gets along with a quarter less.
    return room(then * 3 / 4);
  }

  /// The loads of the iteration of `index`, where it `exists`; `carried` becomes the next one's.
  SmallVector<Value> load(Value index, SmallVector<Value> &carried, Value exists) {
    IRMapping there = slice.clone(builder, index, carried);
    SmallVector<Value> loaded;
    for (LoadOp load : loads) {
      Location place = load.getLoc();
      Value pointer = there.lookupOrDefault(load.getPtr()), mask = exists;
      if (isa<RankedTensorType>(pointer.getType()))
        mask = SplatOp::create(builder, place, maskOf(pointer.getType()), exists);
      if (Value own = load.getMask())
        mask = arith::AndIOp::create(builder, place, there.lookupOrDefault(own), mask);
      auto ahead = cast<LoadOp>(builder.clone(*load, there));
      ahead.getMaskMutable().assign(mask);
      loaded.push_back(ahead);
    }
    carried = slice.next(there);
    return loaded;
  }

  void rewrite() {
    LoopExtent extent(builder, loop, 1);
    SmallVector<Value> carried = slice.initial();
    SmallVector<Value> loaded = load(loop.getLowerBound(), carried, extent.hasFirst(builder));

    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, carried);
    llvm::append_range(initial, loaded);
    auto made =
        scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                           loop.getStep(), initial, nullptr, loop.getUnsignedCmp());
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    unsigned ownCount = loop.getNumRegionIterArgs();
    auto arguments = made.getRegionIterArgs();

    builder.setInsertionPointToStart(made.getBody());
    Value index = made.getInductionVar();
    SmallVector<Value> aheadCarried(arguments.slice(ownCount, carried.size()));
    SmallVector<Value> ahead =
        load(extent.later(builder, index), aheadCarried, extent.hasLater(builder, index));

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), index);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), arguments))
      mapping.map(from, to);
    for (auto [from, to] : llvm::zip(loads, arguments.drop_front(ownCount + carried.size())))
      mapping.map(from.getResult(), to);
    for (Operation &op : loop.getBody()->without_terminator())
      if (!isa<LoadOp>(op))
        builder.clone(op, mapping);
    SmallVector<Value> yielded;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    llvm::append_range(yielded, aheadCarried);
    llvm::append_range(yielded, ahead);
    if (!made.getBody()->empty() && made.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      made.getBody()->back().erase();
    builder.setInsertionPointToEnd(made.getBody());
    scf::YieldOp::create(builder, loop.getLoc(), yielded);
    loop.replaceAllUsesWith(made.getResults().take_front(ownCount));
    loop.erase();
  }

  scf::ForOp loop;
  const GpuShape &shape;
  const LoopWrites &writes;
  SmallVectorImpl<ApartArguments> &apart;
  LoopSlice slice;
  OpBuilder builder;
  SmallVector<LoadOp, 4> loads;
};

/// A loop of loads that are waited for before anything else can be done: threads meet in it. (Loops
/// that only add up are unrolled by the assembler, which is better.)
bool isCandidate(scf::ForOp loop) {
  if (loop.getOps<LoadOp>().empty())
    return false;
  bool isInnermost = true, meets = false;
  loop.getBody()->walk([&](Operation *op) {
    isInnermost &= !isa<scf::ForOp, scf::WhileOp, DotOp, AsyncCopyOp>(op);
    meets |= isa<ReduceOp, ScanOp>(op);
  });
  return isInnermost && meets;
}

} // namespace

int64_t prefetchLoads(func::FuncOp function, const GpuShape &shape, bool argumentsOverlap,
                      SmallVectorImpl<ApartArguments> &apart) {
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    if (isCandidate(loop))
      loops.push_back(loop);
  });
  if (loops.empty())
    return 0;
  int64_t programs = 0;
  PointerProvenance provenance(function);
  CheapValues cheap(function);
  for (scf::ForOp loop : loops) {
    LoopWrites writes(loop, provenance, argumentsOverlap);
    programs = std::max(programs, LoopPrefetcher(loop, shape, writes, apart).run(cheap));
  }
  return programs;
}

} // namespace sectile::optimizer
