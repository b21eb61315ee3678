// The rest of the elementary functions, by the names CUDA's device library has for them.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/LibdeviceTable.h"
#include "lang/builtins/SingleFunctions.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt1 = DType::scalar(ScalarKind::Int1);
const DType kInt32 = DType::scalar(ScalarKind::Int32);
const DType kInt64 = DType::scalar(ScalarKind::Int64);

/// Operations on values of one type, at the current place.
struct Emitter {
  explicit Emitter(Arguments &args)
      : sema(args.sema), b(args.sema.builder), at(args.sema.location()) {}

  template <class Op>
  Value apply(const Value &x) {
    return {Op::create(b, at, x.ir), x.type};
  }
  template <class Op>
  Value apply(const Value &x, const Value &y) {
    return {Op::create(b, at, x.ir, y.ir), x.type};
  }
  Value literal(double number, const Value &like) {
    return sema.splatConstant(Constant{number}, like.type);
  }
  Value choose(const Value &condition, const Value &x, const Value &y) {
    return {arith::SelectOp::create(b, at, condition.ir, x.ir, y.ir), x.type};
  }

  Semantics &sema;
  OpBuilder &b;
  Location at;
};

FailureOr<Operand> toOperand(FailureOr<Value> value) {
  if (failed(value))
    return failure();
  return Operand(*value);
}

using UnaryFunction = std::function<FailureOr<Value>(Emitter &, const Value &)>;
using BinaryFunction = std::function<FailureOr<Value>(Emitter &, const Value &, const Value &)>;

void addFloat(BuiltinTable &table, StringRef name, UnaryFunction function) {
  table.add((name + "(x)").str(), [function](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> x = wideFloat(args, 0);
    if (failed(x))
      return failure();
    Emitter emit(args);
    return toOperand(function(emit, *x));
  });
}

/// Two floats, promoted and broadcast. What has no function of its own is promoted first, as in
/// Triton: of fp32 and bf16, or an integer, that of fp32 is computed.
FailureOr<std::pair<Value, Value>> floatPair(Arguments &args) {
  FailureOr<Value> x = args.value(0), y = args.value(1);
  if (failed(x) || failed(y))
    return failure();
  auto isWide = [](const Value &value) {
    return value.type.dtype.isFloat() && value.type.dtype.bits() >= 32;
  };
  // If neither is wide, or one is no number, the message is about that argument.
  for (size_t i : {0, 1})
    if (const Value &other = i ? *x : *y, &mine = i ? *y : *x;
        !isWide(mine) && (!isWide(other) || mine.type.dtype.isPointer))
      if (failed(wideFloat(args, i)))
        return failure();
  return args.sema.unify(*x, *y, args.operation);
}

void addFloatPair(BuiltinTable &table, StringRef signature, BinaryFunction function) {
  table.add(signature, [function](Arguments &args) -> FailureOr<Operand> {
    auto both = floatPair(args);
    if (failed(both))
      return failure();
    Emitter emit(args);
    return toOperand(function(emit, both->first, both->second));
  });
}

void addInteger(BuiltinTable &table, StringRef name, UnaryFunction function) {
  table.add((name + "(x)").str(), [function](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> x = args.value(0);
    if (failed(x))
      return failure();
    if (!x->type.dtype.isInt())
      return args.error("integers expected, found " + args.sema.nameOf(x->type));
    Emitter emit(args);
    return toOperand(function(emit, *x));
  });
}

template <class Op>
void addFloatOp(BuiltinTable &table, StringRef name) {
  addFloat(table, name,
           [](Emitter &emit, const Value &x) -> FailureOr<Value> { return emit.apply<Op>(x); });
}

template <class Op>
void addFloatPairOp(BuiltinTable &table, StringRef signature) {
  addFloatPair(table, signature,
               [](Emitter &emit, const Value &x, const Value &y) -> FailureOr<Value> {
                 return emit.apply<Op>(x, y);
               });
}

/// isnan, isinf, isfinite: truth values.
template <class Op>
void addClassification(BuiltinTable &table, StringRef name) {
  addFloat(table, name, [](Emitter &emit, const Value &x) -> FailureOr<Value> {
    return Value{Op::create(emit.b, emit.at, x.ir), x.type.withDType(kInt1)};
  });
}

/// Rounded to int64.
template <class Op>
void addRounding(BuiltinTable &table, StringRef name) {
  addFloat(table, name, [](Emitter &emit, const Value &x) -> FailureOr<Value> {
    return emit.sema.cast(emit.apply<Op>(x), kInt64);
  });
}

