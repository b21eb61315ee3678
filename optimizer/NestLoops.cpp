#include "optimizer/NestLoops.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/RebuildLoop.h"
#include "optimizer/ScalarSum.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

bool isNumber(Value value, int64_t number) {
  APInt known;
  return matchPattern(value, m_ConstantInt(&known)) && known.getSExtValue() == number;
}

/// Whether `one` is `other` + `more`, in the bits of both.
bool isSum(Value one, Value other, int64_t more) {
  ScalarSum distance = ScalarSum::of(one);
  distance -= ScalarSum::of(other);
  return distance == ScalarSum(more) && one.getType() == other.getType();
}

/// A loop and, once `isPossible`, what it counts and the branches that only one turn of each tile
/// takes.
class LoopNester {
public:
  explicit LoopNester(scf::ForOp loop) : loop(loop), builder(loop), place(loop.getLoc()) {}

  bool isPossible() {
    return !loop.getUnsignedCmp() && isNumber(loop.getLowerBound(), 0) &&
           isNumber(loop.getStep(), 1) && loop.getInductionVar().use_empty() && findCounter() &&
           findBranches() && isFirstFree() && isLastFree();
  }

  void run() {
    Value zero = constant(0), one = constant(1);
    // No tile has turns where there are none: then `first` and `last` do not run either.
    Value hasTurns = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::sgt, inner, zero);
    Value rounds = arith::SelectOp::create(builder, place, hasTurns, outer, zero);
    SmallVector<Value> initial;
    for (unsigned number : carried())
      initial.push_back(loop.getInitArgs()[number]);
    auto around = scf::ForOp::create(builder, place, zero, rounds, one, initial);
    if (initial.empty()) // it has a terminator then
      around.getBody()->getTerminator()->erase();
    builder.setInsertionPointToEnd(around.getBody());

    IRMapping outside; // what has one value in all turns of a tile
    for (auto [number, argument] : llvm::zip(carried(), around.getRegionIterArgs()))
      outside.map(loop.getRegionIterArg(number), argument);
    outside.map(count, zero);
    if (first) {
      countTiles(outside, around.getInductionVar());
      SmallVector<Value> given = cloneBlock(first.thenBlock(), outside);
      for (auto [result, value] : llvm::zip(first.getResults(), given))
        outside.map(result, value);
    }

    // The inner loop carries what each turn changes.
    SmallVector<Value> starts;
    for (unsigned number : changing) {
      Value begun = begunBy(number);
      starts.push_back(outside.lookup(begun ? begun : Value(loop.getRegionIterArg(number))));
    }
    scf::ForOp made =
        rebuildLoop(builder, loop, LoopBounds{zero, inner, one, /*isUnsigned=*/false}, starts);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(made.getBody());
      IRMapping mapping = outside;
      for (auto [number, argument] : llvm::zip(changing, made.getRegionIterArgs())) {
        mapping.map(loop.getRegionIterArg(number), argument);
        if (Value begun = begunBy(number))
          mapping.map(begun, argument);
      }
      mapping.map(count, made.getInductionVar());
      for (Operation &op : loop.getBody()->without_terminator())
        if (&op != first && &op != last && !isCounting(&op))
          builder.clone(op, mapping);
      SmallVector<Value> yielded;
      for (unsigned number : changing)
        yielded.push_back(mapping.lookupOrDefault(inTurn(number)));
      scf::YieldOp::create(builder, place, yielded);
    }

    for (auto [number, result] : llvm::zip(changing, made.getResults()))
      behind(outside, inTurn(number), result);
    outside.map(count, arith::SubIOp::create(builder, place, inner, one).getResult());
    SmallVector<Value> given = cloneBlock(last.thenBlock(), outside);
    for (auto [result, value] : llvm::zip(last.getResults(), given))
      outside.map(result, value);
    SmallVector<Value> yielded;
    for (unsigned number : carried()) {
      Value next = loop.getYieldedValues()[number];
      const auto *where = llvm::find(changing, number);
      const bool isLasts = next.getDefiningOp() == last;
      yielded.push_back(where != changing.end() && !isLasts
                            ? made.getResult(unsigned(where - changing.begin()))
                            : outside.lookupOrDefault(next));
    }
    scf::YieldOp::create(builder, place, yielded);

    for (auto [number, result] : llvm::zip(carried(), around.getResults()))
      loop.getResult(number).replaceAllUsesWith(result);
    loop.erase();
  }

