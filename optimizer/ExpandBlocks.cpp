#include "optimizer/ExpandBlocks.h"

#include "lang/layout/PowersOfTwo.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// Bounds within a block are cut here: beyond any extent of a tile, and a multiple of all powers of
/// two that accesses are aligned by.
constexpr int64_t kBeyondBlocks = int64_t(1) << 30;

/// The pointers and the mask of a block; no mask where nothing is checked.
struct Places {
  Value pointers, mask;
};

/// Builds the places of the block that `Op`, an operation on blocks, touches.
class Expansion {
public:
  Expansion(Operation *op, RankedTensorType block, const IndexAnalysis &analysis)
      : builder(op), loc(op->getLoc()), extents(block.getShape()), analysis(analysis) {}

  template <class Op>
  Places placesOf(Op op) {
    Value start = scalar(0), within, mask;
    const size_t outer = op.getOffsets().size() - extents.size();
    for (size_t dim = 0; dim < op.getOffsets().size(); ++dim) {
      Value offset = op.getOffsets()[dim], stride = op.getStrides()[dim], inside;
      start = add(start, multiply(offset, stride));
      if (dim < outer) {
        if (op.getChecked()[dim])
          inside = isWithin(offset, op.getShape()[dim]);
      } else {
        Value index = indicesAlong(dim - outer);
        combine(within, multiply(wide(index), splatLike(stride, index)),
                [&](Value x, Value y) { return add(x, y); });
        if (op.getChecked()[dim])
          inside = isWithin(index, extents[dim - outer], offset, op.getShape()[dim]);
      }
      if (inside)
        combine(mask, inside, [&](Value x, Value y) { return both(x, y); });
    }
    return finish(op.getBase(), start, within, mask);
  }

  /// The same where each row has a number of its own, and the offset is that of the columns.
  template <class Op>
  Places rowsOf(Op op) {
    Value rows = wide(expand(op.getRows(), 0)), column = op.getOffsets()[0];
    Value columns = indicesAlong(1), rowStride = op.getStrides()[0];
    Value columnStride = op.getStrides()[1];
    Value within = multiply(rows, splatLike(rowStride, rows));
    combine(within, multiply(wide(columns), splatLike(columnStride, columns)),
            [&](Value x, Value y) { return add(x, y); });
    Value mask;
    if (op.getChecked()[0]) {
      Value zero = splatLike(scalar(0), rows), count = splatLike(op.getShape()[0], rows);
      mask = both(compare(arith::CmpIPredicate::sge, rows, zero),
                  compare(arith::CmpIPredicate::slt, rows, count));
    }
    if (op.getChecked()[1])
      if (Value inside = isWithin(columns, extents[1], column, op.getShape()[1]))
        combine(mask, inside, [&](Value x, Value y) { return both(x, y); });
    return finish(op.getBase(), multiply(column, columnStride), within, mask);
  }

  /// The block as an operand of loads and stores; null where it may leave an axis that is not
  /// checked: such an axis goes on as far as numbers of 32 bits do.
  template <class Op>
  Value blockOf(Op op) {
    SmallVector<Value> shape(op.getShape());
    const size_t outer = shape.size() - extents.size();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (op.getChecked()[dim])
        continue;
      if (!isBeforeEnd(op.getOffsets()[dim], dim < outer ? 1 : extents[dim - outer]))
        return {};
      shape[dim] = scalar(tile::kEndlessAxis);
    }
    return tile::BlockAtOp::create(builder, loc, tile::BlockType::get(op.getContext()),
                                   op.getBase(), op.getOffsets(), shape, op.getStrides());
  }

  Value nan(RankedTensorType type) {
    auto element = cast<FloatType>(type.getElementType());
    auto value = FloatAttr::get(element, APFloat::getNaN(element.getFloatSemantics()));
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
  }

  OpBuilder builder;
  Location loc;

