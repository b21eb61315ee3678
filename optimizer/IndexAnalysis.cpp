#include "optimizer/IndexAnalysis.h"

#include "lang/layout/PowersOfTwo.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexRules.h"
#include "optimizer/ScalarSum.h"

#include <numeric>

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// Walks a function in order; loops are walked until what they carry no longer changes.
class Walker {
public:
  explicit Walker(DenseMap<Value, IndexFacts> &facts) : facts(facts) {}

  void walk(func::FuncOp function, IndexAnalysis::Integers arguments) {
    for (BlockArgument argument : function.getArguments()) {
      IndexFacts known = unknownFacts(argument.getType());
      known.isNonNegative |=
          arguments == IndexAnalysis::Integers::NotNegative && isa<IntegerType>(argument.getType());
      if (auto divisor = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                                tile::kDivisibilityAttr))
        for (DimensionFacts &dim : known.dimensions)
          dim.divisibility = std::max<int64_t>(1, divisor.getInt());
      set(argument, std::move(known));
    }
    walk(function.getBody());
  }

private:
  void set(Value value, IndexFacts known) {
    // A scalar is itself, whatever else it equals.
    if (!isa<RankedTensorType>(value.getType()))
      known.scalar = value;
    facts[value] = std::move(known);
  }

  const IndexFacts &of(Value value) {
    auto [it, isNew] = facts.try_emplace(value);
    if (isNew)
      it->second = unknownFacts(value.getType());
    return it->second;
  }

  void walk(Region &region) {
    for (Block &block : region)
      for (Operation &op : block)
        walk(&op);
  }

  void walk(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return walkFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return walkWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return walkIf(branch);
    for (Region &region : op->getRegions()) {
      for (BlockArgument argument : region.getArguments())
        set(argument, unknownFacts(argument.getType()));
      walk(region);
    }
    if (op->getNumResults() == 0)
      return;
    // References into the map do not survive insertion: operands first.
    for (Value operand : op->getOperands())
      of(operand);
    auto results = applyRules(
        op, [&](Value value) -> const IndexFacts & { return facts.find(value)->second; });
    if (auto difference = dyn_cast<arith::SubIOp>(op))
      limitRoundsLeft(difference, results.front());
    for (auto [result, known] : llvm::zip(op->getResults(), results))
      set(result, std::move(known));
  }

  /// A loop's end less its counter, of which loops that count down make their own, is at least 1.
  void limitRoundsLeft(arith::SubIOp difference, IndexFacts &known) {
    auto counter = dyn_cast<BlockArgument>(difference.getRhs());
    auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || counter != loop.getInductionVar() || loop.getUnsignedCmp() ||
        difference.getLhs() != loop.getUpperBound())
      return;
    int64_t most;
    if (llvm::SubOverflow(of(loop.getUpperBound()).high, of(loop.getLowerBound()).low, most) ||
        most > unknownFacts(difference.getType()).high)
      return;
    known.low = std::max<int64_t>(known.low, 1);
    known.high = std::max(known.low, std::min(known.high, most));
  }

  /// (Loop) What a loop carries holds before the first round and after every one. Divisors and runs
  /// can only shrink; a range that keeps growing is given up, so few rounds are needed.
  /// No number is greater than its `most`.
  template <class Body>
  void untilStable(ArrayRef<Value> carried, ArrayRef<IndexFacts> initial, ArrayRef<int64_t> most,
                   Body body) {
    SmallVector<IndexFacts> known(initial);
    for (auto [value, start] : llvm::zip(carried, known))
      set(value, start);
    for (int round = 0;; ++round) {
      ValueRange yielded = body();
      bool isStable = true;
      for (auto [value, state, next, highest] : llvm::zip(carried, known, yielded, most)) {
        IndexFacts joined = joinFacts(state, of(next));
        IndexFacts limits = unknownFacts(value.getType());
        if (joined.low < state.low)
          joined.low = limits.low;
        if (joined.high > state.high)
          joined.high = std::min(limits.high, highest);
        joined.scalar = state.scalar == joined.scalar ? state.scalar : Value();
        if (round >= 8 && !(joined == state)) {
          joined = limits;
          joined.high = std::min(joined.high, highest);
        }
        // A scalar's identity is no news.
        if (!isa<RankedTensorType>(value.getType()))
          joined.scalar = state.scalar;
        isStable &= joined == state;
        state = joined;
        set(value, state);
      }
      if (isStable)
        return;
    }
  }

  SmallVector<IndexFacts> factsOf(ValueRange values) {
    SmallVector<IndexFacts> known;
    for (Value value : values)
      known.push_back(of(value));
    return known;
  }

  void walkFor(scf::ForOp loop) {
    IndexFacts lower = of(loop.getLowerBound()), upper = of(loop.getUpperBound()),
               step = of(loop.getStep());
    // lower, lower + step, ... below upper; the language's steps are positive.
    IndexFacts index = unknownFacts(loop.getInductionVar().getType());
    index.dimensions[0].divisibility =
        std::gcd(lower.dimensions[0].divisibility, step.dimensions[0].divisibility);
    // Facts speak of signed numbers. An unsigned loop runs through the same ones as long as its end
    // is not in the upper half, where it would be a negative number.
    if (!loop.getUnsignedCmp()) {
      index.low = lower.low;
      index.high = upper.high > index.low ? upper.high - 1 : index.low;
      index.isNonNegative = lower.isNonNegative;
    } else if (lower.low >= 0 && upper.low >= 0) {
      index.low = lower.low;
      index.high = std::max(index.low, upper.high - 1);
      index.isNonNegative = true;
    } else {
      index.isNonNegative = lower.isNonNegative && upper.isNonNegative;
    }
    set(loop.getInductionVar(), index);

    SmallVector<Value> carried(loop.getRegionIterArgs());
    SmallVector<int64_t> steps, most;
    for (auto [start, value, next] :
         llvm::zip(loop.getInitArgs(), carried, loop.getYieldedValues())) {
      steps.push_back(stepOf(value, next).value_or(-1));
      most.push_back(loop.getUnsignedCmp()
                         ? std::numeric_limits<int64_t>::max()
                         : highestCounted(of(start).high, steps.back(),
                                          unknownFacts(value.getType()).high, lower, upper, step));
    }
    untilStable(carried, factsOf(loop.getInitArgs()), most, [&]() -> ValueRange {
      walk(loop.getRegion());
      return loop.getYieldedValues();
    });
    for (auto [result, argument, step] : llvm::zip(loop.getResults(), carried, steps)) {
      IndexFacts after = of(argument);
      // The last round has moved it once more.
      const int64_t limit = unknownFacts(result.getType()).high;
      if (after.high < limit && step > 0)
        after.high = after.high > limit - step ? limit : after.high + step;
      set(result, after);
    }
  }

  /// What each round adds to a scalar that a loop carries; nullopt where that is no constant.
  static std::optional<int64_t> stepOf(Value carried, Value next) {
    if (!isa<IntegerType>(carried.getType()))
      return std::nullopt;
    ScalarSum sum = ScalarSum::of(next);
    sum -= ScalarSum::of(carried);
    return sum.summands().empty() ? std::optional(sum.constant()) : std::nullopt;
  }

  /// The highest number that a round of a loop finds in what begins at `start` at most and grows by
  /// `added`; that of 64 bits where it is not known, or where the last round may exceed `limit`.
  static int64_t highestCounted(int64_t start, int64_t added, int64_t limit,
                                const IndexFacts &lower, const IndexFacts &upper,
                                const IndexFacts &step) {
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    if (added < 0 || step.low <= 0)
      return kAny;
    const __int128 distance = std::max(__int128(upper.high) - lower.low, __int128(1));
    const __int128 turns = (distance + step.low - 1) / step.low;
    const __int128 after = start + turns * added;
    return after <= limit ? int64_t(after - added) : kAny;
  }

  void walkWhile(scf::WhileOp loop) {
    SmallVector<Value> carried(loop.getBeforeArguments());
    const SmallVector<int64_t> most(carried.size(), std::numeric_limits<int64_t>::max());
    untilStable(carried, factsOf(loop.getInits()), most, [&]() -> ValueRange {
      walk(loop.getBefore());
      for (auto [argument, value] :
           llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs()))
        set(argument, of(value));
      walk(loop.getAfter());
      return loop.getYieldOp().getResults();
    });
    for (auto [result, value] : llvm::zip(loop.getResults(), loop.getConditionOp().getArgs()))
      set(result, withoutSymbolsOf(of(value), loop));
  }

  /// Facts that speak of values inside `op` mean nothing outside.
  static IndexFacts withoutSymbolsOf(IndexFacts known, Operation *op) {
    auto isInside = [op](Value value) {
      return value && op->isAncestor(value.getParentRegion()->getParentOp());
    };
    if (isInside(known.scalar))
      known.scalar = {};
    for (DimensionFacts &dim : known.dimensions)
      if (isInside(dim.strideSymbol)) {
        dim.divisibility = known.commonDivisor();
        dim.run = 1;
        dim.stride = 0;
        dim.strideSymbol = {};
      }
    return known;
  }

  void walkIf(scf::IfOp branch) {
    walk(branch.getThenRegion());
    walk(branch.getElseRegion());
    if (branch.getNumResults() == 0)
      return;
    for (auto [result, a, b] : llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                                         branch.elseYield().getResults())) {
      IndexFacts known = of(a);
      set(result, joinFacts(known, of(b)));
    }
  }

  DenseMap<Value, IndexFacts> &facts;
};

} // namespace