template <class Op>
FailureOr<Value> countBits(Emitter &emit, const Value &x) {
  return emit.sema.cast(emit.apply<Op>(x), kInt32);
}

/// 1 + position of the lowest set bit, 0 for 0.
FailureOr<Value> findFirstSet(Emitter &emit, const Value &x) {
  FailureOr<Value> zeros = countBits<math::CountTrailingZerosOp>(emit, x);
  if (failed(zeros))
    return failure();
  Value one = emit.sema.splatConstant(Constant::integer(1), zeros->type);
  Value position = emit.apply<arith::AddIOp>(*zeros, one);
  FailureOr<Value> isSet = emit.sema.isNonZero(x);
  if (failed(isSet))
    return failure();
  Value nothing = emit.sema.zero(position.type);
  return emit.choose(*isSet, position, nothing);
}

/// What is left of x when whole periods of sin(pi x) are taken off: in [-1, 1], exactly.
Term withinPeriod(Term x) {
  return fma(roundEven(x * 0.5), literal(-2.0, x), x);
}

/// sin(pi x), |x| <= 1/2. Relative accuracy holds near zero: the angle is rounded once.
Term sineOfHalfTurns(Term x) {
  if (!x.isDouble())
    return single::sineOfHalfTurns(x);
  return sin(fma(x, literal(0x1.921fb54442d18p1, x), x * 0x1.1a62633145c07p-53));
}

/// Reflected at 1/2, which is exact, so that zeros of the result are zeros of the angle. Whole
/// numbers give a zero of their sign.
Term sinPi(Term x) {
  Term rest = withinPeriod(abs(x));
  Term nearest = select(abs(rest) > 0.5, copySign(literal(1.0, x), rest) - rest, rest);
  const int64_t signBit = x.isDouble() ? INT64_MIN : INT32_MIN;
  return reinterpret(bitsOf(sineOfHalfTurns(nearest)) ^ (bitsOf(x) & signBit), x.dtype());
}

/// sin(pi (1/2 - |x|)), whose argument is exact where the result is small.
Term cosPi(Term x) {
  return sineOfHalfTurns(0.5 - abs(withinPeriod(x)));
}

/// max(x - y, 0), NaN where either is.
FailureOr<Value> positiveDifference(Emitter &emit, const Value &x, const Value &y) {
  Value isBelow = emit.sema.compare(BinaryOperator::LessEqual, x, y);
  Value difference = emit.apply<arith::SubFOp>(x, y);
  Value zero = emit.literal(0.0, x);
  return emit.choose(isBelow, zero, difference);
}

/// The angle of (x, y). Where both are zeros the signs decide, as if x were 1 or -1; MLIR would
/// fold the operation on two constant zeros to NaN.
FailureOr<Value> angleOf(Emitter &emit, const Value &y, const Value &x) {
  Value zero = emit.literal(0.0, x);
  Value noWidth = emit.sema.compare(BinaryOperator::Equal, x, zero);
  Value noHeight = emit.sema.compare(BinaryOperator::Equal, y, zero);
  Value isOrigin{arith::AndIOp::create(emit.b, emit.at, noWidth.ir, noHeight.ir), noWidth.type};
  Value one = emit.literal(1.0, x);
  Value unit = emit.apply<math::CopySignOp>(one, x);
  FailureOr<Value> width = emit.choose(isOrigin, unit, x);
  if (failed(width))
    return failure();
  return emit.apply<math::Atan2Op>(y, *width);
}

FailureOr<Value> signBit(Emitter &emit, const Value &x) {
  DType bits = x.type.dtype.bits() == 64 ? kInt64 : kInt32;
  FailureOr<Value> integer = emit.sema.cast(x, bits, /*bitcast=*/true);
  if (failed(integer))
    return failure();
  Value zero = emit.sema.zero(integer->type);
  return emit.sema.compare(BinaryOperator::Less, *integer, zero);
}

/// Lengths times a power of two that keeps their squares away from overflow and underflow, and the
/// sum of the squares with the errors of its roundings.
struct ScaledSquares {
  Term scale, unscale; // powers of two, and their product is 1
  TermPair sum;
  Term isAnyInfinite;
};