private:
  bool isBeforeEnd(Value offset, int64_t extent) const {
    const IndexFacts &facts = analysis.of(offset);
    return (facts.low >= 0 || facts.isNonNegative) &&
           (facts.high & -layout::lowestBit(facts.commonDivisor())) <= tile::kEndlessAxis - extent;
  }

  Value scalar(int64_t number) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(number));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(builder, loc, x, y); }
  Value multiply(Value x, Value y) { return arith::MulIOp::create(builder, loc, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(builder, loc, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(builder, loc, predicate, x, y);
  }
  Value wide(Value index) {
    Type type = tile::withElementType(index.getType(), builder.getI64Type());
    return arith::ExtSIOp::create(builder, loc, type, index);
  }
  Value splatLike(Value number, Value like) {
    Type type = tile::withElementType(like.getType(), number.getType());
    return tile::SplatOp::create(builder, loc, type, number);
  }
  /// A row of values as a tile of the block's rank that varies along `dim` alone.
  Value expand(Value row, size_t dim) {
    auto type = cast<RankedTensorType>(row.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (axis == dim)
        continue;
      shape.insert(shape.begin() + ptrdiff_t(axis), 1);
      row = tile::ExpandDimsOp::create(builder, loc, type.clone(shape), row, int32_t(axis));
    }
    return row;
  }
  Value indicesAlong(size_t dim) {
    auto type = RankedTensorType::get({extents[dim]}, builder.getI32Type());
    return expand(tile::ArangeOp::create(builder, loc, type, 0, int32_t(extents[dim])), dim);
  }
  Value broadcast(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape)
      return value;
    return tile::BroadcastOp::create(builder, loc, type.clone(shape), value);
  }
  /// `total` op `value` in their common shape; `value` itself where there is no total yet.
  void combine(Value &total, Value value, function_ref<Value(Value, Value)> op) {
    if (!total) {
      total = value;
      return;
    }
    SmallVector<int64_t> shape(tile::shapeOf(total.getType()));
    for (auto [extent, other] : llvm::zip(shape, tile::shapeOf(value.getType())))
      extent = std::max(extent, other);
    total = op(broadcast(total, shape), broadcast(value, shape));
  }
  /// min(max(number, 0), kBeyondBlocks) in 32 bits.
  Value bound(Value number) {
    number = arith::MaxSIOp::create(builder, loc, number, scalar(0));
    number = arith::MinSIOp::create(builder, loc, number, scalar(kBeyondBlocks));
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), number);
  }
  /// Whether 0 <= offset and offset + count <= extent, whatever runs.
  bool isAlwaysWithin(Value offset, int64_t count, Value extent) const {
    const IndexFacts &begin = analysis.of(offset), &end = analysis.of(extent);
    return begin.low >= 0 && end.low >= count && begin.high <= end.low - count;
  }
  /// The number in 32 bits, where that is known to hold it; null elsewhere.
  Value narrow(Value number) {
    const IndexFacts &facts = analysis.of(number);
    if (facts.low < std::numeric_limits<int32_t>::min() ||
        facts.high > std::numeric_limits<int32_t>::max())
      return {};
    auto wider = number.getDefiningOp<arith::ExtSIOp>();
    if (wider && wider.getIn().getType().isInteger(32))
      return wider.getIn();
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), number);
  }
  /// How many elements there are from `offset` on, which is not negative. In 32 bits: what is more
  /// than they hold is cut, and where there is none, the number is 0 or negative.
  Value leftFrom(Value offset, Value extent) {
    Value begin = narrow(offset), end = begin ? narrow(extent) : Value();
    if (!end)
      return bound(arith::SubIOp::create(builder, loc, extent, offset));
    // A negative extent, less an offset, might be no number of 32 bits.
    if (analysis.of(extent).low < 0)
      end = arith::MaxSIOp::create(
          builder, loc, end, arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0)));
    return arith::SubIOp::create(builder, loc, end, begin);
  }
  /// 0 <= offset < extent, for all of the block; null where that is always so.
  Value isWithin(Value offset, Value extent) {
    if (isAlwaysWithin(offset, 1, extent))
      return {};
    Value inside = compare(arith::CmpIPredicate::slt, offset, extent);
    if (analysis.of(offset).low < 0)
      inside = both(compare(arith::CmpIPredicate::sge, offset, scalar(0)), inside);
    SmallVector<int64_t> ones(extents.size(), 1);
    return tile::SplatOp::create(builder, loc, RankedTensorType::get(ones, inside.getType()),
                                 inside);
  }
  /// 0 <= offset + index < extent, for the indices [0, count) of the block; null where that is
  /// always so.
  Value isWithin(Value index, int64_t count, Value offset, Value extent) {
    if (isAlwaysWithin(offset, count, extent))
      return {};
    if (analysis.of(offset).low >= 0)
      return compare(arith::CmpIPredicate::slt, index, splatLike(leftFrom(offset, extent), index));
    Value end = bound(arith::SubIOp::create(builder, loc, extent, offset));
    Value below = compare(arith::CmpIPredicate::slt, index, splatLike(end, index));
    Value begin = bound(arith::SubIOp::create(builder, loc, scalar(0), offset));
    Value above = compare(arith::CmpIPredicate::sge, index, splatLike(begin, index));
    return both(above, below);
  }
  Places finish(Value base, Value start, Value within, Value mask) {
    Value first = tile::PtrAddOp::create(builder, loc, base, start);
    within = broadcast(within, extents);
    Value pointers = tile::PtrAddOp::create(builder, loc, splatLike(first, within), within);
    return {pointers, mask ? broadcast(mask, extents) : Value()};
  }

  ArrayRef<int64_t> extents;
  /// Of the function as it was, which still holds the scalars that it had then.
  const IndexAnalysis &analysis;
};

