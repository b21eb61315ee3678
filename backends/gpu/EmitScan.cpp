// Running combinations along an axis; ScanPlan.h says which thread holds what. Every run of
// registers is scanned on its own; the totals of runs then go through the lanes, the warps (by way
// of shared memory, one barrier) and the further runs of the thread, and what came before a run is
// combined into its registers once, at the end.
#include "backends/gpu/Combiner.h"
#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/EmitPartials.h"
#include "backends/gpu/IndexBits.h"
#include "backends/gpu/ScanSteps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

using layout::TileLayout;

class ScanEmitter {
public:
  ScanEmitter(GpuEmitter &emitter, ScanOp op)
      : emitter(emitter), builder(emitter.builder), op(op), axis(op.getAxis()),
        isReverse(op.getReverse()), combiner(emitter, op.getCombiner().front()),
        steps(op, emitter.target), scratch(emitter.plan.scratchOf(op)) {}

  void emit() {
    SmallVector<Registers, 2> operands;
    for (auto [index, source] : llvm::enumerate(op.getSrcs()))
      operands.push_back(converted(emitter.registers(source), steps.sources[index], steps.scanned,
                                   combiner.type(index)));
    size_t registerCount = steps.scanned.registersPerThread();
    values.resize(registerCount);
    for (size_t reg = 0; reg < registerCount; ++reg)
      for (const Registers &operand : operands)
        values[reg].values.push_back(operand[reg]);

    for (const auto &runs : steps.plan.lines) {
      Line &line = lines.emplace_back();
      for (const ScanPlan::Run &run : inOrder(runs))
        line.runs.push_back(inOrder(run));
      for (const ScanPlan::Run &run : line.runs)
        scanRun(run);
      if (!steps.plan.isWithinThread())
        for (const ScanPlan::Run &run : line.runs)
          line.totals.push_back(scanLanes(values[run.back()], line.before.emplace_back()));
    }
    if (steps.plan.warpCount > 1)
      scanWarps();
    if (!steps.plan.isWithinThread())
      for (Line &line : lines)
        addWhatCameBefore(line);

    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      Registers scanned;
      for (int reg = 0; reg < int(registerCount); ++reg)
        scanned.push_back(values[holderOf(reg)].values[index]);
      emitter.setRegisters(result, converted(scanned, steps.scanned, *layoutOf(result.getType()),
                                             combiner.type(index)));
    }
  }