bool IndexFacts::isUniform() const {
  return llvm::all_of(dimensions, [](const DimensionFacts &dim) { return dim.isConstant(); });
}

int64_t IndexFacts::commonDivisor(int64_t elementBytes) const {
  // Each dimension's facts speak of all elements.
  int64_t best = 1;
  for (const DimensionFacts &dim : dimensions) {
    int64_t divisor = dim.divisibility;
    if (dim.extent > 1 && dim.run > 1 && dim.stride != 0) {
      int64_t step;
      if (__builtin_mul_overflow(dim.stride, elementBytes, &step))
        step = 1;
      divisor = std::gcd(divisor, step);
    }
    best = std::max(best, divisor);
  }
  return best;
}

IndexAnalysis::IndexAnalysis(func::FuncOp function, Integers arguments) {
  Walker(facts).walk(function, arguments);
}

const IndexFacts &IndexAnalysis::of(Value value) const {
  auto found = facts.find(value);
  assert(found != facts.end() && "the value is not of the function analysed");
  return found->second;
}

int64_t IndexAnalysis::accessRun(Value pointer, unsigned dimension, Value mask) const {
  const DimensionFacts &dim = of(pointer).dimensions[dimension];
  int64_t run = dim.contiguity();
  if (!mask)
    return run;
  int64_t same = of(mask).dimensions[dimension].constancy();
  return run >= dim.extent ? same : same >= dim.extent ? run : std::gcd(run, same);
}