ScaledSquares sumOfSquares(ArrayRef<Term> lengths) {
  Term greatest = abs(lengths[0]), isAnyInfinite = isInfinite(lengths[0]);
  for (Term length : lengths.drop_front()) {
    greatest = maximum(greatest, abs(length));
    isAnyInfinite = isAnyInfinite | isInfinite(length);
  }
  bool isDouble = greatest.isDouble();
  double low = isDouble ? 0x1p-400 : 0x1p-40, high = isDouble ? 0x1p500 : 0x1p50;
  const double up = isDouble ? 0x1p600 : 0x1p100, down = isDouble ? 0x1p-600 : 0x1p-80;
  Term isLow = greatest<low, isHigh = greatest> high, one = literal(1.0, greatest);
  Term scale = select(isLow, up, select(isHigh, down, one));
  Term unscale = select(isLow, 1 / up, select(isHigh, 1 / down, one));
  std::optional<TermPair> sum;
  for (Term length : lengths) {
    Term scaled = roundedProduct(length, scale);
    TermPair square = twoProduct(scaled, scaled);
    if (!sum) {
      sum = square;
      continue;
    }
    TermPair high = twoSum(sum->high, square.high);
    sum = TermPair{high.high, high.low + (sum->low + square.low)};
  }
  return {scale, unscale, *sum, isAnyInfinite};
}

/// 1 / cbrt(x), one step of Newton's behind the quotient.
Term reciprocalCubeRoot(Term x) {
  Term guess = nearInverse(cbrt(x));
  TermPair first = twoProduct(x, guess), square = twoProduct(guess, guess);
  Term rest = fma(-first.high, square.high, literal(1.0, x));
  rest = rest - (first.high * square.low + first.low * square.high);
  Term result = fma(guess * (1.0 / 3), rest, guess);
  return select(isFinite(guess) & (guess != 0.0), result, guess);
}

/// Returns 1, 2 or 3 where the exponent is that number, else 0.
int smallExponent(const Operand &exponent) {
  const Constant *known = exponent.constant();
  if (!known)
    return 0;
  for (int power : {1, 2, 3}) {
    const Int *whole = known->as<Int>();
    const double *number = known->as<double>();
    if ((whole && *whole == power) || (number && *number == power))
      return power;
  }
  return 0;
}

/// x ** y of two floats, or of a float and an integer: one of 64 bits counts as a float. Powers up
/// to the third are products, which round no worse than the function: once, or twice. An integer
/// that fp32 may not hold takes the way through fp64: there, odd and even are told apart.
FailureOr<Operand> power(Arguments &args) {
  Semantics &sema = args.sema;
  if (int power = smallExponent(args[1])) {
    FailureOr<Value> x = wideFloat(args, 0);
    if (failed(x))
      return failure();
    Emitter emit(args);
    Value result = *x;
    for (int factor = 1; factor < power; ++factor)
      result = emit.apply<arith::MulFOp>(result, *x);
    return Operand(result);
  }
  FailureOr<Value> exponent = args.value(1);
  if (failed(exponent))
    return failure();
  if (!exponent->type.dtype.isInt() || exponent->type.dtype.bits() > 32) {
    auto both = floatPair(args);
    if (failed(both))
      return failure();
    Emitter emit(args);
    return Operand(emit.apply<math::PowFOp>(both->first, both->second));
  }
  FailureOr<Value> base = wideFloat(args, 0);
  if (failed(base))
    return failure();
  DType wide = DType::scalar(ScalarKind::Float64), from = base->type.dtype;
  bool isExact =
      exponent->type.dtype.bits() <= 16 ||
      (args[1].constant() && fitsDType(*args[1].constant(), DType::scalar(ScalarKind::Int16)));
  DType computed = isExact ? from : wide;
  FailureOr<Value> x = sema.cast(*base, computed), y = sema.cast(*exponent, computed);
  if (failed(x) || failed(y))
    return failure();
  auto both = sema.broadcast(*x, *y, args.operation);
  if (failed(both))
    return failure();
  Emitter emit(args);
  return toOperand(sema.cast(emit.apply<math::PowFOp>(both->first, both->second), from));
}

FailureOr<Operand> multiplyHigh(Arguments &args) {
  Semantics &sema = args.sema;
  auto both = sema.unify(args[0], args[1], args.operation);
  if (failed(both))
    return failure();
  auto [x, y] = *both;
  if (!x.type.dtype.isInt() || x.type.dtype.bits() < 32)
    return args.error("32- or 64-bit integers expected, found " + args.sema.nameOf(x.type));
  if (x.type.dtype.isSignedInt())
    return Operand(
        Value{arith::MulSIExtendedOp::create(sema.builder, sema.location(), x.ir, y.ir).getHigh(),
              x.type});
  return Operand(Value{
      arith::MulUIExtendedOp::create(sema.builder, sema.location(), x.ir, y.ir).getHigh(), x.type});
}

} // namespace

