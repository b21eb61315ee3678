// sort, topk, bitonic_merge and histogram. Elements are sorted by integer keys: bits of floats in
// the order of the numbers, NaN last. So one operation of the IR sorts every type, and what comes
// out is a permutation of what went in to the last bit, on every device.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt8 = DType::scalar(ScalarKind::Int8);
const DType kInt32 = DType::scalar(ScalarKind::Int32);

/// Integers of one width whose signed order is the order of a type's numbers, and the way back.
class SortKeys {
public:
  SortKeys(Semantics &sema, DType dtype, bool isDescending)
      : sema(sema), b(sema.builder), at(sema.location()), dtype(dtype), isDescending(isDescending) {
  }

  FailureOr<Value> keysOf(const Value &numbers) {
    FailureOr<Value> keys = ascendingKeys(numbers);
    return succeeded(keys) && isDescending ? inverted(*keys) : keys;
  }
  FailureOr<Value> numbersOf(const Value &keys) {
    return ascendingNumbers(isDescending ? inverted(keys) : keys);
  }

private:
  bool hasUnsignedZero() const {
    return dtype.kind == ScalarKind::Float8E4B8 || dtype.kind == ScalarKind::Float8E5B16;
  }
  FailureOr<Value> ascendingKeys(const Value &numbers) {
    if (dtype.isBool())
      return sema.cast(numbers, kInt8);
    if (!dtype.isFloat())
      return dtype.isSignedInt() ? numbers : withSignTurned(numbers);
    FailureOr<Value> bits = sema.cast(numbers, signedOf(dtype.bits()), /*bitcast=*/true);
    if (failed(bits))
      return failure();
    if (hasUnsignedZero()) { // NaN is what would be -0; there is no room for it behind the numbers
      Value isNan = compare(arith::CmpIPredicate::eq, *bits, INT8_MIN);
      FailureOr<Value> wide = sema.cast(mirrored(*bits), signedOf(16));
      if (failed(wide))
        return failure();
      return select(isNan, literal(*wide, INT16_MAX), *wide);
    }
    // NaN without its sign is greater than infinity.
    int64_t magnitudes = llvm::maxIntN(dtype.bits());
    Value magnitude = apply<arith::AndIOp>(*bits, literal(*bits, magnitudes));
    Value isNan = compare(arith::CmpIPredicate::sgt, magnitude, greatestNumber());
    return mirrored(select(isNan, magnitude, *bits));
  }
  FailureOr<Value> ascendingNumbers(const Value &keys) {
    if (dtype.isBool())
      return sema.cast(keys, dtype);
    if (!dtype.isFloat())
      return dtype.isSignedInt() ? keys : FailureOr<Value>(withSignTurned(keys));
    if (!hasUnsignedZero())
      return sema.cast(mirrored(keys), dtype, /*bitcast=*/true);
    Value isNan = compare(arith::CmpIPredicate::eq, keys, INT16_MAX);
    FailureOr<Value> narrow = sema.cast(keys, signedOf(8));
    if (failed(narrow))
      return failure();
    return sema.cast(select(isNan, literal(*narrow, INT8_MIN), mirrored(*narrow)), dtype,
                     /*bitcast=*/true);
  }

  /// The greatest pattern of a number, infinity included, without a sign.
  int64_t greatestNumber() const {
    switch (dtype.kind) {
    case ScalarKind::Float8E4NV:
      return 0x7e;
    case ScalarKind::Float8E5:
      return 0x7c;
    case ScalarKind::Float16:
      return 0x7c00;
    case ScalarKind::BFloat16:
      return 0x7f80;
    case ScalarKind::Float32:
      return 0x7f800000;
    case ScalarKind::Float64:
      return 0x7ff0000000000000;
    default:
      return llvm::maxIntN(dtype.bits());
    }
  }
  static DType signedOf(unsigned bits) {
    return DType::scalar(bits == 8    ? ScalarKind::Int8
                         : bits == 16 ? ScalarKind::Int16
                         : bits == 32 ? ScalarKind::Int32
                                      : ScalarKind::Int64);
  }
  Value literal(const Value &like, int64_t number) {
    auto type = cast<RankedTensorType>(like.ir.getType());
    auto element = cast<IntegerType>(type.getElementType());
    auto bits = llvm::APInt(element.getWidth(), uint64_t(number), /*isSigned=*/true,
                            /*implicitTrunc=*/true);
    return {arith::ConstantOp::create(b, at, DenseElementsAttr::get(type, bits)), like.type};
  }
  template <class Op>
  Value apply(const Value &lhs, const Value &rhs) {
    return {Op::create(b, at, lhs.ir, rhs.ir), lhs.type};
  }
  Value compare(arith::CmpIPredicate predicate, const Value &lhs, int64_t rhs) {
    return {arith::CmpIOp::create(b, at, predicate, lhs.ir, literal(lhs, rhs).ir), {}};
  }
  Value select(const Value &condition, const Value &whenTrue, const Value &whenFalse) {
    return {arith::SelectOp::create(b, at, condition.ir, whenTrue.ir, whenFalse.ir), whenTrue.type};
  }
  /// Magnitudes of negative numbers inverted: the greater one is the smaller number. Twice is the
  /// identity.
  Value mirrored(const Value &bits) {
    unsigned width = bits.type.dtype.bits();
    Value sign = apply<arith::ShRSIOp>(bits, literal(bits, width - 1));
    Value mask = apply<arith::AndIOp>(sign, literal(bits, llvm::maxIntN(width)));
    return apply<arith::XOrIOp>(bits, mask);
  }
  Value inverted(const Value &keys) { return apply<arith::XOrIOp>(keys, literal(keys, -1)); }
  Value withSignTurned(const Value &numbers) {
    return apply<arith::XOrIOp>(numbers, literal(numbers, llvm::minIntN(dtype.bits())));
  }

