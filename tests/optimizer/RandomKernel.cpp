#include "RandomKernel.h"

#include "lang/tile/TileDialect.h"

#include <random>

using namespace mlir;
using namespace sectile;
using namespace sectile::tile;

namespace sectile::testing {

namespace {

class KernelMaker {
public:
  KernelMaker(MLIRContext &context, unsigned seed)
      : random(seed), builder(&context), loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> make() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToStart(module->getBody());
    Type pointer = PtrType::get(builder.getF32Type()), half = PtrType::get(builder.getF16Type());
    auto type =
        builder.getFunctionType({pointer, half, builder.getI32Type(), builder.getI32Type()}, {});
    auto function = func::FuncOp::create(builder, loc, "kernel", type);
    for (unsigned index = 0; index < 4; ++index)
      if (index < 2 || chance(50))
        function.setArgAttr(index, kDivisibilityAttr, builder.getI64IntegerAttr(16));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    pointers = {body->getArgument(0), body->getArgument(1)};
    numbers = {body->getArgument(2), body->getArgument(3)};
    for (int count = pick(1, 3); count > 0; --count)
      tiles.push_back(load(randomShape()));
    makeOps(pick(4, 16));
    for (int count = pick(1, 3); count > 0; --count)
      store(anyTile());
    func::ReturnOp::create(builder, loc);
    return module;
  }

private:
  //-- Chance --------------------------------------------------------------------------------------
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  Value anyTile() { return tiles[pick(0, tiles.size() - 1)]; }

  SmallVector<int64_t> randomShape() {
    SmallVector<int64_t> shape;
    int64_t room = 8192;
    for (int rank = pick(1, 3); rank > 0; --rank) {
      static const int64_t extents[] = {1,   2, 4, 8,  16, 32, 64, 128,
                                        256, 3, 7, 12, 24, 48, 96, 100};
      int64_t extent = extents[chance(75) ? pick(0, 8) : pick(9, 15)];
      shape.push_back(std::min(extent, room));
      room = std::max<int64_t>(1, room / shape.back());
    }
    return shape;
  }

  //-- Memory --------------------------------------------------------------------------------------
  RankedTensorType tileType(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  Value splat(Value scalar, ArrayRef<int64_t> shape) {
    return SplatOp::create(builder, loc, tileType(shape, scalar.getType()), scalar);
  }

  /// Positions along one axis, in the whole shape.
  Value positions(ArrayRef<int64_t> shape, size_t axis) {
    Value range = ArangeOp::create(builder, loc, tileType({shape[axis]}, builder.getI32Type()), 0,
                                   int32_t(shape[axis]));
    SmallVector<int64_t> expanded = {shape[axis]};
    for (size_t index = 0; index < shape.size(); ++index)
      if (index != axis) {
        expanded.insert(expanded.begin() + index, 1);
        range = ExpandDimsOp::create(builder, loc, tileType(expanded, builder.getI32Type()), range,
                                     int32_t(index));
      }
    if (ArrayRef(expanded) == shape)
      return range;
    return BroadcastOp::create(builder, loc, tileType(shape, builder.getI32Type()), range);
  }

  /// A tile of pointers: contiguous along a random axis, by constant or unknown strides.
  std::pair<Value, Value> address(ArrayRef<int64_t> shape, Value base) {
    size_t fast = chance(70) ? shape.size() - 1 : size_t(pick(0, shape.size() - 1));
    Value offset;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Value along = positions(shape, axis);
      if (axis != fast) {
        Value stride = chance(50) ? numbers[0]
                                  : Value(arith::ConstantOp::create(
                                        builder, loc, builder.getI32IntegerAttr(shape[fast] * 16)));
        along = arith::MulIOp::create(builder, loc, along, splat(stride, shape));
      }
      offset = offset ? Value(arith::AddIOp::create(builder, loc, offset, along)) : along;
    }
    Value start = splat(base, shape);
    Value pointer = PtrAddOp::create(builder, loc, start.getType(), start, offset);
    Value mask;
    if (chance(40))
      mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                   positions(shape, pick(0, shape.size() - 1)),
                                   splat(numbers[1], shape));
    return {pointer, mask};
  }

  Value load(ArrayRef<int64_t> shape) {
    auto [pointer, mask] = address(shape, pointers[chance(40)]);
    Value loaded = LoadOp::create(builder, loc, pointeeOf(pointer.getType()), pointer, mask,
                                  Value(), CacheModifier::None, EvictionPolicy::Normal, false);
    return toF32(loaded);
  }

