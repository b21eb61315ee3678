#include "lang/semantics/CountedLoop.h"

#include "lang/semantics/ScalarInterval.h"
#include "lang/tile/TileDialect.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sectile::lang {
namespace {

constexpr DType kInt32 = DType::scalar(ScalarKind::Int32);
constexpr DType kInt64 = DType::scalar(ScalarKind::Int64);

/// Start, end or step: a literal, which becomes a value in the type that the loop turns out to
/// have, or a value already.
struct Number {
  std::optional<Int> literal;
  Value value;
  DType dtype;
  Interval interval;
};

/// The integer type of so many bits.
DType integerOf(unsigned bits, bool isSigned) {
  switch (bits) {
  case 8:
    return DType::scalar(isSigned ? ScalarKind::Int8 : ScalarKind::UInt8);
  case 16:
    return DType::scalar(isSigned ? ScalarKind::Int16 : ScalarKind::UInt16);
  case 32:
    return DType::scalar(isSigned ? ScalarKind::Int32 : ScalarKind::UInt32);
  default:
    return DType::scalar(isSigned ? ScalarKind::Int64 : ScalarKind::UInt64);
  }
}

FailureOr<Number> readNumber(Semantics &sema, const Operand &operand) {
  Number number;
  const Constant *literal = operand.constant();
  if (literal && (literal->is<Int>() || literal->is<bool>())) {
    // A literal's own type is the one that it promotes to with itself.
    FailureOr<DType> dtype = sema.promote(operand, operand, "range", /*isDivision=*/false);
    if (failed(dtype))
      return failure();
    number.literal = literal->is<bool>() ? Int(*literal->as<bool>()) : *literal->as<Int>();
    number.dtype = *dtype;
    number.interval = {*number.literal, *number.literal};
    return number;
  }
  FailureOr<Value> value = sema.toValue(operand, "range");
  if (failed(value))
    return failure();
  if (!value->type.isScalar() || !value->type.dtype.isIntOrBool()) {
    std::string remedy = sema.pointerRemedy(operand);
    if (remedy.empty())
      remedy = value->type.isScalar() ? "cast with " + sema.words.cast(kInt32)
                                      : "reduce the tile to a scalar";
    return sema.error("range: bounds and step must be integers, not " + sema.nameOf(value->type),
                      remedy);
  }
  number.value = *value;
  number.dtype = value->type.dtype;
  number.interval = intervalOf(*value);
  if (auto known = sema.asConstant(operand)) {
    Int exactly = known->is<bool>() ? Int(*known->as<bool>()) : *known->as<Int>();
    number.interval = {exactly, exactly};
  }
  return number;
}

} // namespace

/// Makes the values that a loop needs, at the builder's place.
class CountedLoop::Maker {
public:
  Maker(Semantics &sema, Number start, Number end, Number step)
      : sema(sema), start(start), end(end), step(step) {}

  FailureOr<CountedLoop> make() {
    if (step.interval == Interval{0, 0})
      return sema.error("range: step is zero");
    if (failed(chooseTypes()))
      return failure();
    Interval counted = Interval::of(counter);
    bool isUpward = step.interval.low >= 0;
    bool isConstant = step.interval.low == step.interval.high;
    LogicalResult made = isUpward && step.interval.high <= counted.high ? countUp()
                         : !isUpward && isConstant && -step.interval.low <= counted.high
                             ? mirror()
                             : countDistance();
    if (failed(made))
      return failure();
    return loop;
  }

private:
  /// The types of the index and of the counter.
  LogicalResult chooseTypes() {
    auto meet = [&](DType x, DType y) {
      return sema.promote(Operand(Value{{}, Type{x, {}}}), Operand(Value{{}, Type{y, {}}}), "range",
                          /*isDivision=*/false);
    };
    FailureOr<DType> dtype = meet(start.dtype, end.dtype);
    if (succeeded(dtype))
      dtype = meet(*dtype, step.dtype);
    if (failed(dtype))
      return failure();
    loop.indexType = dtype->isBool() ? kInt32 : *dtype;
    unsigned bits = loop.indexType.bits();
    bool isSigned = loop.indexType.isSignedInt();
    for (DType candidate : {loop.indexType, integerOf(bits, !isSigned),
                            integerOf(std::min(64u, 2 * bits), /*isSigned=*/true)}) {
      Interval held = Interval::of(candidate);
      if (held.contains(start.interval) && held.contains(end.interval)) {
        counter = candidate;
        return success();
      }
    }
    return sema.error("range: the start is " + sema.nameOf(start.dtype) + " and the end " +
                          sema.nameOf(end.dtype) + ", and no type holds the numbers of both",
                      "cast one of them with " + sema.words.cast(kInt64));
  }

  FailureOr<mlir::Value> asCounter(const Number &number) {
    if (number.literal)
      return constant(*number.literal);
    FailureOr<Value> cast = sema.cast(number.value, counter);
    if (failed(cast))
      return failure();
    return cast->ir;
  }