int64_t IndexAnalysis::prefixRun(Value mask, unsigned dimension) const {
  const DimensionFacts &dim = of(mask).dimensions[dimension];
  if (dim.isPrefix || dim.isConstant())
    return dim.extent;
  Operation *op = mask.getDefiningOp();
  // Where all of several hold is a prefix where each is one.
  if (auto both = dyn_cast_if_present<arith::AndIOp>(op)) {
    const int64_t left = prefixRun(both.getLhs(), dimension),
                  right = prefixRun(both.getRhs(), dimension);
    return left >= dim.extent ? right : right >= dim.extent ? left : std::gcd(left, right);
  }
  if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op))
    if (tile::shapeOf(broadcast.getSrc().getType())[dimension] == dim.extent)
      return prefixRun(broadcast.getSrc(), dimension);
  if (auto expand = dyn_cast_if_present<tile::ExpandDimsOp>(op))
    return prefixRun(expand.getSrc(), dimension > expand.getAxis() ? dimension - 1 : dimension);
  if (auto convert = dyn_cast_if_present<tile::ConvertLayoutOp>(op))
    return prefixRun(convert.getSrc(), dimension);
  return dim.constancy();
}

bool IndexAnalysis::isInjective(Value value) const {
  const IndexFacts &facts = of(value);
  SmallVector<std::pair<int64_t, int64_t>, 3> steps; // |stride|, extent
  for (const DimensionFacts &dim : facts.dimensions) {
    if (dim.extent == 1)
      continue;
    if (facts.isAssumed || !dim.isStrided() || dim.strideSymbol || dim.stride == 0)
      return false;
    steps.push_back({std::abs(dim.stride), dim.extent});
  }
  // Each stride is greater than all the smaller ones reach together; none of it wraps around.
  llvm::sort(steps);
  int64_t reach = 0;
  for (auto [stride, extent] : steps) {
    int64_t length;
    if (stride <= reach || __builtin_mul_overflow(stride, extent - 1, &length) ||
        __builtin_add_overflow(reach, length, &reach))
      return false;
  }
  return reach < (int64_t(1) << 31);
}

int64_t IndexAnalysis::alignment(Value pointer, unsigned dimension) const {
  return layout::lowestBit(of(pointer).dimensions[dimension].divisibility);
}

bool servesAddressesOnly(Value value) {
  SmallVector<Value> pending{value};
  DenseSet<Value> seen;
  auto isAccessThrough = [](OpOperand &use) {
    // The first operand of each is its pointer.
    return use.getOperandNumber() == 0 && isa<tile::LoadOp, tile::StoreOp, tile::AtomicRmwOp,
                                              tile::AtomicCasOp, tile::AsyncCopyOp>(use.getOwner());
  };
  auto isIndexOrPointer = [](Value result) {
    Type element = tile::elementTypeOf(result.getType());
    return isa<tile::PtrType>(element) || (isa<IntegerType>(element) && !element.isInteger(1));
  };
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (isAccessThrough(use) || isa<tile::BlockAtOp>(user))
        continue;
      if (user->getNumRegions() || user->getNumResults() == 0 || isa<tile::PtrToIntOp>(user) ||
          !isMemoryEffectFree(user) || !llvm::all_of(user->getResults(), isIndexOrPointer))
        return false;
      llvm::append_range(pending, user->getResults());
    }
  }
  return true;
}

} // namespace sectile::optimizer
