#include "optimizer/CountWhiles.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/LoopsAround.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace sectile::optimizer {
namespace {

/// Whether the number is at least one, whatever runs.
bool isPositive(Value number) {
  if (APInt known; matchPattern(number, m_ConstantInt(&known)))
    return known.isStrictlyPositive();
  return isa_and_present<tile::NumProgramsOp>(number.getDefiningOp());
}

/// Counters of fewer bits are likely to wrap.
constexpr unsigned kLeastBits = 32;

/// A loop and, once `isPossible`, what it counts.
class WhileCounter {
public:
  explicit WhileCounter(scf::WhileOp loop) : loop(loop), builder(loop), place(loop.getLoc()) {}

  bool isPossible() {
    return isAroundLoop(loop.getAfter()) && testsOnly() &&
           takeApart(loop.getConditionOp().getCondition()) && limit;
  }

  void run() {
    IRMapping first; // what the test is made of, in front of the first round
    for (auto [argument, initial] : llvm::zip(loop.getBeforeArguments(), loop.getInits()))
      first.map(argument, initial);
    for (Operation &op : loop.getBeforeBody()->without_terminator())
      builder.clone(op, first);
    Value lower = first.lookup(counter), upper = first.lookupOrDefault(limit);
    for (Value term : lasting)
      upper = arith::SelectOp::create(builder, place, first.lookupOrDefault(term), upper, lower);
    Value by = step;
    if (Operation *maker = step.getDefiningOp(); maker && loop->isAncestor(maker))
      by = builder.clone(*maker)->getResult(0);
    auto made = scf::ForOp::create(builder, place, lower, upper, by, loop.getInits(),
                                   /*bodyBuilder=*/nullptr, isUnsigned);
    Block &body = *loop.getAfterBody();
    const unsigned number = counter.getArgNumber();
    body.getArgument(number).replaceAllUsesWith(made.getInductionVar());
    // A loop that carries something has no terminator yet.
    made.getBody()->getOperations().splice(made.getBody()->end(), body.getOperations());
    for (auto [from, to] : llvm::zip(body.getArguments(), made.getRegionIterArgs()))
      from.replaceAllUsesWith(to);
    loop.replaceAllUsesWith(made.getResults());
    loop.erase();
  }

private:
  /// Whether the test has no effects, and the body gets what the loop carries as it is.
  bool testsOnly() {
    Block &test = *loop.getBeforeBody();
    return llvm::equal(loop.getConditionOp().getArgs(), test.getArguments()) &&
           llvm::all_of(test.without_terminator(), [](Operation &op) {
             return isMemoryEffectFree(&op) && !op.getNumRegions();
           });
  }

  /// Finds out what the terms of the test are to the loop.
  bool takeApart(Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      if (both.getType().isInteger(1) && isInTest(both))
        return takeApart(both.getLhs()) && takeApart(both.getRhs());
    if (isInvariant(condition)) {
      lasting.push_back(condition);
      return true;
    }
    auto comparison = condition.getDefiningOp<arith::CmpIOp>();
    if (!comparison || !isInTest(comparison))
      return false;
    Value lhs = comparison.getLhs(), rhs = comparison.getRhs();
    CmpIPredicate predicate = comparison.getPredicate();
    if (isInvariant(lhs)) {
      std::swap(lhs, rhs);
      predicate = mirrored(predicate);
    }
    const bool isSigned = predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sge ||
                          predicate == CmpIPredicate::sgt;
    const bool isFurther = bool(counter);
    if (!isInvariant(rhs) || !isCounter(lhs) || (isFurther && isUnsigned == isSigned))
      return false;
    switch (predicate) {
    case CmpIPredicate::slt:
    case CmpIPredicate::ult:
      if (limit)
        return false;
      limit = rhs;
      break;
    case CmpIPredicate::sge:
    case CmpIPredicate::sgt:
    case CmpIPredicate::uge:
    case CmpIPredicate::ugt:
      lasting.push_back(condition);
      break;
    default:
      return false;
    }
    isUnsigned = !isSigned;
    return true;
  }

  static CmpIPredicate mirrored(CmpIPredicate predicate) {
    switch (predicate) {
    case CmpIPredicate::sgt:
      return CmpIPredicate::slt;
    case CmpIPredicate::ugt:
      return CmpIPredicate::ult;
    case CmpIPredicate::sle:
      return CmpIPredicate::sge;
    case CmpIPredicate::ule:
      return CmpIPredicate::uge;
    case CmpIPredicate::slt:
      return CmpIPredicate::sgt;
    case CmpIPredicate::ult:
      return CmpIPredicate::ugt;
    default:
      return predicate;
    }
  }

  bool isInTest(Operation *op) { return op->getBlock() == loop.getBeforeBody(); }

  /// Whether the value is the same in all rounds. The test may make it, of what is.
  bool isInvariant(Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    Operation *maker = value.getDefiningOp();
    return maker && isInTest(maker) &&
           llvm::all_of(maker->getOperands(), [&](Value operand) { return isInvariant(operand); });
  }

  /// Whether the value is what the loop counts.
  bool isCounter(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != loop.getBeforeBody() ||
        (counter && counter != argument))
      return false;
    if (counter)
      return true;
    const unsigned number = argument.getArgNumber();
    auto type = dyn_cast<IntegerType>(argument.getType());
    if (!type || type.getWidth() < kLeastBits)
      return false;
    auto sum = loop.getYieldOp().getOperand(number).getDefiningOp<arith::AddIOp>();
    Value before = loop.getAfterArguments()[number];
    if (!sum || sum->getBlock() != loop.getAfterBody())
      return false;
    for (auto [one, other] :
         {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
      if (one == before && isPositive(other)) {
        counter = argument;
        step = other;
        return true;
      }
    return false;
  }

  scf::WhileOp loop;
  OpBuilder builder;
  Location place;
  BlockArgument counter; // of the test
  Value step, limit;
  SmallVector<Value, 2> lasting; // terms that hold in all rounds if they hold in the first one
  bool isUnsigned = false;
};

struct CountWhiles : PassWrapper<CountWhiles, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountWhiles)

  StringRef getArgument() const override { return "count-whiles"; }
  StringRef getDescription() const override { return "while loops that count become for loops"; }
  void runOnOperation() override {
    // Inner loops first: they are the counted loops of those around.
    SmallVector<scf::WhileOp> loops;
    getOperation().walk([&](scf::WhileOp loop) { loops.push_back(loop); });
    for (scf::WhileOp loop : loops)
      if (WhileCounter counter(loop); counter.isPossible())
        counter.run();
  }
};

} // namespace

std::unique_ptr<Pass> createCountWhiles() {
  return std::make_unique<CountWhiles>();
}

} // namespace sectile::optimizer