  mlir::Value constant(Int number) {
    unsigned bits = counter.bits();
    auto wide = static_cast<unsigned __int128>(number);
    uint64_t words[] = {uint64_t(wide), uint64_t(wide >> 64)};
    auto attribute = IntegerAttr::get(sema.irType(counter), APInt(128, words).trunc(bits));
    return arith::ConstantOp::create(sema.builder, sema.location(), attribute);
  }
  template <class Op, class... Operands>
  mlir::Value emit(Operands... operands) {
    return Op::create(sema.builder, sema.location(), operands...).getResult();
  }
  mlir::Value select(mlir::Value condition, mlir::Value then, mlir::Value otherwise) {
    return emit<arith::SelectOp>(condition, then, otherwise);
  }
  bool mayBeZero() const { return step.interval.contains(Interval{0, 0}); }
  /// Whether the step is not 0, which is asserted: there is no range of step 0. In a function of
  /// elements such a loop makes no turn.
  mlir::Value assertNonZero(mlir::Value bits) {
    mlir::Value isFine = emit<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, constant(0));
    if (!tile::isForElements(sema.builder.getInsertionBlock()))
      tile::AssertOp::create(sema.builder, sema.location(), isFine, "range: step is zero");
    return isFine;
  }

  LogicalResult countUp() {
    FailureOr<mlir::Value> lower = asCounter(start), upper = failure(), by = failure();
    if (succeeded(lower))
      upper = asCounter(end);
    if (succeeded(upper))
      by = asCounter(step);
    if (failed(by))
      return failure();
    loop.lower = *lower, loop.upper = *upper, loop.step = *by;
    loop.isUnsigned = counter.isUnsignedInt();
    if (mayBeZero())
      loop.upper = select(assertNonZero(loop.step), loop.upper, loop.lower);
    return success();
  }

  LogicalResult mirror() {
    FailureOr<mlir::Value> lower = asCounter(end), upper = failure();
    if (succeeded(lower))
      upper = asCounter(start);
    if (failed(upper))
      return failure();
    loop.lower = *lower, loop.upper = *upper, loop.step = constant(-step.interval.low);
    loop.isUnsigned = counter.isUnsignedInt();
    loop.mapping = Mapping::Mirrored;
    loop.start = loop.upper, loop.end = loop.lower;
    return success();
  }

  LogicalResult countDistance() {
    FailureOr<mlir::Value> from = asCounter(start), to = failure(), by = failure();
    if (succeeded(from))
      to = asCounter(end);
    // A step may be no number of the counter, but its bits and their negative are a distance.
    if (succeeded(to))
      by = asCounter(step);
    if (failed(by))
      return failure();
    mlir::Value zero = constant(0), low = *from, high = *to, magnitude = *by;
    loop.start = *from, loop.end = *to;
    if (step.interval.low >= 0) {
      loop.mapping = Mapping::Upward;
    } else if (step.interval.high <= 0) {
      loop.mapping = Mapping::Downward;
      std::swap(low, high);
      magnitude = emit<arith::SubIOp>(zero, *by);
    } else {
      loop.mapping = Mapping::Either;
      mlir::Value isUp = emit<arith::CmpIOp>(arith::CmpIPredicate::sgt, *by, zero);
      mlir::Value up = constant(1), down = constant(-1);
      loop.direction = select(isUp, up, down);
      low = select(isUp, *from, *to);
      high = select(isUp, *to, *from);
      magnitude = emit<arith::MulIOp>(*by, loop.direction);
    }
    mlir::Value runs = emit<arith::CmpIOp>(
        counter.isUnsignedInt() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, low, high);
    if (mayBeZero())
      runs = emit<arith::AndIOp>(runs, assertNonZero(*by));
    mlir::Value distance = emit<arith::SubIOp>(high, low);
    loop.lower = zero;
    loop.upper = select(runs, distance, zero);
    loop.step = magnitude;
    loop.isUnsigned = true;
    return success();
  }

  Semantics &sema;
  Number start, end, step;
  DType counter;
  CountedLoop loop;
};

FailureOr<CountedLoop> CountedLoop::make(Semantics &sema, const Operand &start, const Operand &end,
                                         const Operand &step) {
  FailureOr<Number> first = readNumber(sema, start);
  if (failed(first))
    return failure();
  FailureOr<Number> last = readNumber(sema, end);
  if (failed(last))
    return failure();
  FailureOr<Number> by = readNumber(sema, step);
  if (failed(by))
    return failure();
  return Maker(sema, *first, *last, *by).make();
}

