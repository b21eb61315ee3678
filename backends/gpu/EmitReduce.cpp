// Reductions over registers, lanes and warps; ReducePlan.h says which threads combine what. Warps
// meet once: each writes its partial results to shared memory, and after one barrier every thread
// reads all of those that its results need, or each lane one of them.
#include "backends/gpu/Combiner.h"
#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/EmitPartials.h"
#include "backends/gpu/IndexBits.h"
#include "backends/gpu/PickedSide.h"
#include "backends/gpu/ReduceSteps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

using layout::Dim;
using layout::TileLayout;

/// The code of one reduction.
class ReduceEmitter {
public:
  ReduceEmitter(GpuEmitter &emitter, ReduceOp op)
      : emitter(emitter), builder(emitter.builder), op(op), axis(op.getAxis()),
        combiner(emitter, op.getCombiner().front()), steps(op, emitter.target),
        scratch(emitter.plan.scratchOf(op)) {}

  void emit() {
    for (auto [index, source] : llvm::enumerate(op.getSrcs()))
      operands.push_back(converted(emitter.registers(source), steps.sources[index], steps.reduced,
                                   combiner.type(index)));
    for (auto [index, source] : llvm::enumerate(op.getSrcs()))
      if (op.getSrcs().size() > 1 && isPosition(source) &&
          keepsNumbers(op.getCombiner().front(), unsigned(index)))
        position = unsigned(index);
    areLanesAlike = combiner.isSymmetric() ||
                    (position && keepsOneWhereverItStands(op.getCombiner().front(), *position));
    std::vector<Partial> partials;
    for (ArrayRef<int> group : steps.plan.groups)
      partials.push_back(combineRegisters(group));
    if (!combineAllLanes(partials))
      for (unsigned mask : steps.plan.laneMasks)
        for (Partial &partial : partials)
          partial = combineLanes(partial, mask);
    if (steps.plan.partialCount > 1)
      return combineWarps(partials);
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      Registers values;
      for (const Partial &partial : partials)
        values.push_back(valueOf(partial, index));
      if (const TileLayout *wanted = layoutOf(result.getType()))
        values = converted(values, steps.slice, *wanted, combiner.type(index));
      emitter.setValues(result, values);
    }
  }