  Value toF32(Value value) {
    Type wide = withElementType(value.getType(), builder.getF32Type());
    return wide == value.getType() ? value
                                   : Value(arith::ExtFOp::create(builder, loc, wide, value));
  }

  void store(Value value) {
    bool isHalf = chance(30);
    auto [pointer, mask] = address(shapeOf(value.getType()), pointers[isHalf]);
    if (isHalf)
      value = arith::TruncFOp::create(
          builder, loc, withElementType(value.getType(), builder.getF16Type()), value);
    StoreOp::create(builder, loc, pointer, value, mask);
  }

  //-- Operations ----------------------------------------------------------------------------------
  void makeOps(int count) {
    for (; count > 0; --count)
      if (Value made = makeOp();
          made && cast<RankedTensorType>(made.getType()).getNumElements() <= 16384)
        tiles.push_back(made);
  }

  Value makeOp() {
    Value source = anyTile();
    auto type = cast<RankedTensorType>(source.getType());
    int rank = type.getRank(), axis = pick(0, rank - 1);
    SmallVector<int64_t> shape(type.getShape());
    Type element = type.getElementType();
    switch (pick(0, 15)) {
    case 0:
      return load(shape);
    case 1:
    case 2:
      return binary(source, sameShape(source));
    case 3: {
      SmallVector<int32_t> order(llvm::seq<int32_t>(0, rank).begin(),
                                 llvm::seq<int32_t>(0, rank).end());
      std::shuffle(order.begin(), order.end(), random);
      SmallVector<int64_t> permuted;
      for (int32_t index : order)
        permuted.push_back(shape[index]);
      return TransposeOp::create(builder, loc, tileType(permuted, element), source, order);
    }
    case 4:
    case 5:
      return reduce(source, axis);
    case 6: {
      if (rank >= 3)
        return {};
      int place = pick(0, rank);
      shape.insert(shape.begin() + place, 1);
      return ExpandDimsOp::create(builder, loc, tileType(shape, element), source, place);
    }
    case 7: {
      if (shape[axis] != 1)
        return {};
      shape[axis] = pick(1, 4) * 8;
      return BroadcastOp::create(builder, loc, tileType(shape, element), source);
    }
    case 8:
      return ReshapeOp::create(builder, loc, tileType(reshaped(type.getNumElements()), element),
                               source);
    case 9: {
      shape.push_back(2);
      return rank >= 3 ? Value()
                       : JoinOp::create(builder, loc, tileType(shape, element), source,
                                        sameShape(source));
    }
    case 10: {
      if (rank < 2 || shape.back() != 2)
        return {};
      auto half = tileType(ArrayRef(shape).drop_back(), element);
      auto split = SplitOp::create(builder, loc, half, half, source);
      return binary(split.getLhs(), split.getRhs());
    }
    case 11:
      return scan(source, axis);
    case 12:
      return FlipOp::create(builder, loc, type, source, axis);
    case 13: {
      if (chance(50)) {
        shape[axis] *= 2;
        return CatOp::create(builder, loc, tileType(shape, element), source, sameShape(source),
                             axis);
      }
      Value index = positions(shape, axis);
      return GatherOp::create(builder, loc, type, source, index, axis);
    }
    case 14:
      return dot(pick(1, 8) * 8, pick(1, 8) * 8, pick(1, 4) * 16);
    default:
      return chance(60) ? loop(source) : branch(source);
    }
  }

  Value sameShape(Value like) {
    for (int tries = 0; tries < 4; ++tries)
      if (Value other = anyTile(); other.getType() == like.getType())
        return other;
    return chance(50) ? load(shapeOf(like.getType())) : like;
  }

  Value binary(Value lhs, Value rhs) {
    if (chance(50))
      return arith::AddFOp::create(builder, loc, lhs, rhs);
    return arith::MulFOp::create(builder, loc, lhs, rhs);
  }

  SmallVector<int64_t> reshaped(int64_t count) {
    SmallVector<int64_t> shape;
    for (int rank = pick(1, 3); rank > 1; --rank) {
      int64_t factor = 1;
      for (int64_t divisor : {2, 2, 2, 3, 2, 2, 5})
        if (count % divisor == 0 && chance(50)) {
          factor *= divisor;
          count /= divisor;
        }
      shape.push_back(factor);
    }
    shape.insert(shape.begin() + pick(0, shape.size()), count);
    return shape;
  }

