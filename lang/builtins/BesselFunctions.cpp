// Bessel functions of integer order. Left of 8 polynomials with the zeros that are there taken out,
// so that relative errors stay small next to them; from 8 on Hankel's expansion (DLMF 10.17), whose
// absolute error is small. Other orders come from these by the recurrence
//
//   f(k + 1) = 2 k / x f(k) - f(k - 1)
//
// upward where that is stable (Y, and J of orders below x), else downward from an order where J
// vanishes, as Miller did (DLMF 3.6, 10.74). The turns of these loops are as many as the element of
// the tile that takes most of them needs, about its order. They are of f64, and round to f32; order
// 0 and 1 of f32 are in SingleBesselFunctions.cpp.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/LibdeviceTable.h"
#include "lang/builtins/SingleFunctions.h"
#include "lang/builtins/SpecialCoefficients.h"
#include "lang/semantics/CountedLoop.h"

using namespace mlir;

namespace sectile::lang {

using namespace coefficients;

namespace {

const double kTwoOverPi = 0x1.45f306dc9c883p-1;
const double kOneOverPi = 0x1.45f306dc9c883p-2;

/// x - z.
Term distance(Term x, SplitNumber z) {
  return (x - z.high) - z.low;
}
/// x^2 - z^2.
Term squareDistance(Term x, SplitNumber z) {
  return distance(x, z) * (x + z.high);
}
/// log(x / z), accurate near z.
Term logOfRatio(Term x, SplitNumber z) {
  Term apart = distance(x, z);
  return select(abs(apart) < 0.25 * z.high, log1p(apart / z.high), log(x) - std::log(z.high));
}

/// J of order 0 or 1, 0 <= x < 8.
Term nearJ(int order, Term x, Precision precision) {
  Term square = x * x;
  if (!order) {
    Term left = select(x < 1.5, 1.0 + square * evaluate(kBesselJ0Origin, square, precision),
                       squareDistance(x, kZeroOfJ0_1) * evaluate(kBesselJ0Near, square, precision));
    return select(x < 4, left, distance(x, kZeroOfJ0_2) * evaluate(kBesselJ0Far, x, precision));
  }
  return select(x < 5.25,
                x * (squareDistance(x, kZeroOfJ1_1) * evaluate(kBesselJ1Near, square, precision)),
                distance(x, kZeroOfJ1_2) * evaluate(kBesselJ1Far, x, precision));
}

/// Y of order 0 or 1, 0 < x < 8. The logarithm is of x over the first zero, where both parts of the
/// sum are zero then: Hart, Computer Approximations, 1968, 6.8.
Term nearY(int order, Term x, Precision precision) {
  auto times = [&](SplitNumber zero, const Polynomial &polynomial) {
    return distance(x, zero) * evaluate(polynomial, x, precision);
  };
  SplitNumber zero = order ? kZeroOfY1_1 : kZeroOfY0_1;
  Term logarithmic = logOfRatio(x, zero) * kTwoOverPi * nearJ(order, x, precision);
  Term square = squareDistance(x, zero);
  if (!order) {
    Term sum = logarithmic + square * evaluate(kBesselY0Near, x * x, precision);
    return select(
        x < 2.5, sum,
        select(x < 5.5, times(kZeroOfY0_2, kBesselY0Middle), times(kZeroOfY0_3, kBesselY0Far)));
  }
  Term sum = logarithmic + square * evaluate(kBesselY1Near, x * x, precision) / x;
  return select(x < 4, sum, times(kZeroOfY1_2, kBesselY1Far));
}

enum class Kind { J, Y };

/// x >= 8: sqrt(2 / (pi x)) (P cos(t) - Q sin(t)) and (P sin(t) + Q cos(t)) with t = x - pi/4, or
/// x - 3 pi/4, whose sine and cosine are sums of those of x over sqrt(2).
Term farAway(Kind kind, int order, Term x, Precision precision) {
  Term w = 64.0 / (x * x);
  Term p = evaluate(order ? kHankelP1 : kHankelP0, w, precision);
  Term q = evaluate(order ? kHankelQ1 : kHankelQ0, w, precision) / x;
  Term sine = sin(x), cosine = cos(x);
  Term sum = cosine + sine, difference = sine - cosine;
  // Of t, times sqrt(2).
  Term cosineOfPhase = order ? difference : sum, sineOfPhase = order ? -sum : difference;
  Term wave =
      kind == Kind::J ? p * cosineOfPhase - q * sineOfPhase : p * sineOfPhase + q * cosineOfPhase;
  Term result = sqrt(kOneOverPi / x) * wave;
  return select(isInfinite(x), 0.0, result);
}

Term besselJ(int order, Term x, Precision precision) {
  Term v = abs(x);
  Term result = select(v < 8.0, nearJ(order, v, precision), farAway(Kind::J, order, v, precision));
  return order ? select(x < 0.0, -result, select(x == 0.0, x, result)) : result;
}

Term besselY(int order, Term x, Precision precision) {
  Term result = select(x < 8.0, nearY(order, x, precision), farAway(Kind::Y, order, x, precision));
  result = select(x == 0.0, -INFINITY, result);
  return select(x < 0.0, NAN, result);
}

//===-- any order -----------------------------------------------------------------------------===//

const DType kInt32 = DType::scalar(ScalarKind::Int32);
const DType kInt64 = DType::scalar(ScalarKind::Int64);
const DType kFloat64 = DType::scalar(ScalarKind::Float64);

using Step = llvm::function_ref<SmallVector<Term>(Term turn, ArrayRef<Term> state)>;

/// A loop over all elements at once: `turns` (a term of int64 for each element) of the element that
/// has most. The turns count from 1.
FailureOr<SmallVector<Value>> repeat(Semantics &sema, const Value &turns, ArrayRef<Value> initial,
                                     Step step) {
  Operand most = turns;
  if (!turns.type.isScalar()) {
    FailureOr<Operand> greatest = callBuiltin(sema, "max", {Operand(turns)}, {});
    if (failed(greatest))
      return failure();
    most = *greatest;
  }
  FailureOr<Value> end = sema.arithmetic(BinaryOperator::Add, most, Constant::integer(1));
  if (failed(end))
    return failure();
  auto range = CountedLoop::make(sema, Constant::integer(1), *end, Constant::integer(1));
  if (failed(range))
    return failure();
  SmallVector<mlir::Value> carried;
  for (const Value &value : initial)
    carried.push_back(value.ir);
  OpBuilder::InsertionGuard guard(sema.builder);
  scf::ForOp loop = range->open(sema, carried);
  FailureOr<Value> index = sema.cast(range->index(sema), kFloat64);
  if (succeeded(index))
    index = sema.broadcastTo(*index, initial[0].type.shape);
  if (failed(index))
    return failure();
  Formula formula(sema, initial[0].type.shape);
  SmallVector<Term> state;
  for (auto [value, argument] : llvm::zip(initial, loop.getRegionIterArgs()))
    state.push_back(formula.input({argument, value.type}));
  SmallVector<mlir::Value> next;
  for (Term term : step(formula.input(*index), state))
    next.push_back(formula.build(term).ir);
  scf::YieldOp::create(sema.builder, sema.location(), next);
  SmallVector<Value> results;
  for (auto [value, result] : llvm::zip(initial, loop.getResults()))
    results.push_back({result, value.type});
  return results;
}

/// Whether J of an order above x is below the least number, and Y above the largest one: both are
/// about (2 order / (e x))^order, or one over it. (DLMF 10.19.)
Term isBeyondRange(Term order, Term x) {
  const double log2e = 0x1.71547652b82fep0;
  Term ratio = (2.0 / std::exp(1.0)) * order / x;
  return (order > x) & (order * log(ratio) * log2e > 1100.0);
}

FailureOr<Value> orderedY(Semantics &sema, const Value &orders, const Value &x,
                          Precision precision) {
  Formula formula(sema, x.type.shape);
  Term n = formula.input(orders), v = formula.input(x);
  Term first = besselY(0, v, precision), second = besselY(1, v, precision);
  Term isInRange = (v > 0.0) & isFinite(v) & isFinite(second) & !isBeyondRange(n, v);
  Value turns = formula.build(convert(select(isInRange, n - 1.0, 0.0), kInt64));
  Value initial[] = {formula.build(first), formula.build(second)};
  auto values = repeat(sema, turns, initial, [&](Term k, ArrayRef<Term> state) {
    Formula &inner = *k.formula;
    Term next = (2.0 * k) / inner.input(x) * state[1] - state[0];
    // Infinity stays, and so does what is done.
    Term goes = (k < inner.input(orders)) & isFinite(state[1]);
    return SmallVector<Term>{select(goes, state[1], state[0]), select(goes, next, state[1])};
  });
  if (failed(values))
    return failure();
  Formula after(sema, x.type.shape);
  n = after.input(orders);
  v = after.input(x);
  Term result = select(n == 0.0, after.input(initial[0]), after.input((*values)[1]));
  result = select(isBeyondRange(n, v) & (v > 0.0) & (n > 1.0), -INFINITY, result);
  result = select(isInfinite(v) & (v > 0.0), 0.0, result);
  return after.build(select(n < 0.0, NAN, result));
}

FailureOr<Value> orderedJ(Semantics &sema, const Value &orders, const Value &x,
                          Precision precision) {
  Formula formula(sema, x.type.shape);
  Term n = formula.input(orders), v = abs(formula.input(x));
  Value size = formula.build(v);
  // Below this one term of the series is enough.
  const double tiny = 0x1p-28;
  Term isUpward = (v > n) & isFinite(v);
  Term isDownward = (v <= n) & (v >= tiny) & (n > 1.0) & !isBeyondRange(n, v);
  Value first = formula.build(besselJ(0, v, precision)),
        second = formula.build(besselJ(1, v, precision));
  Value upward = formula.build(convert(select(isUpward, n - 1.0, 0.0), kInt64));
  // Where J is below 2^-60 of J(n), the order being v or more. As in Press et al., Numerical
  // Recipes, 6.5.
  Value start = formula.build(select(isDownward, floor(n + sqrt(n * 160.0)) + 2.0, 0.0));
  Value downward = formula.build(convert(formula.input(start), kInt64));

  auto up = repeat(sema, upward, {first, second}, [&](Term k, ArrayRef<Term> state) {
    Formula &inner = *k.formula;
    Term next = (2.0 * k) / inner.input(size) * state[1] - state[0];
    Term goes = k < inner.input(orders);
    return SmallVector<Term>{select(goes, state[1], state[0]), select(goes, next, state[1])};
  });
  if (failed(up))
    return failure();

  Formula zeros(sema, x.type.shape);
  Value none = zeros.build(zeros.number(0, kFloat64)), one = zeros.build(zeros.number(1, kFloat64));
  // J(k + 1), J(k) and J(n) over a common factor, which changes when they grow.
  auto down = repeat(sema, downward, {none, one, none}, [&](Term turn, ArrayRef<Term> state) {
    Formula &inner = *turn.formula;
    Term k = inner.input(start) - turn + 1.0; // of state[1]
    Term wanted = select(k == inner.input(orders), state[1], state[2]);
    Term next = (2.0 * k) / inner.input(size) * state[1] - state[0];
    Term factor = select(abs(next) > 0x1p400, 0x1p-400, literal(1.0, next));
    Term goes = k > 0.0;
    return SmallVector<Term>{select(goes, state[1] * factor, state[0]),
                             select(goes, next * factor, state[1]),
                             select(goes, wanted * factor, state[2])};
  });
  if (failed(down))
    return failure();

  Formula after(sema, x.type.shape);
  n = after.input(orders);
  v = after.input(size);
  Term j0 = after.input(first), j1 = after.input(second);
  // After the last turn: J(1), J(0) and J(n).
  Term scaled1 = after.input((*down)[0]), scaled0 = after.input((*down)[1]);
  Term factor = select(abs(j0) > abs(j1), j0 / scaled0, j1 / scaled1);
  Term large = select(v > n, after.input((*up)[1]), after.input((*down)[2]) * factor);
  // (v / 2)^n / n!
  Term small = pow(v * 0.5, n) / gammaFunction(n + 1.0, precision);
  Term result = select(v < tiny, small, select(isBeyondRange(n, v), 0.0, large));
  result = select(n == 0.0, j0, select(n == 1.0, j1, result));
  result = select(isInfinite(v), 0.0, result);
  Term isOdd = fmod(n, literal(2.0, n)) != 0.0;
  result = select(isOdd & (after.input(x) < 0.0), -result, result);
  result = select(isNan(v), v, result);
  return after.build(select(n < 0.0, NAN, result));
}

FailureOr<Operand> ofOrder(Arguments &args, Kind kind) {
  Semantics &sema = args.sema;
  FailureOr<Value> n = args.value(0);
  if (failed(n))
    return failure();
  DType dtype = n->type.dtype;
  if (!dtype.isIntOrBool() || dtype.bits() > 32 || (dtype.isUnsignedInt() && dtype.bits() == 32))
    return args.error("`n`: " + sema.nameOf(kInt32) + " expected, found " + sema.nameOf(n->type),
                      "cast it with " + sema.words.cast(kInt32));
  FailureOr<Value> x = wideFloat(args, 1);
  if (failed(x))
    return failure();
  DType result = x->type.dtype;
  FailureOr<Value> orders = sema.cast(*n, kFloat64), wide = sema.cast(*x, kFloat64);
  if (failed(orders) || failed(wide))
    return failure();
  auto both = sema.broadcast(*orders, *wide, args.operation);
  if (failed(both))
    return failure();
  Precision precision = result == kFloat64 ? Precision::Double : Precision::Single;
  FailureOr<Value> value = kind == Kind::J ? orderedJ(sema, both->first, both->second, precision)
                                           : orderedY(sema, both->first, both->second, precision);
  if (failed(value))
    return failure();
  value = sema.cast(*value, result);
  if (failed(value))
    return failure();
  return Operand(*value);
}

} // namespace

void addBesselFunctions(BuiltinTable &table) {
  struct {
    const char *signature;
    Term (*ofSingle)(int, Term);
    Term (*ofDouble)(int, Term, Precision);
    int order;
  } const functions[] = {{"j0(x)", single::besselJ, besselJ, 0},
                         {"j1(x)", single::besselJ, besselJ, 1},
                         {"y0(x)", single::besselY, besselY, 0},
                         {"y1(x)", single::besselY, besselY, 1}};
  for (const auto &function : functions)
    addForEachWidth(
        table, function.signature,
        [function](ArrayRef<Term> t) { return function.ofSingle(function.order, t[0]); },
        [function](ArrayRef<Term> t) {
          return function.ofDouble(function.order, t[0], Precision::Double);
        });
  table.add("jn(n, x)", [](Arguments &args) { return ofOrder(args, Kind::J); });
  table.add("yn(n, x)", [](Arguments &args) { return ofOrder(args, Kind::Y); });
}

} // namespace sectile::lang
