#include "optimizer/ExpandReductions.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/FunctionOnTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

bool hasLoop(Block &block) {
  return block.walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Branches and loops: emitters of reductions know neither.
bool hasControlFlow(Block &block) {
  return llvm::any_of(block, [](Operation &op) { return op.getNumRegions() > 0; });
}

/// One tile per source of the reduce or scan.
using Tiles = SmallVector<Value>;

/// The steps on tiles that replace one reduce or scan.
class Expansion {
public:
  Expansion(Operation *op, Block &combiner, int64_t axis)
      : builder(op), loc(op->getLoc()), combiner(combiner), axis(axis),
        shape(shapeOf(op->getOperand(0).getType())) {}

  /// Returns tiles whose extent along the axis is one.
  Tiles reduce(Tiles tiles) {
    // What was last when the extent was odd comes after all of `tiles`.
    Tiles last;
    for (int64_t extent = shape[axis]; extent > 1; extent /= 2) {
      if (extent % 2) {
        Tiles odd = pick(tiles, indices(1, [&](Value) { return number(extent - 1, 1); }));
        last = last.empty() ? odd : combine(odd, last);
      }
      auto neighbour = [&](int64_t offset) {
        return pick(
            tiles, indices(extent / 2, [&](Value pair) { return add(multiply(pair, 2), offset); }));
      };
      Tiles left = neighbour(0), right = neighbour(1);
      tiles = combine(left, right);
    }
    return last.empty() ? tiles : combine(tiles, last);
  }

  /// The inclusive scan, from the other end if `reverse`. In both directions runs begin at
  /// multiples of their length: what lies behind the last element changes no order before it.
  Tiles scan(Tiles tiles, bool reverse) {
    for (int64_t run = 1; run < shape[axis]; run *= 2)
      tiles = joinRuns(tiles, run, reverse);
    return tiles;
  }

  /// The tile, whose extent along the axis is one, without this axis.
  Value dropAxis(Value tile, Type type) {
    if (isa<RankedTensorType>(type))
      return ReshapeOp::create(builder, loc, type, tile);
    // Nothing but a reduction takes a scalar out of a tile.
    auto scalar = ReduceOp::create(builder, loc, TypeRange{type}, tile, 0);
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&scalar.getCombiner(), {}, {type, type}, {loc, loc});
    YieldOp::create(builder, loc, ValueRange{block->getArgument(0)});
    return scalar.getResult(0);
  }

private:
  /// Runs of `run` elements are finished. Of each two, the second is combined with the last element
  /// of the first; if `reverse`, the first with the first element of the second.
  Tiles joinRuns(const Tiles &tiles, int64_t run, bool reverse) {
    int64_t extent = shape[axis], pair = 2 * run;
    // Where in a pair the run lies that takes, and the element that it takes.
    int64_t taker = reverse ? 0 : run, taken = reverse ? run : run - 1;
    // The elements of all runs that take, numbered in their order: element `i` is number i % run of
    // its run. The last pair may lack its second run, or some of it.
    int64_t count = reverse ? (extent + run - 1) / pair * run
                            : extent / pair * run + std::max<int64_t>(0, extent % pair - run);
    auto pairStart = [&](Value i) { return multiply(divide(i, run), pair); };
    Tiles ends = pick(tiles, indices(count, [&](Value i) { return add(pairStart(i), taken); }));
    Tiles own = pick(tiles, indices(count, [&](Value i) {
                       return add(sum(pairStart(i), remainder(i, run)), taker);
                     }));
    Tiles joined = combine(ends, own);
    auto takes = [&](Value i) {
      if (!reverse)
        return compare(arith::CmpIPredicate::uge, remainder(i, pair), run);
      // Nor do elements behind the last whole run that another one follows.
      Value isFirst = compare(arith::CmpIPredicate::ult, remainder(i, pair), run);
      Value hasSecond = compare(arith::CmpIPredicate::ult, i, count / run * pair);
      return arith::AndIOp::create(builder, loc, isFirst, hasSecond).getResult();
    };
    // Back to where they were; those that take nothing get anything.
    Tiles placed =
        pick(joined, indices(extent, [&](Value i) {
               Value place = sum(multiply(divide(i, pair), run), remainder(i, run));
               return arith::SelectOp::create(builder, loc, takes(i), place, number(0, extent))
                   .getResult();
             }));
    Value isTaker =
        alongAxis(takes(ArangeOp::create(builder, loc, rowOf(extent), 0, int32_t(extent))));
    Tiles results;
    for (auto [finished, before] : llvm::zip(placed, tiles))
      results.push_back(arith::SelectOp::create(builder, loc, isTaker, finished, before));
    return results;
  }

  Tiles combine(const Tiles &left, const Tiles &right) {
    Tiles pairs(left);
    llvm::append_range(pairs, right);
    if (!hasLoop(combiner))
      return applyToTiles(builder, combiner, pairs);
    // Each element loops as often as it needs.
    auto map = MapOp::create(builder, loc, ValueRange(left).getTypes(), pairs);
    IRMapping mapping;
    combiner.getParent()->cloneInto(&map.getFunction(), mapping);
    return Tiles(map.getResults());
  }

  /// The elements along the axis that the indices name.
  Tiles pick(const Tiles &tiles, Value indices) {
    return llvm::map_to_vector(tiles, [&](Value tile) -> Value {
      Type type = tileOf(shapeOf(indices.getType()), elementTypeOf(tile.getType()));
      return GatherOp::create(builder, loc, type, tile, indices, int32_t(axis));
    });
  }

  /// A tile of `count` indices along the axis, which `make` makes of 0, 1, 2 ...
  Value indices(int64_t count, function_ref<Value(Value)> make) {
    return alongAxis(
        make(ArangeOp::create(builder, loc, rowOf(count), 0, int32_t(count)).getResult()));
  }
  /// A row of values along the axis, the same everywhere else.
  Value alongAxis(Value row) {
    auto type = cast<RankedTensorType>(row.getType());
    SmallVector<int64_t> extents(type.getShape()), full(shape);
    full[axis] = extents.front();
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
      if (dim == axis)
        continue;
      extents.insert(extents.begin() + dim, 1);
      row = ExpandDimsOp::create(builder, loc, type.clone(extents), row, int32_t(dim));
    }
    if (extents == full)
      return row;
    return BroadcastOp::create(builder, loc, type.clone(full), row);
  }

  //-- rows of i32
  RankedTensorType rowOf(int64_t count) {
    return RankedTensorType::get({count}, builder.getI32Type());
  }
  Value number(int64_t value, int64_t count) {
    auto elements = DenseElementsAttr::get(rowOf(count), builder.getI32IntegerAttr(int32_t(value)));
    return arith::ConstantOp::create(builder, loc, elements);
  }
  Value numberLike(int64_t value, Value row) {
    return number(value, cast<RankedTensorType>(row.getType()).getNumElements());
  }
  Value sum(Value x, Value y) { return arith::AddIOp::create(builder, loc, x, y); }
  Value add(Value x, int64_t y) { return sum(x, numberLike(y, x)); }
  Value multiply(Value x, int64_t y) {
    return arith::MulIOp::create(builder, loc, x, numberLike(y, x));
  }
  Value divide(Value x, int64_t y) {
    return arith::DivUIOp::create(builder, loc, x, numberLike(y, x));
  }
  Value remainder(Value x, int64_t y) {
    return arith::RemUIOp::create(builder, loc, x, numberLike(y, x));
  }
  Value compare(arith::CmpIPredicate how, Value x, int64_t y) {
    return arith::CmpIOp::create(builder, loc, how, x, numberLike(y, x));
  }

  OpBuilder builder;
  Location loc;
  Block &combiner;
  int64_t axis;
  SmallVector<int64_t> shape;
};

