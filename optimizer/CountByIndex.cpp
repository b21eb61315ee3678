#include "optimizer/CountByIndex.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/LoopsAround.h"
#include "optimizer/ScalarSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// Whether both are one number, whatever runs.
bool areSame(Value one, Value other) {
  if (one == other)
    return true;
  APInt number, same;
  if (matchPattern(one, m_ConstantInt(&number)) && matchPattern(other, m_ConstantInt(&same)))
    return one.getType() == other.getType() && number == same;
  auto programs = one.getDefiningOp<tile::NumProgramsOp>(),
       also = other.getDefiningOp<tile::NumProgramsOp>();
  return programs && also && programs.getAxis() == also.getAxis();
}

/// Whether the carried value grows by the loop's step.
bool countsAlong(scf::ForOp loop, BlockArgument carried) {
  auto sum = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp<arith::AddIOp>();
  return sum && isa<IntegerType>(carried.getType()) &&
         carried.getType() == loop.getInductionVar().getType() &&
         ((sum.getLhs() == carried && areSame(sum.getRhs(), loop.getStep())) ||
          (sum.getRhs() == carried && areSame(sum.getLhs(), loop.getStep())));
}

/// How far in front of the loop's index, or behind it, such a value is; nullopt where that is not
/// known.
std::optional<int64_t> distanceFromIndex(scf::ForOp loop, BlockArgument carried) {
  // Both are what operations of their type compute, so that what they have in common is the same.
  const unsigned bits = carried.getType().getIntOrFloatBitWidth();
  ScalarSum distance = ScalarSum::of(loop.getTiedLoopInit(carried)->get());
  const ScalarSum first = ScalarSum::of(loop.getLowerBound());
  if (!distance.isOf(bits) || !first.isOf(bits))
    return std::nullopt;
  distance -= first;
  if (!distance.summands().empty())
    return std::nullopt;
  return distance.constant();
}

/// Makes the carried value of the index, and sums of it and constants.
void replace(scf::ForOp loop, BlockArgument carried, int64_t distance) {
  auto builder = OpBuilder::atBlockBegin(loop.getBody());
  Location place = loop.getLoc();
  auto behindIndex = [&](int64_t more) -> Value {
    if (more == 0)
      return loop.getInductionVar();
    const APInt bits =
        APInt(64, uint64_t(more)).sextOrTrunc(carried.getType().getIntOrFloatBitWidth());
    Value number =
        arith::ConstantOp::create(builder, place, IntegerAttr::get(carried.getType(), bits));
    return arith::AddIOp::create(builder, place, loop.getInductionVar(), number);
  };
  for (Operation *user : llvm::make_early_inc_range(carried.getUsers()))
    if (auto sum = dyn_cast<arith::AddIOp>(user))
      if (APInt more;
          matchPattern(sum.getLhs() == carried ? sum.getRhs() : sum.getLhs(), m_ConstantInt(&more)))
        sum.replaceAllUsesWith(behindIndex(distance + more.getSExtValue()));
  carried.replaceAllUsesWith(behindIndex(distance));
}

struct CountByIndex : PassWrapper<CountByIndex, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountByIndex)

  StringRef getArgument() const override { return "count-by-index"; }
  StringRef getDescription() const override {
    return "numbers that count as their loop does are made of its index";
  }
  void runOnOperation() override {
    if (counters().empty())
      return;
    // Both may begin at a program's number, each with an operation of its own. Loops may go by
    // that.
    mergeEqual();
    for (auto [loop, carried] : counters())
      if (std::optional<int64_t> distance = distanceFromIndex(loop, carried))
        replace(loop, carried, *distance);
    mergeEqual();
  }

private:
  SmallVector<std::pair<scf::ForOp, BlockArgument>> counters() {
    SmallVector<std::pair<scf::ForOp, BlockArgument>> found;
    getOperation().walk([&](scf::ForOp loop) {
      if (isAroundLoop(loop))
        for (BlockArgument carried : loop.getRegionIterArgs())
          if (countsAlong(loop, carried))
            found.push_back({loop, carried});
    });
    return found;
  }
  void mergeEqual() {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> createCountByIndex() {
  return std::make_unique<CountByIndex>();
}

} // namespace sectile::optimizer
