#include "optimizer/UnrollLoops.h"

#include "lang/tile/LoopTrips.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/RebuildLoop.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

class LoopUnroller {
public:
  LoopUnroller(scf::ForOp loop, int64_t factor)
      : loop(loop), factor(factor), builder(loop), place(loop.getLoc()) {}

  void run() {
    Value trips = emitTrips();
    Value by = constant(factor);
    Value left = arith::RemUIOp::create(builder, place, trips, by);
    Value whole = arith::SubIOp::create(builder, place, trips, left);
    scf::ForOp unrolled = repeat({constant(0), whole, by, true}, loop.getInitArgs(), factor);
    scf::ForOp rest = repeat({whole, trips, constant(1), true}, unrolled.getResults(), 1);
    rest->setAttr(tile::kStagesAttr, builder.getI64IntegerAttr(1));
    loop.replaceAllUsesWith(rest.getResults());
    loop.erase();
  }

private:
  Value constant(const APInt &number) {
    Type type = loop.getInductionVar().getType();
    return arith::ConstantOp::create(builder, place, IntegerAttr::get(type, number));
  }
  Value constant(int64_t number) {
    return constant(APInt(loop.getInductionVar().getType().getIntOrFloatBitWidth(), number));
  }

  /// As an unsigned number of the index's width, which holds it.
  Value emitTrips() {
    if (auto known = tile::constantTrips(loop))
      return constant(*known);
    auto before = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), one = constant(1);
    Value runs = arith::CmpIOp::create(builder, place, before, lower, upper);
    Value distance = arith::SubIOp::create(builder, place, upper, lower);
    // Rounded up: the turns behind the first, and that one.
    Value last = arith::SubIOp::create(builder, place, distance, one);
    Value behind = arith::DivUIOp::create(builder, place, last, divisor(runs));
    Value trips = arith::AddIOp::create(builder, place, behind, one);
    return arith::SelectOp::create(builder, place, runs, trips, constant(0));
  }
  /// The step; 1 where the loop does not run, since the step may be 0 there.
  Value divisor(Value runs) {
    Value step = loop.getStep();
    if (matchPattern(step, m_Constant()))
      return step;
    return arith::SelectOp::create(builder, place, runs, step, constant(1));
  }

  /// A loop over turns, with `copies` of the body.
  scf::ForOp repeat(const LoopBounds &turns, ValueRange initial, int64_t copies) {
    scf::ForOp made = rebuildLoop(builder, loop, turns, initial);
    made->removeAttr(tile::kUnrollAttr);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(made.getBody());
    SmallVector<Value> carried(made.getRegionIterArgs());
    for (int64_t copy = 0; copy < copies; ++copy) {
      Value turn = made.getInductionVar();
      if (copy)
        turn = arith::AddIOp::create(builder, place, turn, constant(copy));
      Value moved = arith::MulIOp::create(builder, place, turn, loop.getStep());
      Value index = arith::AddIOp::create(builder, place, loop.getLowerBound(), moved);
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), index);
      mapping.map(loop.getRegionIterArgs(), carried);
      for (Operation &op : loop.getBody()->without_terminator())
        builder.clone(op, mapping);
      for (auto [next, yielded] : llvm::zip(carried, loop.getYieldedValues()))
        next = mapping.lookupOrDefault(yielded);
    }
    scf::YieldOp::create(builder, place, carried);
    return made;
  }

  scf::ForOp loop;
  const int64_t factor;
  OpBuilder builder;
  Location place;
};

struct UnrollLoops : PassWrapper<UnrollLoops, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollLoops)

  StringRef getArgument() const override { return "unroll-loops"; }
  StringRef getDescription() const override {
    return "repeat the bodies of loops as often as their kernel asks for";
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { // inner before outer
      if (loop->hasAttr(tile::kUnrollAttr))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      int64_t factor = loop->getAttrOfType<IntegerAttr>(tile::kUnrollAttr).getInt();
      // A factor that its integers do not hold asks for more turns than there are.
      unsigned bits = loop.getInductionVar().getType().getIntOrFloatBitWidth();
      factor = std::min<int64_t>(factor, llvm::maxUIntN(bits));
      if (factor > 1)
        LoopUnroller(loop, factor).run();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createUnrollLoops() {
  return std::make_unique<UnrollLoops>();
}

} // namespace sectile::optimizer