void expand(ReduceOp op) {
  Expansion expansion(op, op.getCombiner().front(), op.getAxis());
  Tiles reduced = expansion.reduce(Tiles(op.getSrcs()));
  for (auto [result, tile] : llvm::zip(op.getResults(), reduced))
    result.replaceAllUsesWith(expansion.dropAxis(tile, result.getType()));
}

void expand(ScanOp op) {
  Expansion expansion(op, op.getCombiner().front(), op.getAxis());
  op->replaceAllUsesWith(expansion.scan(Tiles(op.getSrcs()), op.getReverse()));
}

/// Whether any order of the elements gives the same result: one operation on integers does.
bool isSameInAnyOrder(Block &combiner) {
  if (combiner.getNumArguments() != 2 || !llvm::hasNItems(combiner, 2))
    return false;
  Operation &op = combiner.front();
  bool combinesBoth = op.getNumOperands() == 2 && op.getOperand(0) != op.getOperand(1) &&
                      isa<BlockArgument>(op.getOperand(0)) &&
                      isa<BlockArgument>(op.getOperand(1)) &&
                      combiner.getTerminator()->getOperand(0) == op.getResult(0);
  return combinesBoth &&
         isa<arith::AddIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op);
}

struct ExpandReductions : PassWrapper<ExpandReductions, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandReductions)

  ExpandReductions() = default;
  ExpandReductions(const ExpandReductions &other) : PassWrapper(other) {}
  explicit ExpandReductions(bool fixOrders) { this->fixOrders = fixOrders; }

  StringRef getArgument() const override { return "expand-reductions"; }
  StringRef getDescription() const override {
    return "reductions and scans whose function has effects, branches or loops become steps on "
           "tiles";
  }

  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<ReduceOp, ScanOp>(op) &&
          (!isMemoryEffectFree(op) || hasControlFlow(op->getRegion(0).front()) ||
           (fixOrders && !isSameInAnyOrder(op->getRegion(0).front()))))
        found.push_back(op);
    });
    for (Operation *op : found) {
      llvm::TypeSwitch<Operation *>(op).Case<ReduceOp, ScanOp>([](auto each) { expand(each); });
      op->erase();
    }
  }

  Option<bool> fixOrders{*this, "fix-orders",
                         llvm::cl::desc("also where the result depends on the order of elements")};
};

} // namespace

std::unique_ptr<Pass> createExpandReductions(bool fixOrders) {
  return std::make_unique<ExpandReductions>(fixOrders);
}

} // namespace sectile::optimizer
