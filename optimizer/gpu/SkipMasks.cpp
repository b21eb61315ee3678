#include "optimizer/gpu/SkipMasks.h"

#include "optimizer/gpu/CheapValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Operations that a comparison is looked through: a sum of more is no position of an element, and
/// one that is added to itself again and again has no end.
constexpr unsigned kMostSteps = 64;

/// Elements of a thread from which on a branch costs less than the mask.
constexpr int64_t kLeastElements = 8;

/// A tile of integers: numbers of the whole program, each with a factor, and for each element one
/// between `low` and `high`.
struct BoundedSum {
  struct Term {
    Value value;
    int64_t factor;
  };
  llvm::SmallVector<Term, 4> terms;
  int64_t low = 0, high = 0;
};

/// Whole numbers of so many bits.
constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min(),
                  kMost32 = std::numeric_limits<int32_t>::max();

/// The bounds of tiles, if no sum has wrapped; `narrow` are the sums of 32 bits that must not have.
class Bounds {
public:
  std::optional<BoundedSum> of(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || ++steps > kMostSteps)
      return std::nullopt;
    if (auto splat = dyn_cast<SplatOp>(op)) {
      Value number = splat.getSrc();
      if (auto wide = number.getDefiningOp<arith::ExtSIOp>())
        number = wide.getIn();
      if (!number.getType().isInteger(32)) // sums of wider numbers may leave 64 bits
        return std::nullopt;
      return BoundedSum{{{number, 1}}, 0, 0};
    }
    if (auto range = dyn_cast<ArangeOp>(op))
      return BoundedSum{{}, range.getStart(), int64_t(range.getEnd()) - 1};
    // Sums of a few numbers of 32 bits stay far from the end of 64.
    if (llvm::APInt number; matchPattern(tile, m_ConstantInt(&number)) && number.isSignedIntN(32))
      return BoundedSum{{}, number.getSExtValue(), number.getSExtValue()};
    if (isa<BroadcastOp, ExpandDimsOp, TransposeOp, HintOp>(op))
      return of(op->getOperand(0));
    if (isa<arith::AddIOp>(op))
      return combined(op, 1);
    if (isa<arith::SubIOp>(op))
      return combined(op, -1);
    if (isa<arith::ExtSIOp>(op) && elementTypeOf(op->getOperand(0).getType()).isInteger(32)) {
      auto sum = of(op->getOperand(0));
      if (sum)
        narrow.push_back(*sum);
      return sum;
    }
    return std::nullopt;
  }

  llvm::SmallVector<BoundedSum, 4> narrow;

private:
  unsigned steps = 0;

  std::optional<BoundedSum> combined(Operation *op, int64_t sign) {
    auto a = of(op->getOperand(0)), b = of(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    for (BoundedSum::Term term : b->terms)
      a->terms.push_back({term.value, sign * term.factor});
    a->low += sign > 0 ? b->low : -b->high;
    a->high += sign > 0 ? b->high : -b->low;
    return a;
  }
};

class Skipper {
public:
  Skipper(func::FuncOp function, const GpuShape &shape, GpuAssumptions &assumed)
      : function(function), shape(shape), assumed(assumed), builder(function.getContext()) {}