  Semantics &sema;
  OpBuilder &b;
  Location at;
  DType dtype;
  bool isDescending;
};

Value sortKeys(Semantics &sema, const Value &keys, int64_t axis, bool isBitonic) {
  bool isPower = llvm::isPowerOf2_64(keys.type.shape[axis]);
  return {tile::SortOp::create(sema.builder, sema.location(), keys.ir.getType(), keys.ir,
                               int32_t(axis), isBitonic && isPower),
          keys.type};
}

/// The tile to sort, the axis (the last where none is given) and the direction.
struct SortRequest {
  Value input;
  int64_t axis;
  bool isDescending;
};

FailureOr<SortRequest> sortRequest(Arguments &args, size_t dim, size_t descending) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  if (input->type.dtype.isPointer)
    return args.error("numbers expected, found " + args.sema.nameOf(input->type),
                      "load through the pointers first");
  size_t rank = input->type.shape.size();
  FailureOr<int64_t> axis = args.isNone(dim) ? FailureOr<int64_t>(rank - 1) : args.axis(dim, rank);
  if (failed(axis))
    return failure();
  FailureOr<bool> isDescending = args.flag(descending);
  if (failed(isDescending))
    return failure();
  return SortRequest{*input, *axis, *isDescending};
}

FailureOr<Operand> sortWhole(Arguments &args, bool isBitonic) {
  FailureOr<SortRequest> request = sortRequest(args, 1, 2);
  if (failed(request))
    return failure();
  SortKeys order(args.sema, request->input.type.dtype, request->isDescending);
  FailureOr<Value> keys = order.keysOf(request->input);
  if (failed(keys))
    return failure();
  FailureOr<Value> sorted = order.numbersOf(sortKeys(args.sema, *keys, request->axis, isBitonic));
  if (failed(sorted))
    return failure();
  return Operand(*sorted);
}

/// The lesser of the two halves along an axis of extent 2, which vanishes.
Value lesserHalf(Semantics &sema, const Value &keys, int64_t axis) {
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  Type type = keys.type;
  type.shape.erase(type.shape.begin() + axis);
  auto op = tile::ReduceOp::create(b, at, sema.irType(type), keys.ir, int32_t(axis));
  OpBuilder::InsertionGuard guard(b);
  mlir::Type element = sema.irType(type.dtype);
  Block *block = b.createBlock(&op.getCombiner(), {}, {element, element}, {at, at});
  mlir::Value least = arith::MinSIOp::create(b, at, block->getArgument(0), block->getArgument(1));
  tile::YieldOp::create(b, at, least);
  return {op.getResult(0), type};
}

/// The `kept` (a power of two) least keys along axis 1 of [outer, n, inner], n a larger power of
/// two, in ascending order. As in A. Shanbhag, H. Pirk, S. Madden: Efficient Top-K Query Processing
/// on Massively Parallel Hardware, SIGMOD 2018: columns of `kept` keys are sorted, one half of the
/// columns the other way round; the lesser of each two, place by place, are the `kept` least of
/// both, and rise and fall once, so that sorting them again is a merge.
FailureOr<Value> leastKeys(Semantics &sema, Value keys, int64_t kept, StringRef operation) {
  OpBuilder &b = sema.builder;
  int64_t outer = keys.type.shape[0], columns = keys.type.shape[1] / kept,
          inner = keys.type.shape[2];
  FailureOr<Value> table = reshape(sema, keys, {outer, kept, columns, inner}, operation);
  if (failed(table))
    return failure();
  for (bool isFirst = true; columns > 1; columns /= 2, isFirst = false) {
    // All ones in the second half of the columns.
    FailureOr<Operand> number =
        callBuiltin(sema, "arange", {Constant::integer(0), Constant::integer(columns)}, {});
    if (failed(number))
      return failure();
    FailureOr<Value> isTurned =
        sema.arithmetic(BinaryOperator::GreaterEqual, *number, Constant::integer(columns / 2));
    if (failed(isTurned))
      return failure();
    auto ones = RankedTensorType::get({columns}, sema.irType(table->type.dtype));
    FailureOr<Value> mask = Value{arith::ExtSIOp::create(b, sema.location(), ones, isTurned->ir),
                                  Type{table->type.dtype, {columns}}};
    mask = reshape(sema, *mask, {1, 1, columns, 1}, operation);
    if (succeeded(mask))
      mask = sema.broadcastTo(*mask, table->type.shape);
    if (failed(mask))
      return failure();
    auto turn = [&](const Value &value) {
      return Value{arith::XOrIOp::create(b, sema.location(), value.ir, mask->ir), value.type};
    };
    Value sorted = turn(sortKeys(sema, turn(*table), 1, /*isBitonic=*/!isFirst));
    table = reshape(sema, sorted, {outer, kept, 2, columns / 2, inner}, operation);
    if (failed(table))
      return failure();
    table = lesserHalf(sema, *table, 2);
  }
  Value sorted = sortKeys(sema, *table, 1, /*isBitonic=*/true);
  return reshape(sema, sorted, {outer, kept, inner}, operation);
}