/// One step of Newton's behind the rounded root, from the sum with all its digits.
Term euclideanNorm(ArrayRef<Term> lengths) {
  auto [scale, unscale, sum, isAnyInfinite] = sumOfSquares(lengths);
  Term root = nearRoot(sum.high);
  Term rest = fma(-root, root, sum.high) + sum.low;
  Term corrected = root + nearQuotient(rest, root + root);
  Term length = select(sum.high == 0.0, 0.0, corrected);
  Term result = roundedProduct(length, unscale);
  return select(isAnyInfinite, INFINITY, result);
}

Term reciprocalNorm(ArrayRef<Term> lengths) {
  auto [scale, unscale, sum, isAnyInfinite] = sumOfSquares(lengths);
  Term guess = nearQuotient(literal(1.0, scale), nearRoot(sum.high));
  TermPair square = twoProduct(guess, guess);
  Term rest = fma(-sum.high, square.high, literal(1.0, guess));
  rest = rest - (sum.high * square.low + sum.low * square.high);
  Term corrected = fma(guess * 0.5, rest, guess);
  Term result = select(sum.high == 0.0, INFINITY, corrected * scale);
  return select(isAnyInfinite, 0.0, result);
}

void addLibdeviceOps(BuiltinTable &table) {
  addLibdeviceBits(table);
  addLibdeviceRounding(table);
  addSpecialFunctions(table);
  addBesselFunctions(table);
  addFloatOp<math::AcosOp>(table, "acos");
  addFloatOp<math::AcoshOp>(table, "acosh");
  addFloatOp<math::AsinOp>(table, "asin");
  addFloatOp<math::AsinhOp>(table, "asinh");
  addFloatOp<math::AtanOp>(table, "atan");
  addFloatOp<math::AtanhOp>(table, "atanh");
  addFloatOp<math::CbrtOp>(table, "cbrt");
  addFloatOp<math::CoshOp>(table, "cosh");
  addFloatOp<math::ErfcOp>(table, "erfc");
  addFloatOp<math::ExpM1Op>(table, "expm1");
  addFloatOp<math::Log10Op>(table, "log10");
  addFloatOp<math::Log1pOp>(table, "log1p");
  addFloatOp<math::RoundEvenOp>(table, "nearbyint");
  addFloatOp<math::RoundEvenOp>(table, "rint");
  addFloatOp<math::RoundOp>(table, "round");
  addFloatOp<math::SinhOp>(table, "sinh");
  addFloatOp<math::TanOp>(table, "tan");
  addFloatOp<math::TruncOp>(table, "trunc");
  addOfFloats(table, "cospi(x)", [](ArrayRef<Term> t) { return cosPi(t[0]); });
  addOfFloats(table, "sinpi(x)", [](ArrayRef<Term> t) { return sinPi(t[0]); });
  addFloat(table, "signbit", signBit);
  addForEachWidth(
      table, "exp10(x)", [](ArrayRef<Term> t) { return single::exp10(t[0]); },
      [](ArrayRef<Term> t) { return pow(literal(10.0, t[0]), t[0]); });
  addOfFloats(table, "rcbrt(x)", [](ArrayRef<Term> t) { return reciprocalCubeRoot(t[0]); });
  addRounding<math::RoundEvenOp>(table, "llrint");
  addRounding<math::RoundOp>(table, "llround");
  addClassification<math::IsNaNOp>(table, "isnan");
  addClassification<math::IsInfOp>(table, "isinf");
  addClassification<math::IsFiniteOp>(table, "isfinite");

  addFloatPair(table, "atan2(y, x)", angleOf);
  addFloatPairOp<math::CopySignOp>(table, "copysign(x, y)");
  table.add("pow(x, y)", power);
  addFloatPairOp<arith::RemFOp>(table, "fmod(x, y)");
  addFloatPair(table, "fdim(x, y)", positiveDifference);
  addForEachWidth(
      table, "hypot(x, y)", [](ArrayRef<Term> t) { return single::hypot(t[0], t[1]); },
      euclideanNorm);
  for (StringRef parameters : {"norm3d(x, y, z)", "norm4d(x, y, z, w)"})
    addOfFloats(table, parameters, euclideanNorm);
  for (StringRef parameters : {"rhypot(x, y)", "rnorm3d(x, y, z)", "rnorm4d(x, y, z, w)"})
    addOfFloats(table, parameters, reciprocalNorm);

  addInteger(table, "clz", countBits<math::CountLeadingZerosOp>);
  addInteger(table, "popc", countBits<math::CtPopOp>);
  addInteger(table, "ffs", findFirstSet);
  table.add("mulhi(x, y)", multiplyHigh);
}

} // namespace sectile::lang
