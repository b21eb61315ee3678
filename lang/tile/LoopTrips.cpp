#include "lang/tile/LoopTrips.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sectile::tile {
namespace {

struct ConstantLoop {
  APInt lower, upper, step;
  bool isUnsigned;

  bool isEmpty() const { return isUnsigned ? lower.uge(upper) : lower.sge(upper); }
  /// As an unsigned number, exact unless the loop is empty.
  APInt distance() const { return upper - lower; }
  APInt trips() const {
    return isEmpty() ? APInt::getZero(lower.getBitWidth()) : (distance() - 1).udiv(step) + 1;
  }
  /// MLIR takes distances of signed loops from 2^(width-1) on for negative ones.
  bool isMiscounted() const { return !isUnsigned && !isEmpty() && distance().isNegative(); }
};

std::optional<ConstantLoop> constantLoop(scf::ForOp loop) {
  ConstantLoop known;
  known.isUnsigned = loop.getUnsignedCmp();
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&known.lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&known.upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&known.step)) || known.step.isZero())
    return std::nullopt;
  return known;
}

/// MLIR takes a step from 2^(width-1) on for a negative one, and a loop of such a step for empty,
/// whatever its bounds.
bool hasWideStep(scf::ForOp loop) {
  APInt step;
  return loop.getUnsignedCmp() && matchPattern(loop.getStep(), m_ConstantInt(&step)) &&
         step.isNegative();
}

/// Counts the turns of a loop that MLIR would miscount.
struct CountTurns : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop, PatternRewriter &rewriter) const override {
    auto known = constantLoop(loop);
    if (!hasWideStep(loop) && !(known && known->isMiscounted()))
      return failure();
    Location place = loop.getLoc();
    Type type = loop.getInductionVar().getType();
    unsigned width = type.getIntOrFloatBitWidth();
    auto constant = [&](const APInt &number) -> Value {
      return arith::ConstantOp::create(rewriter, place, IntegerAttr::get(type, number));
    };
    Value zero = constant(APInt::getZero(width)), one = constant(APInt(width, 1));
    Value lower = loop.getLowerBound(), step = loop.getStep(), turn = loop.getInductionVar();
    Value trips = known ? constant(known->trips()) : emitFewTrips(rewriter, loop, zero, one);
    rewriter.setInsertionPointToStart(loop.getBody());
    auto moved = arith::MulIOp::create(rewriter, place, turn, step);
    Value index = arith::AddIOp::create(rewriter, place, lower, moved);
    rewriter.replaceAllUsesExcept(turn, index, moved);
    rewriter.modifyOpInPlace(loop, [&] {
      loop.setLowerBound(zero);
      loop.setUpperBound(trips);
      loop.setStep(one);
      loop.setUnsignedCmp(true);
    });
    return success();
  }

  /// Counts the turns of an unsigned loop with a wide step: two steps pass every end, so there are
  /// at most two turns.
  static Value emitFewTrips(PatternRewriter &rewriter, scf::ForOp loop, Value zero, Value one) {
    Location place = loop.getLoc();
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
    Value two = arith::AddIOp::create(rewriter, place, one, one);
    Value runs = arith::CmpIOp::create(rewriter, place, arith::CmpIPredicate::ult, lower, upper);
    Value distance = arith::SubIOp::create(rewriter, place, upper, lower);
    Value isFar =
        arith::CmpIOp::create(rewriter, place, arith::CmpIPredicate::ugt, distance, loop.getStep());
    Value trips = arith::SelectOp::create(rewriter, place, isFar, two, one);
    return arith::SelectOp::create(rewriter, place, runs, trips, zero);
  }
};

} // namespace

std::optional<APInt> constantTrips(scf::ForOp loop) {
  auto known = constantLoop(loop);
  return known ? std::optional(known->trips()) : std::nullopt;
}

void addLoopPatterns(RewritePatternSet &patterns) {
  patterns.add<CountTurns>(patterns.getContext(), /*benefit=*/10);
}

} // namespace sectile::tile