scf::ForOp CountedLoop::open(Semantics &sema, ArrayRef<mlir::Value> initial) {
  loop = scf::ForOp::create(sema.builder, sema.location(), lower, upper, step, initial,
                            /*bodyBuilder=*/nullptr, isUnsigned);
  Block *body = loop.getBody();
  if (initial.empty()) // an implicit yield
    body->getTerminator()->erase();
  sema.builder.setInsertionPointToEnd(body);
  return loop;
}

scf::ForOp CountedLoop::close(Semantics &sema, ArrayRef<mlir::Value> next,
                              ArrayRef<mlir::Value> furtherInitial,
                              ArrayRef<mlir::Value> furtherNext) {
  SmallVector<mlir::Value> yielded(next);
  llvm::append_range(yielded, furtherNext);
  scf::YieldOp::create(sema.builder, sema.location(), yielded);
  if (furtherInitial.empty())
    return loop;
  OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPoint(loop);
  SmallVector<mlir::Value> initial(loop.getInitArgs());
  llvm::append_range(initial, furtherInitial);
  auto wider = scf::ForOp::create(sema.builder, loop.getLoc(), lower, upper, step, initial,
                                  /*bodyBuilder=*/nullptr, isUnsigned);
  wider->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  wider.getRegion().takeBody(loop.getRegion());
  for (mlir::Value value : furtherInitial)
    wider.getBody()->addArgument(value.getType(), loop.getLoc());
  loop.erase();
  return loop = wider;
}

scf::WhileOp CountedLoop::endEarly(Semantics &sema, mlir::Value leaves, ArrayRef<mlir::Value> next,
                                   ArrayRef<mlir::Value> furtherInitial,
                                   ArrayRef<mlir::Value> furtherNext) {
  OpBuilder &builder = sema.builder;
  Location place = loop.getLoc();
  mlir::Value turn = loop.getInductionVar();
  // The index is less than the end, so that the distance is a number without sign.
  mlir::Value distance = arith::SubIOp::create(builder, place, upper, turn);
  mlir::Value follows =
      arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ugt, distance, step);
  mlir::Value yes = arith::ConstantOp::create(builder, place, builder.getBoolAttr(true));
  mlir::Value stays = arith::XOrIOp::create(builder, place, leaves, yes);
  SmallVector<mlir::Value> yielded{arith::AndIOp::create(builder, place, follows, stays),
                                   arith::AddIOp::create(builder, place, turn, step)};
  llvm::append_range(yielded, next);
  llvm::append_range(yielded, furtherNext);
  scf::YieldOp::create(builder, place, yielded);

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  SmallVector<mlir::Value> initial{isEntered(sema), lower};
  llvm::append_range(initial, loop.getInitArgs());
  llvm::append_range(initial, furtherInitial);
  SmallVector<mlir::Type> types;
  for (mlir::Value value : initial)
    types.push_back(value.getType());
  SmallVector<Location> places(types.size(), place);
  auto early =
      scf::WhileOp::create(builder, place, ArrayRef(types).drop_front(), ValueRange(initial));
  early->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  early.getAfter().takeBody(loop.getRegion());
  for (mlir::Value value : furtherInitial)
    early.getAfterBody()->addArgument(value.getType(), place);
  Block *before = builder.createBlock(&early.getBefore(), {}, types, places);
  scf::ConditionOp::create(builder, place, before->getArgument(0),
                           before->getArguments().drop_front());
  loop.erase();
  loop = {};
  return early;
}

mlir::Value CountedLoop::isEntered(Semantics &sema) const {
  auto predicate = isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(sema.builder, sema.location(), predicate, lower, upper);
}

bool CountedLoop::isSurelyEntered() const {
  APInt low, high;
  return matchPattern(lower, m_ConstantInt(&low)) && matchPattern(upper, m_ConstantInt(&high)) &&
         (isUnsigned ? low.ult(high) : low.slt(high));
}

Value CountedLoop::index(Semantics &sema) const {
  scf::ForOp made = loop;
  mlir::Value turn = made.getInductionVar();
  Location place = sema.location();
  auto add = [&](mlir::Value x, mlir::Value y) -> mlir::Value {
    return arith::AddIOp::create(sema.builder, place, x, y);
  };
  auto subtract = [&](mlir::Value x, mlir::Value y) -> mlir::Value {
    return arith::SubIOp::create(sema.builder, place, x, y);
  };
  switch (mapping) {
  case Mapping::Itself:
    break;
  case Mapping::Mirrored:
    turn = add(subtract(start, turn), end);
    break;
  case Mapping::Upward:
    turn = add(start, turn);
    break;
  case Mapping::Downward:
    turn = subtract(start, turn);
    break;
  case Mapping::Either:
    turn = add(start, arith::MulIOp::create(sema.builder, place, turn, direction));
    break;
  }
  mlir::Type wanted = sema.irType(indexType);
  if (turn.getType() != wanted)
    turn = arith::TruncIOp::create(sema.builder, place, wanted, turn);
  return {turn, Type{indexType, {}}};
}

} // namespace sectile::lang