FailureOr<Operand> topk(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<SortRequest> request = sortRequest(args, 2, 3);
  FailureOr<int64_t> k = args.integer(1);
  if (failed(request) || failed(k))
    return failure();
  int64_t axis = request->axis;
  SmallVector<int64_t, 4> shape = request->input.type.shape;
  int64_t extent = shape[axis];
  if (*k < 1 || *k > extent)
    return args.error("`k` is " + Twine(*k) + ", dimension " + Twine(axis) + " has " +
                          Twine(extent) + " elements",
                      "ask for 1 to " + std::to_string(extent));
  SortKeys order(sema, request->input.type.dtype, request->isDescending);
  FailureOr<Value> keys = order.keysOf(request->input);
  if (failed(keys))
    return failure();
  int64_t kept = llvm::PowerOf2Ceil(uint64_t(*k));
  if (llvm::isPowerOf2_64(extent) && kept < extent) {
    int64_t outer = 1, inner = 1;
    for (auto [dim, size] : llvm::enumerate(shape))
      (int64_t(dim) < axis ? outer : inner) *= int64_t(dim) == axis ? 1 : size;
    keys = reshape(sema, *keys, {outer, extent, inner}, args.operation);
    if (succeeded(keys))
      keys = leastKeys(sema, *keys, kept, args.operation);
    shape[axis] = kept;
    if (succeeded(keys))
      keys = reshape(sema, *keys, shape, args.operation);
  } else {
    keys = sortKeys(sema, *keys, axis, /*isBitonic=*/false);
  }
  if (failed(keys))
    return failure();
  FailureOr<Value> numbers = order.numbersOf(*keys);
  if (failed(numbers))
    return failure();
  return callBuiltin(sema, "tile.slice",
                     {*numbers, Constant::integer(axis), Constant::integer(0),
                      Constant::integer(*k), Constant::integer(1)},
                     {});
}

FailureOr<Operand> histogram(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> input = args.tile(0);
  FailureOr<int64_t> bins = args.integer(1);
  if (failed(input) || failed(bins))
    return failure();
  if (!input->type.dtype.isIntOrBool())
    return args.error("integers expected, found " + sema.nameOf(input->type),
                      "say which bin each element belongs to: " +
                          sema.words.cast(kInt32, "((x - least) / width)"));
  if (*bins < 1)
    return args.error("`num_bins` is " + Twine(*bins), "ask for one bin or more");
  if (failed(sema.checkShape({*bins}, args.operation)))
    return failure();
  if (input->type.dtype.bits() < 32)
    input = sema.cast(*input, kInt32);
  mlir::Value mask;
  if (!args.isNone(2)) {
    FailureOr<Value> given = args.value(2);
    if (failed(given))
      return failure();
    FailureOr<Value> truth = sema.isNonZero(*given);
    if (succeeded(truth))
      truth = sema.broadcastTo(*truth, input->type.shape);
    if (failed(truth))
      return failure();
    mask = truth->ir;
  }
  Type type{kInt32, {*bins}};
  return Operand(Value{
      tile::HistogramOp::create(sema.builder, sema.location(), sema.irType(type), input->ir, mask),
      type});
}

} // namespace

void addSortOps(BuiltinTable &table) {
  table.add(
      "sort(x, dim=None, descending=False)",
      [](Arguments &args) { return sortWhole(args, /*isBitonic=*/false); }, kMethod);
  table.add("bitonic_merge(x, dim=None, descending=False)",
            [](Arguments &args) { return sortWhole(args, /*isBitonic=*/true); });
  table.add("topk(x, k, dim=None, descending=True)", topk);
  table.add("histogram(input, num_bins, mask=None)", histogram, kMethod);
}

} // namespace sectile::lang