void expand(tile::BlockLoadOp op, const IndexAnalysis &analysis, bool keepsBlocks) {
  Expansion expansion(op, op.getType(), analysis);
  Places places = expansion.placesOf(op);
  Value other;
  if (places.mask && op.getPadding() == tile::Padding::NaN)
    other = expansion.nan(op.getType());
  auto load = tile::LoadOp::create(expansion.builder, op.getLoc(), op.getType(), places.pointers,
                                   places.mask, other, op.getCache(), op.getEviction(),
                                   op.getCache() == tile::CacheModifier::CV);
  // Outside the array a block has zeros.
  if (keepsBlocks && op.getPadding() == tile::Padding::Zero) {
    expansion.builder.setInsertionPoint(load);
    if (Value block = expansion.blockOf(op))
      load.getBlockMutable().assign(block);
  }
  op.replaceAllUsesWith(load.getResult());
}

void expand(tile::BlockStoreOp op, const IndexAnalysis &analysis, bool keepsBlocks) {
  Expansion expansion(op, op.getValue().getType(), analysis);
  Places places = expansion.placesOf(op);
  auto store = tile::StoreOp::create(expansion.builder, op.getLoc(), places.pointers, op.getValue(),
                                     places.mask, op.getCache(), op.getEviction());
  if (keepsBlocks) {
    expansion.builder.setInsertionPoint(store);
    if (Value block = expansion.blockOf(op))
      store.getBlockMutable().assign(block);
  }
}

void expand(tile::BlockReduceOp op, const IndexAnalysis &analysis, bool /*keepsBlocks*/) {
  Expansion expansion(op, op.getValue().getType(), analysis);
  Places places = expansion.placesOf(op);
  tile::AtomicRmwOp::create(expansion.builder, op.getLoc(), op.getValue().getType(), op.getKind(),
                            tile::MemorySemantic::Relaxed, tile::MemoryScope::Device,
                            places.pointers, op.getValue(), places.mask);
}

void expand(tile::BlockGatherOp op, const IndexAnalysis &analysis, bool /*keepsBlocks*/) {
  Expansion expansion(op, op.getType(), analysis);
  Places places = expansion.rowsOf(op);
  op.replaceAllUsesWith(tile::LoadOp::create(expansion.builder, op.getLoc(), op.getType(),
                                             places.pointers, places.mask, Value())
                            .getResult());
}

void expand(tile::BlockScatterOp op, const IndexAnalysis &analysis, bool /*keepsBlocks*/) {
  Expansion expansion(op, op.getValue().getType(), analysis);
  Places places = expansion.rowsOf(op);
  tile::StoreOp::create(expansion.builder, op.getLoc(), places.pointers, op.getValue(),
                        places.mask);
}

struct ExpandBlocks : PassWrapper<ExpandBlocks, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBlocks)

  ExpandBlocks() = default;
  explicit ExpandBlocks(bool keeps) { keepsBlocks = keeps; }
  ExpandBlocks(const ExpandBlocks &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "expand-blocks"; }
  StringRef getDescription() const override { return "blocks of arrays become pointers and masks"; }

  void runOnOperation() override {
    SmallVector<Operation *> blocks;
    getOperation().walk([&](Operation *op) {
      if (isa<tile::BlockLoadOp, tile::BlockStoreOp, tile::BlockReduceOp, tile::BlockGatherOp,
              tile::BlockScatterOp>(op))
        blocks.push_back(op);
    });
    if (blocks.empty())
      return;
    const IndexAnalysis analysis(getOperation());
    for (Operation *op : blocks) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<tile::BlockLoadOp, tile::BlockStoreOp, tile::BlockReduceOp, tile::BlockGatherOp,
                tile::BlockScatterOp>([&](auto block) { expand(block, analysis, keepsBlocks); });
      op->erase();
    }
  }

  Option<bool> keepsBlocks{
      *this, "keep-blocks",
      llvm::cl::desc("loads and stores say which block they access, for a copy "
                     "engine"),
      llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> createExpandBlocks(bool keepsBlocks) {
  return std::make_unique<ExpandBlocks>(keepsBlocks);
}

} // namespace sectile::optimizer