  void run() {
    llvm::SmallVector<arith::SelectOp> choices;
    function.walk([&](arith::SelectOp choice) {
      if (isWorthIt(choice))
        choices.push_back(choice);
    });
    for (arith::SelectOp choice : choices)
      skip(choice);
  }

private:
  bool isWorthIt(arith::SelectOp choice) const {
    auto tile = dyn_cast<RankedTensorType>(choice.getType());
    auto loop = dyn_cast<scf::ForOp>(choice->getParentOp());
    return tile && loop && isa<RankedTensorType>(choice.getCondition().getType()) &&
           tile.getNumElements() >= kLeastElements * shape.threadCount() &&
           llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp, DotAsyncOp>);
  }

  void skip(arith::SelectOp choice) {
    builder.setInsertionPoint(choice);
    steps = 0;
    Value isWhole = allTrue(choice.getCondition());
    if (!isWhole)
      return;
    Location loc = choice.getLoc();
    auto branch = scf::IfOp::create(builder, loc, choice.getType(), isWhole,
                                    /*withElseRegion=*/true);
    choice->getResult(0).replaceAllUsesWith(branch.getResult(0));
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, choice.getTrueValue());
    builder.setInsertionPointToStart(branch.elseBlock());
    auto yield = scf::YieldOp::create(builder, loc, choice.getResult());
    choice->moveBefore(yield);
    takeAlong(branch, branch.elseBlock());
    addRemark(assumed.remarks, loc, "mask-skipped",
              "rounds in which the mask is true for all elements do without it");
  }

  /// Moves what only the branch needs to its beginning.
  static void takeAlong(scf::IfOp branch, Block *inside) {
    for (Operation *op = branch->getPrevNode(), *before = nullptr; op; op = before) {
      before = op->getPrevNode();
      if ((isElementwise(op) || isa<SplatOp, BroadcastOp, ExpandDimsOp, TransposeOp>(op)) &&
          !op->use_empty() &&
          llvm::all_of(op->getUsers(), [&](Operation *user) { return user->getBlock() == inside; }))
        op->moveBefore(&inside->front());
    }
  }

  /// A truth of the whole program, made at the builder's place, that implies the mask's being true
  /// everywhere; null: there is none.
  Value allTrue(Value mask) {
    Operation *op = mask.getDefiningOp();
    if (!op || ++steps > kMostSteps)
      return {};
    if (auto splat = dyn_cast<SplatOp>(op))
      return splat.getSrc();
    if (isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op))
      return allTrue(op->getOperand(0));
    if (isa<arith::AndIOp>(op)) {
      Value a = allTrue(op->getOperand(0)), b = a ? allTrue(op->getOperand(1)) : Value();
      return b ? both(a, b) : Value();
    }
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return alwaysHolds(compare);
    return {};
  }

  Value alwaysHolds(arith::CmpIOp compare) {
    Value greater = compare.getLhs(), less = compare.getRhs();
    using P = arith::CmpIPredicate;
    const P predicate = compare.getPredicate();
    if (predicate == P::slt || predicate == P::sle)
      std::swap(greater, less);
    else if (predicate != P::sgt && predicate != P::sge)
      return {};
    const int64_t least = predicate == P::slt || predicate == P::sgt ? 1 : 0;
    const Type element = elementTypeOf(compare.getLhs().getType());
    if (!element.isInteger(32) && !element.isInteger(64))
      return {};
    Bounds bounds;
    auto a = bounds.of(greater), b = bounds.of(less);
    if (!a || !b)
      return {};
    Value first = total(*a), second = total(*b);
    Value holds = isAtMost(plus(second, b->high + least), plus(first, a->low));
    if (element.isInteger(32)) {
      // With both in their order these two bounds are all four.
      holds = both(holds, isAtMost(plus(first, a->high), constant(kMost32)));
      holds = both(holds, isAtMost(constant(kLeast32), plus(second, b->low)));
    }
    for (const BoundedSum &sum : bounds.narrow) {
      Value whole = total(sum);
      holds = both(holds, isAtMost(plus(whole, sum.high), constant(kMost32)));
      holds = both(holds, isAtMost(constant(kLeast32), plus(whole, sum.low)));
    }
    return holds;
  }

  //-- Numbers of 64 bits, which sums of a few of 32 do not leave --------------------------------

  Value constant(int64_t number) {
    return arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                     builder.getI64IntegerAttr(number));
  }
  Value plus(Value a, int64_t number) {
    return number == 0 ? a : builder.createOrFold<arith::AddIOp>(a.getLoc(), a, constant(number));
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a.getLoc(), a, b); }
  Value isAtMost(Value a, Value b) {
    return arith::CmpIOp::create(builder, a.getLoc(), arith::CmpIPredicate::sle, a, b);
  }
  Value total(const BoundedSum &sum) {
    Value whole;
    for (auto [value, factor] : sum.terms) {
      Value wide =
          arith::ExtSIOp::create(builder, value.getLoc(), builder.getI64Type(), value).getResult();
      if (factor != 1)
        wide = arith::MulIOp::create(builder, value.getLoc(), wide, constant(factor));
      whole = whole ? builder.createOrFold<arith::AddIOp>(value.getLoc(), whole, wide) : wide;
    }
    return whole ? whole : constant(0);
  }

  func::FuncOp function;
  const GpuShape &shape;
  GpuAssumptions &assumed;
  OpBuilder builder;
  unsigned steps = 0; // of the mask at hand
};

struct SkipMasks : GpuPass<SkipMasks> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SkipMasks)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "skip-masks"; }
  StringRef getDescription() const override {
    return "leave masks of loops with products out of rounds in which they are true everywhere: "
           "warps=4, lanes=32";
  }
  void runOnOperation() override { Skipper(getOperation(), shape(), assumed()).run(); }
};

} // namespace

std::unique_ptr<Pass> createSkipMasks(const GpuPipelineOptions &options, GpuAssumptions *assumed) {
  return std::make_unique<SkipMasks>(options, assumed);
}

} // namespace sectile::optimizer