private:
  struct Line {
    SmallVector<ScanPlan::Run, 2> runs; // in the order of the scan
    SmallVector<Partial, 2> totals;     // of each run in all lanes; then in all warps
    SmallVector<Partial, 2> before;     // what of the same run lies in earlier lanes and warps
  };

  template <class List>
  List inOrder(List list) {
    if (isReverse)
      std::reverse(list.begin(), list.end());
    return list;
  }

  /// Duplicates of a register are not scanned again.
  int holderOf(int reg) {
    return steps.scanned.registerHolding(steps.scanned.constantOf(reg)).value_or(reg);
  }

  Registers converted(const Registers &from, const TileLayout &source, const TileLayout &target,
                      llvm::Type *type) {
    if (source == target)
      return from;
    if (conversionBytes(source, target, scratchBytesOf(type) * 8, emitter.target) > 0)
      claimScratch();
    return emitter.convert(from, source, target, type, scratch);
  }
  void claimScratch() {
    if (isScratchUsed)
      emitter.barrier();
    isScratchUsed = true;
  }

  /// Padding comes last, where it does no harm, except in reverse.
  void scanRun(const ScanPlan::Run &run) {
    Partial sum;
    for (int reg : run) {
      Partial &value = values[reg];
      if (isReverse && steps.scanned.isPadded(axis))
        value = combiner.onlyIf(
            std::move(value), builder.CreateICmpULT(emitter.coordinate(steps.scanned, reg, axis),
                                                    builder.getInt32(steps.scanned.shape()[axis])));
      value = sum = combiner.combine(sum, value);
    }
  }

  /// The total of all lanes along the axis; `before` becomes that of the earlier ones.
  Partial scanLanes(Partial total, Partial &before) {
    for (unsigned mask : steps.plan.laneMasks) {
      Partial other = combiner.shuffleXor(total, mask);
      llvm::Value *bit = builder.CreateAnd(emitter.laneIndex(), builder.getInt32(mask));
      llvm::Value *isLater = isReverse ? builder.CreateICmpEQ(bit, builder.getInt32(0))
                                       : builder.CreateICmpNE(bit, builder.getInt32(0));
      before = before.values.empty()
                   ? combiner.onlyIf(other, isLater)
                   : combiner.select(isLater, combiner.combine(other, before), before);
      total = combiner.isSymmetric() ? combiner.combineAlike(total, other)
                                     : combiner.combine(combiner.select(isLater, other, total),
                                                        combiner.select(isLater, total, other));
    }
    return total;
  }

  /// Every warp shows its totals to all others.
  void scanWarps() {
    const ScanPlan &plan = steps.plan;
    PartialBuffer buffer(steps.slice, plan.warpCount);
    llvm::Value *place = emitXorOfBases(builder, emitter.warpIndex(), plan.placeOfWarp);
    unsigned operandCount = combiner.operandCount();
    bool hasFlags = steps.totalOffsets.size() > operandCount;
    auto offsetOf = [&](unsigned operand, size_t run) {
      return scratch + steps.totalOffsets[operand] + int64_t(run) * steps.totalBytes[operand];
    };
    claimScratch();
    for (unsigned operand = 0; operand < operandCount + hasFlags; ++operand)
      for (size_t run = 0; run < plan.runCount(); ++run) {
        Registers totals;
        for (const Line &line : lines)
          totals.push_back(totalOf(line, run, operand));
        storePartials(emitter, buffer, offsetOf(operand, run), totals, place);
      }
    emitter.barrier();

    for (size_t run = 0; run < plan.runCount(); ++run) {
      SmallVector<std::vector<Registers>, 3> all;
      for (unsigned operand = 0; operand < operandCount + hasFlags; ++operand)
        all.push_back(
            loadPartials(emitter, buffer, offsetOf(operand, run), steps.slice,
                         operand < operandCount ? combiner.type(operand) : builder.getInt1Ty()));
      for (auto [number, line] : llvm::enumerate(lines)) {
        if (run >= line.runs.size())
          continue;
        Partial sum, earlier;
        for (int64_t step = 0; step < plan.warpCount; ++step) {
          int64_t warp = isReverse ? plan.warpCount - 1 - step : step;
          // i1: this thread's warp comes after that one.
          if (step > 0) {
            llvm::Value *bound = builder.getInt32(warp);
            llvm::Value *isLater = isReverse ? builder.CreateICmpULE(place, bound)
                                             : builder.CreateICmpUGE(place, bound);
            earlier = earlier.values.empty() ? combiner.onlyIf(sum, isLater)
                                             : combiner.select(isLater, sum, earlier);
          }
          Partial next;
          for (unsigned operand = 0; operand < operandCount; ++operand)
            next.values.push_back(all[operand][number][warp]);
          if (hasFlags)
            next.exists = all[operandCount][number][warp];
          sum = combiner.combine(sum, next);
        }
        line.totals[run] = sum;
        line.before[run] = combiner.combine(earlier, line.before[run]);
      }
    }
  }

  llvm::Value *totalOf(const Line &line, size_t run, unsigned operand) {
    bool isFlag = operand == combiner.operandCount();
    if (run >= line.totals.size())
      return llvm::PoisonValue::get(isFlag ? builder.getInt1Ty() : combiner.type(operand));
    const Partial &total = line.totals[run];
    if (!isFlag)
      return total.values[operand];
    return total.exists ? total.exists : builder.getTrue();
  }

  void addWhatCameBefore(Line &line) {
    Partial earlierRuns;
    for (auto [number, run] : llvm::enumerate(line.runs)) {
      Partial before = combiner.combine(earlierRuns, line.before[number]);
      if (!before.values.empty())
        for (int reg : run)
          values[reg] = combiner.combine(before, values[reg]);
      earlierRuns = combiner.combine(earlierRuns, line.totals[number]);
    }
  }

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  ScanOp op;
  int axis;
  bool isReverse;
  Combiner combiner;
  ScanSteps steps;
  int64_t scratch;
  bool isScratchUsed = false;
  std::vector<Partial> values; // of each register
  std::vector<Line> lines;
};

} // namespace

LogicalResult GpuEmitter::emitScan(ScanOp op) {
  ScanEmitter(*this, op).emit();
  return success(!hasFailed);
}

} // namespace sectile::gpu