private:
  Value constant(int64_t number) {
    return arith::ConstantOp::create(
        builder, place, builder.getIntegerAttr(loop.getInductionVar().getType(), number));
  }

  /// Finds the carried number that is k, and the two factors of the number of turns.
  bool findCounter() {
    auto product = loop.getUpperBound().getDefiningOp<arith::MulIOp>();
    if (!product)
      return false;
    for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      auto next = loop.getYieldedValues()[number].getDefiningOp<arith::SelectOp>();
      if (!next || next->getBlock() != loop.getBody() ||
          argument.getType() != loop.getInductionVar().getType() ||
          !isNumber(loop.getInitArgs()[number], -1) || !isNumber(next.getTrueValue(), 0))
        continue;
      auto isLast = next.getCondition().getDefiningOp<arith::CmpIOp>();
      auto more = next.getFalseValue().getDefiningOp<arith::AddIOp>();
      if (!isLast || isLast.getPredicate() != arith::CmpIPredicate::eq ||
          isLast.getLhs() != argument || !more || !isSum(more, argument, 1) ||
          // Nothing else counts by it, nor is it asked for behind the loop.
          llvm::any_of(argument.getUsers(),
                       [&](Operation *user) { return user != isLast && user != more; }) ||
          !loop.getResult(unsigned(number)).use_empty() || !isLast->hasOneUse() ||
          !more->hasOneUse())
        continue;
      for (bool isSecond : {false, true}) {
        inner = isSecond ? product.getRhs() : product.getLhs();
        outer = isSecond ? product.getLhs() : product.getRhs();
        if (!isSum(isLast.getRhs(), inner, -1))
          continue;
        counter = unsigned(number);
        count = next;
        counting = {next, isLast, more};
        return true;
      }
    }
    return false;
  }

  bool isCounting(Operation *op) { return llvm::is_contained(counting, op); }

  /// Finds the branches: of the first turn, which may be missing, and of the last.
  bool findBranches() {
    for (auto branch : loop.getOps<scf::IfOp>()) {
      auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
      if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
          compare.getLhs() != count)
        continue;
      const bool isFirst = isNumber(compare.getRhs(), 0),
                 isLast = isSum(compare.getRhs(), inner, -1);
      scf::IfOp &found = isFirst ? first : last;
      if ((!isFirst && !isLast) || found)
        return false;
      // The other turns do nothing there.
      if (!branch.getElseRegion().empty() && !branch.elseBlock()->without_terminator().empty())
        return false;
      found = branch;
    }
    if (!last || (first && last->isBeforeInBlock(first)))
      return false;
    for (auto [number, next] : llvm::enumerate(loop.getYieldedValues())) {
      const bool isFirsts =
          first && next.getDefiningOp() == first && begunBy(unsigned(number)) == next;
      if (number != counter && !isFirsts)
        changing.push_back(unsigned(number));
    }
    return true;
  }

  /// The result of `first` that a carried value which turns change begins with; null where it
  /// begins with what was carried.
  Value begunBy(unsigned number) {
    if (first)
      for (auto [result, before] : llvm::zip(first.getResults(), first.elseYield().getOperands()))
        if (before == loop.getRegionIterArg(number))
          return result;
    return {};
  }

  /// Whether a result of `first` stays until its next turn.
  bool staysInTile(Value value) {
    return first && value.getDefiningOp() == first &&
           llvm::is_contained(loop.getYieldedValues(), value) &&
           loop.getTiedLoopYieldedValue(cast<BlockArgument>(first.elseYield().getOperand(
                                            cast<OpResult>(value).getResultNumber())))
                   ->get() == value;
  }

  /// Whether `first` needs nothing of its turn, and what it gives is in other turns what was
  /// carried, which nothing else reads. What stands in front of it touches no memory.
  bool isFirstFree() {
    if (!first)
      return true;
    llvm::SmallDenseSet<Value> carriedThere;
    for (Value otherwise : first.elseYield().getOperands()) {
      auto before = dyn_cast<BlockArgument>(otherwise);
      if (!before || !isBeforeTurns(before) || !carriedThere.insert(before).second)
        return false;
      // No turn reads what the turn before had.
      if (llvm::any_of(before.getUsers(),
                       [&](Operation *user) { return !first->isAncestor(user); }))
        return false;
    }
    const bool touchesMemory = !isMemoryEffectFree(first);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (&op == first)
        break;
      if (touchesMemory && !isMemoryEffectFree(&op))
        return false;
    }
    return takes(first.thenBlock(),
                 [&](Value value) { return value == count || isBeforeTurns(value); });
  }

  /// Whether the values that the block takes from outside, and those that they are made of, are
  /// known. Operations that touch no memory are made again.
  template <class IsKnown>
  bool takes(Block *block, IsKnown isKnown) {
    bool areKnown = true;
    block->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        areKnown &=
            block->getParent()->isAncestor(operand.getParentRegion()) || isMade(operand, isKnown);
    });
    return areKnown;
  }

  template <class IsKnown>
  bool isMade(Value value, IsKnown isKnown, unsigned depth = 16) {
    if (loop.isDefinedOutsideOfLoop(value) || isKnown(value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && depth > 0 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isMade(operand, isKnown, depth - 1); });
  }

  /// What is carried into the first turn of a tile.
  bool isBeforeTurns(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == loop.getBody() &&
           argument != loop.getInductionVar() && argument != loop.getRegionIterArg(counter);
  }

  /// Whether `last` needs nothing but what `first` gives, the counter and what the inner loop gives
  /// on, nobody but the loop takes what it gives, and memory is not touched behind it.
  bool isLastFree() {
    for (auto [number, result] : llvm::enumerate(last.getResults())) {
      if (!result.hasOneUse() || !isa<scf::YieldOp>(*result.user_begin()))
        return false;
      // The other turns carry on what is known in each turn.
      Value otherwise = last.elseYield().getOperand(unsigned(number));
      if (first && otherwise.getDefiningOp() == first)
        return false;
    }
    const bool touchesMemory = !isMemoryEffectFree(last);
    for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
      if (touchesMemory && !isMemoryEffectFree(op))
        return false;
    return takes(last.thenBlock(), [&](Value value) {
      if (value == count || staysInTile(value))
        return true;
      return llvm::any_of(changing, [&](unsigned number) {
        return inTurn(number) == value &&
               (!isa<BlockArgument>(value) || value == loop.getRegionIterArg(number));
      });
    });
  }

  /// What a turn that is not the last of its tile carries on.
  Value inTurn(unsigned number) {
    Value next = loop.getYieldedValues()[number];
    return next.getDefiningOp() == last
               ? last.elseYield().getOperand(cast<OpResult>(next).getResultNumber())
               : next;
  }

  /// What is carried from tile to tile: all but the counter.
  SmallVector<unsigned> carried() {
    SmallVector<unsigned> numbers;
    for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
      if (number != counter)
        numbers.push_back(number);
    return numbers;
  }

  /// A value of the last turn is the inner loop's result. A carried value that no turn changes
  /// stays what it was.
  void behind(IRMapping &outside, Value value, Value result) {
    if (!loop.isDefinedOutsideOfLoop(value) && !isa<BlockArgument>(value))
      outside.map(value, result);
  }

  /// A number that grows by a constant with each tile follows from the tile's: passes then see
  /// where it begins, where the kernel carries what is one step short of it.
  void countTiles(IRMapping &outside, Value tile) {
    for (auto [number, value] : llvm::enumerate(first.thenYield().getOperands())) {
      auto add = value.getDefiningOp<arith::AddIOp>();
      auto before = cast<BlockArgument>(first.elseYield().getOperand(unsigned(number)));
      APInt step;
      if (!staysInTile(first.getResult(unsigned(number))) || !add ||
          add->getBlock() != first.thenBlock() || add.getLhs() != before ||
          add.getType() != tile.getType() || !matchPattern(add.getRhs(), m_ConstantInt(&step)))
        continue;
      Value by = constant(step.getSExtValue());
      Value start = loop.getTiedLoopInit(before)->get();
      auto less = start.getDefiningOp<arith::SubIOp>();
      start = less && isNumber(less.getRhs(), step.getSExtValue())
                  ? less.getLhs()
                  : arith::AddIOp::create(builder, place, start, by).getResult();
      Value more = arith::MulIOp::create(builder, place, tile, by);
      outside.map(value, arith::AddIOp::create(builder, place, start, more).getResult());
    }
  }

  /// Clones what the block does, and what it takes that is made again; returns what it gives.
  SmallVector<Value> cloneBlock(Block *block, IRMapping &mapping) {
    block->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!block->getParent()->isAncestor(operand.getParentRegion()))
          makeAgain(operand, mapping);
    });
    for (Operation &op : block->without_terminator())
      if (op.getNumResults() != 1 || !mapping.contains(op.getResult(0)))
        builder.clone(op, mapping);
    return llvm::map_to_vector(block->getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  void makeAgain(Value value, IRMapping &mapping) {
    if (loop.isDefinedOutsideOfLoop(value) || mapping.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      makeAgain(operand, mapping);
    builder.clone(*op, mapping);
  }

  scf::ForOp loop;
  OpBuilder builder;
  Location place;
  Value inner, outer; // turns of a tile, tiles
  Value count;        // k
  unsigned counter = 0;
  SmallVector<Operation *, 3> counting;
  scf::IfOp first, last;
  SmallVector<unsigned> changing; // carried values that are not what `first` gave for them
};

struct NestLoops : PassWrapper<NestLoops, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NestLoops)

  StringRef getArgument() const override { return "nest-loops"; }
  StringRef getDescription() const override {
    return "loops that count the rounds of two become two";
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (LoopNester nester(loop); nester.isPossible())
        nester.run();
  }
};

} // namespace

std::unique_ptr<Pass> createNestLoops() {
  return std::make_unique<NestLoops>();
}

} // namespace sectile::optimizer