  void fillCombiner(Region &region) {
    OpBuilder::InsertionGuard guard(builder);
    Type f32 = builder.getF32Type();
    Block *block = builder.createBlock(&region, {}, {f32, f32}, {loc, loc});
    Value sum = arith::AddFOp::create(builder, loc, block->getArgument(0), block->getArgument(1));
    YieldOp::create(builder, loc, sum);
  }

  Value reduce(Value source, int axis) {
    SmallVector<int64_t> shape(shapeOf(source.getType()));
    shape.erase(shape.begin() + axis);
    Type result = tileOf(shape, builder.getF32Type());
    auto op = ReduceOp::create(builder, loc, TypeRange{result}, ValueRange{source}, axis);
    fillCombiner(op.getCombiner());
    Value reduced = op.getResult(0);
    // The usual company of a reduction: what it was made of, less it.
    if (shape.empty())
      return arith::SubFOp::create(builder, loc, source, splat(reduced, shapeOf(source.getType())));
    if (chance(50))
      return reduced;
    shape.insert(shape.begin() + axis, 1);
    reduced =
        ExpandDimsOp::create(builder, loc, tileType(shape, builder.getF32Type()), reduced, axis);
    if (reduced.getType() != source.getType())
      reduced = BroadcastOp::create(builder, loc, source.getType(), reduced);
    return arith::SubFOp::create(builder, loc, source, reduced);
  }

  Value scan(Value source, int axis) {
    auto op = ScanOp::create(builder, loc, TypeRange{source.getType()}, ValueRange{source}, axis,
                             chance(50));
    fillCombiner(op.getCombiner());
    return op.getResult(0);
  }

  Value dot(int64_t rows, int64_t columns, int64_t depth) {
    SmallVector<int64_t> left = {rows, depth}, right = {depth, columns}, both = {rows, columns};
    if (chance(30))
      for (auto *shape : {&left, &right, &both})
        shape->insert(shape->begin(), 2);
    Type operand = chance(60) ? Type(builder.getF16Type()) : Type(builder.getF32Type());
    auto narrowed = [&](Value value) -> Value {
      Type type = withElementType(value.getType(), operand);
      return type == value.getType() ? value
                                     : Value(arith::TruncFOp::create(builder, loc, type, value));
    };
    Value lhs = narrowed(load(left)), rhs = narrowed(load(right));
    Value acc = chance(50)
                    ? load(both)
                    : Value(arith::ConstantOp::create(
                          builder, loc,
                          DenseElementsAttr::get(tileType(both, builder.getF32Type()), 0.0f)));
    return DotOp::create(builder, loc, acc.getType(), lhs, rhs, acc, InputPrecision::Tf32, 0,
                         /*instruction=*/{});
  }

  //-- Control flow --------------------------------------------------------------------------------

  /// Builds a body that sees all tiles; what it makes is forgotten.
  template <class Body>
  void inside(Body body) {
    SmallVector<Value> outer(tiles);
    body();
    tiles = outer;
  }

  Value matching(Type type) {
    for (int tries = 0; tries < 8; ++tries)
      if (Value value = tiles[tiles.size() - 1 - pick(0, std::min<int>(tiles.size() - 1, 4))];
          value.getType() == type)
        return value;
    return load(shapeOf(type));
  }

  Value loop(Value carried) {
    if (depth > 1)
      return {};
    ++depth;
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
    Value second = anyTile();
    auto op = scf::ForOp::create(builder, loc, zero, numbers[1], one, ValueRange{carried, second});
    inside([&] {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(op.getBody());
      llvm::append_range(tiles, op.getRegionIterArgs());
      makeOps(pick(1, 5));
      Value first = matching(carried.getType()), next = matching(second.getType());
      scf::YieldOp::create(builder, loc, ValueRange{first, next});
    });
    --depth;
    tiles.push_back(op.getResult(1));
    return op.getResult(0);
  }

  Value branch(Value carried) {
    if (depth > 1)
      return {};
    ++depth;
    Value condition =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, numbers[0], numbers[1]);
    auto op = scf::IfOp::create(builder, loc, TypeRange{carried.getType()}, condition,
                                /*withElse=*/true);
    for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
      inside([&] {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(&region->front());
        makeOps(pick(1, 3));
        Value result = matching(carried.getType());
        scf::YieldOp::create(builder, loc, result);
      });
    --depth;
    return op.getResult(0);
  }

  std::mt19937 random;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> pointers, numbers, tiles;
  int depth = 0;
};

} // namespace

OwningOpRef<ModuleOp> randomKernel(MLIRContext &context, unsigned seed) {
  return KernelMaker(context, seed).make();
}

} // namespace sectile::testing