private:
  /// One conversion after another uses the scratch.
  Registers converted(const Registers &values, const TileLayout &from, const TileLayout &to,
                      llvm::Type *type) {
    if (from == to)
      return values;
    bool usesScratch = conversionBytes(from, to, scratchBytesOf(type) * 8, emitter.target) > 0;
    if (usesScratch)
      claimScratch();
    return emitter.convert(values, from, to, type, scratch);
  }
  void claimScratch() {
    if (isScratchUsed)
      emitter.barrier();
    isScratchUsed = true;
  }

  llvm::Value *valueOf(const Partial &partial, unsigned index) {
    return partial.values.empty() ? llvm::PoisonValue::get(combiner.type(index))
                                  : partial.values[index];
  }

  /// i1: the register is not padding along the axis; null: never is.
  llvm::Value *isInside(int reg) {
    const TileLayout &layout = steps.reduced;
    layout::RegisterPart part = layout.coordinateOf(reg);
    if ((part.inBlock[axis] | layout.threadBits(axis)) + part.offset[axis] < layout.shape()[axis])
      return nullptr;
    return builder.CreateICmpULT(emitter.coordinate(layout, reg, axis),
                                 builder.getInt32(layout.shape()[axis]));
  }

  /// Whether the tile counts along the axis, as what is reduced beside numbers to know where they
  /// were. Only positions themselves do for certain: sums of them may wrap, and what hints say of
  /// other tiles serves addresses, not values.
  bool isPosition(Value tile) {
    Value source = tile;
    while (auto *maker = source.getDefiningOp())
      if (isa<ConvertLayoutOp, BroadcastOp, ExpandDimsOp>(maker))
        source = maker->getOperand(0);
      else
        break;
    return source.getDefiningOp<ArangeOp>() &&
           emitter.indexFacts().of(tile).dimensions[axis].isContiguous();
  }

  /// Whether each register of a group lies behind those before it.
  bool isInOrder(ArrayRef<int> group) {
    int64_t last = -1;
    for (int reg : group) {
      layout::RegisterPart part = steps.reduced.coordinateOf(reg);
      const int64_t here = part.inBlock[axis] + part.offset[axis];
      // Where the thread exchanges registers, each has an order of its own.
      if (here <= last || (part.inBlock[axis] & steps.reduced.threadBits(axis)))
        return false;
      last = here;
    }
    return true;
  }

  /// Lets LLVM know that what is on the left comes first, so that ties need no comparison: places
  /// that are kept as they are.
  void assumeOrder(const Partial &left, const Partial &right) {
    if (!left.values.empty() && !right.values.empty() && !left.exists && !right.exists)
      builder.CreateAssumption(
          builder.CreateICmpSLT(left.values[*position], right.values[*position]));
  }

  /// What a thread has combined so far, neighbours first: a tree of which at most log2(n) parts are
  /// held at a time, so that a thread need not have all n leaves in registers. A sum's leaves that
  /// are products are added in runs, each by one instruction with its product; in pairs every other
  /// product would be an instruction of its own.
  class Tree {
  public:
    Tree(ReduceEmitter &reduction, bool isOrdered) : reduction(reduction), isOrdered(isOrdered) {}

    void add(Partial leaf) {
      if (reduction.combiner.addsProduct(leaf)) {
        if (inRun == 0 || inRun == kMostOfRun) {
          closeRun();
          parts.push_back({std::move(leaf), 0});
        } else {
          combineInto(parts.back().partial, leaf);
        }
        ++inRun;
        return;
      }
      closeRun();
      parts.push_back({std::move(leaf), 0});
      combineEqualLevels();
    }
    Partial root() {
      closeRun();
      while (parts.size() > 1)
        combineLastTwo();
      return parts.empty() ? Partial() : std::move(parts.front().partial);
    }

  private:
    /// Longer runs round more, and their additions wait for each other.
    static constexpr unsigned kMostOfRun = 8;
    struct Part {
      Partial partial;
      unsigned level; // 2^level leaves or runs
    };
    void combineInto(Partial &left, const Partial &right) {
      if (isOrdered)
        reduction.assumeOrder(left, right);
      left = reduction.combiner.combine(left, right);
    }
    void combineLastTwo() {
      const Part right = parts.pop_back_val();
      combineInto(parts.back().partial, right.partial);
      ++parts.back().level;
    }
    void combineEqualLevels() {
      while (parts.size() > 1 && parts.back().level == parts[parts.size() - 2].level)
        combineLastTwo();
    }
    void closeRun() {
      if (std::exchange(inRun, 0))
        combineEqualLevels();
    }

    ReduceEmitter &reduction;
    SmallVector<Part, 16> parts;
    bool isOrdered;
    unsigned inRun = 0; // leaves of the last part, while it is a run
  };

  Partial combineRegisters(ArrayRef<int> group) {
    Tree tree(*this, position && isInOrder(group));
    for (int reg : group) {
      Partial partial;
      for (const Registers &values : operands)
        partial.values.push_back(values[reg]);
      tree.add(combiner.onlyIf(std::move(partial), isInside(reg)));
    }
    return tree.root();
  }

  /// Combines those of all lanes by one instruction each, where the target has it.
  bool combineAllLanes(std::vector<Partial> &partials) {
    if (1u << steps.plan.laneMasks.size() != emitter.target.laneCount)
      return false;
    std::vector<Partial> whole;
    for (const Partial &partial : partials)
      if (std::optional<Partial> combined = combiner.combineAllLanes(partial))
        whole.push_back(std::move(*combined));
      else
        return false;
    partials = std::move(whole);
    return true;
  }

  /// The lanes of a pair combine in the same order, so that they agree to the last bit.
  Partial combineLanes(const Partial &own, unsigned mask) {
    if (own.values.empty())
      return own;
    Partial other = combiner.shuffleXor(own, mask);
    if (areLanesAlike)
      return combiner.combineAlike(own, other);
    llvm::Value *isUpper = builder.CreateICmpNE(
        builder.CreateAnd(emitter.laneIndex(), builder.getInt32(llvm::bit_floor(mask))),
        builder.getInt32(0));
    return combiner.combine(combiner.select(isUpper, other, own),
                            combiner.select(isUpper, own, other));
  }

  void combineWarps(ArrayRef<Partial> partials) {
    PartialBuffer buffer(steps.slice, steps.plan.partialCount);
    llvm::Value *partial = emitXorOfBases(builder, emitter.warpIndex(), steps.plan.partialOfWarp);
    bool hasFlags =
        llvm::any_of(partials, [](const Partial &partial) { return partial.exists != nullptr; });
    claimScratch();
    for (unsigned index = 0; index < combiner.operandCount(); ++index) {
      Registers values;
      for (const Partial &partial : partials)
        values.push_back(valueOf(partial, index));
      storePartials(emitter, buffer, scratch + steps.partialOffsets[index], values, partial);
    }
    if (hasFlags) {
      Registers flags;
      for (const Partial &partial : partials)
        flags.push_back(partial.exists ? partial.exists : builder.getTrue());
      storePartials(emitter, buffer, scratch + steps.partialOffsets.back(), flags, partial);
    }
    emitter.barrier();

    TileLayout read = steps.made(op);
    if (!hasFlags && areFewerSteps(buffer, read))
      return combineWarpsByLanes(buffer, read);
    SmallVector<std::vector<Registers>, 2> all;
    for (unsigned index = 0; index < combiner.operandCount(); ++index)
      all.push_back(loadPartials(emitter, buffer, scratch + steps.partialOffsets[index], read,
                                 combiner.type(index)));
    std::vector<Registers> flags;
    if (hasFlags)
      flags = loadPartials(emitter, buffer, scratch + steps.partialOffsets.back(), read,
                           builder.getInt1Ty());
    SmallVector<Registers, 2> results(combiner.operandCount());
    for (size_t reg = 0; reg < all.front().size(); ++reg) {
      Tree row(*this, /*isOrdered=*/false);
      for (int64_t number = 0; number < steps.plan.partialCount; ++number) {
        Partial made;
        for (const auto &operand : all)
          made.values.push_back(operand[reg][number]);
        if (hasFlags)
          made.exists = flags[reg][number];
        row.add(std::move(made));
      }
      Partial whole = row.root();
      for (auto [index, values] : llvm::enumerate(results))
        values.push_back(whole.values[index]);
    }
    setResults(results, read);
  }

  /// Whether lanes that have a warp's partial each combine them in a third fewer instructions than
  /// each thread for itself, and not by single ones, which shuffles take longer than.
  bool areFewerSteps(const PartialBuffer &buffer, const TileLayout &read) {
    constexpr int kOfDivision = 20, kOfExchange = 1, kOfOrder = 2, kMuch = 4;
    const int64_t count = steps.plan.partialCount;
    if (!buffer.hasRowsTogether() || !llvm::isPowerOf2_64(count) ||
        count > emitter.target.laneCount)
      return false;
    // All lanes of a warp read the same rows.
    for (int dim = 0; dim < read.rank(); ++dim)
      if (read.contributionMask(Dim::Lane, dim))
        return false;
    int64_t each = 0;
    for (Operation &one : op.getCombiner().front().without_terminator())
      each +=
          (isa<arith::DivFOp>(one) || isa<math::MathDialect>(one.getDialect())) ? kOfDivision : 1;
    const int64_t operandCount = combiner.operandCount(), rounds = llvm::Log2_64(count),
                  exchanges = kOfExchange + (areLanesAlike ? 0 : kOfOrder);
    return each >= kMuch && each * (count - 1) > 3 * rounds * (each + exchanges * operandCount) / 2;
  }

  void combineWarpsByLanes(const PartialBuffer &buffer, const TileLayout &read) {
    SmallVector<Registers, 2> results;
    for (unsigned index = 0; index < combiner.operandCount(); ++index)
      results.push_back(loadPartialOfLane(emitter, buffer, scratch + steps.partialOffsets[index],
                                          read, combiner.type(index)));
    for (size_t reg = 0; reg < results.front().size(); ++reg) {
      Partial whole;
      for (const Registers &values : results)
        whole.values.push_back(values[reg]);
      for (unsigned mask = 1; mask < steps.plan.partialCount; mask *= 2)
        whole = combineLanes(whole, mask);
      for (auto [values, value] : llvm::zip(results, whole.values))
        values[reg] = value;
    }
    setResults(results, read);
  }

  void setResults(SmallVectorImpl<Registers> &results, const TileLayout &read) {
    for (auto [result, values] : llvm::zip(op.getResults(), results)) {
      const TileLayout *own = layoutOf(result.getType());
      if (own && *own != read)
        values = converted(values, read, *own, values.front()->getType());
      emitter.setValues(result, values);
    }
  }

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  ReduceOp op;
  int axis;
  Combiner combiner;
  ReduceSteps steps;
  int64_t scratch;
  bool isScratchUsed = false;
  SmallVector<Registers, 2> operands;
  std::optional<unsigned> position; // which operand counts along the axis
  bool areLanesAlike = false;       // lanes that combine the same agree, whichever comes first
};

} // namespace

LogicalResult GpuEmitter::emitReduce(ReduceOp op) {
  ReduceEmitter(*this, op).emit();
  return success(!hasFailed);
}

} // namespace sectile::gpu
