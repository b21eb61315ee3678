// Elementwise operations that promote their operands: where, minimum, clamp, cdiv, cast ...
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kFloat32 = DType::scalar(ScalarKind::Float32);

FailureOr<Operand> toOperand(FailureOr<Value> value) {
  if (failed(value))
    return failure();
  return Operand(*value);
}

/// The first `count` arguments. Minimum and maximum are not defined on bf16 in hardware: they are
/// taken in fp32. Literals are typed first (an int is i32, a float fp32) and so take part in the
/// promotion.
FailureOr<SmallVector<Value>> extremumArguments(Arguments &args, size_t count) {
  auto given = args.values(count);
  if (failed(given))
    return failure();
  for (Value &value : *given) {
    if (value.type.dtype.isPointer || value.type.dtype.kind != ScalarKind::BFloat16)
      continue;
    FailureOr<Value> wide = args.sema.cast(value, kFloat32);
    if (failed(wide))
      return failure();
    value = *wide;
  }
  return given;
}

/// PropagateNan.NONE is 0 or "none", PropagateNan.ALL 0xffff or "all".
FailureOr<bool> propagatesNan(Arguments &args, size_t index) {
  auto *held = args[index].constant();
  if (auto *text = held ? held->as<std::string>() : nullptr) {
    if (*text == "none" || *text == "all")
      return *text == "all";
    return args.error("no such propagate_nan: '" + *text + "'", "known are NONE and ALL");
  }
  return args.flag(index);
}

FailureOr<Operand> extremum(Arguments &args, Extremum which) {
  Semantics &sema = args.sema;
  FailureOr<bool> propagateNan = propagatesNan(args, 2);
  if (failed(propagateNan))
    return failure();
  auto given = extremumArguments(args, 2);
  if (failed(given))
    return failure();
  const Value &x = (*given)[0], &y = (*given)[1];
  if (x.type.dtype.isPointer || y.type.dtype.isPointer)
    return args.error("not defined for pointers: x is " + args.sema.nameOf(x.type) + ", y is " +
                      args.sema.nameOf(y.type));
  auto both = sema.unify(x, y, args.operation);
  if (failed(both))
    return failure();
  return Operand(buildExtremum(sema, which, both->first, both->second, *propagateNan));
}

FailureOr<Operand> clamp(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<bool> propagateNan = propagatesNan(args, 3);
  if (failed(propagateNan))
    return failure();
  auto given = extremumArguments(args, 3);
  if (failed(given))
    return failure();
  const Value &x = (*given)[0], &low = (*given)[1], &high = (*given)[2];
  auto bounds = sema.unify(low, high, args.operation);
  if (failed(bounds))
    return failure();
  auto lower = sema.unify(x, bounds->first, args.operation);
  if (failed(lower))
    return failure();
  auto upper = sema.unify(lower->first, bounds->second, args.operation);
  if (failed(upper))
    return failure();
  if (!upper->first.type.dtype.isFloat())
    return args.error("floating-point numbers expected, found " + args.sema.nameOf(x.type),
                      "for integers use " + sema.words.operation("minimum") + "(" +
                          sema.words.operation("maximum") + "(x, low), high)");
  auto floor = sema.broadcast(lower->second, upper->first, args.operation);
  if (failed(floor))
    return failure();
  Value raised = buildExtremum(sema, Extremum::Maximum, upper->first, floor->first, *propagateNan);
  return Operand(buildExtremum(sema, Extremum::Minimum, raised, upper->second, *propagateNan));
}

template <BinaryOperator op>
FailureOr<Operand> operatorCall(Arguments &args) {
  return args.sema.binary(op, args[0], args[1]);
}

/// add, sub, mul: the operators, and without the check of overflow when asked.
template <BinaryOperator op>
FailureOr<Operand> sanitizedCall(Arguments &args) {
  FailureOr<bool> isSanitized = args.flag(2);
  if (failed(isSanitized))
    return failure();
  return *isSanitized ? args.sema.binary(op, args[0], args[1])
                      : toOperand(args.sema.arithmetic(op, args[0], args[1]));
}

/// Python's floor division of constants; none on division by zero.
std::optional<Int> floorDivide(Int lhs, Int rhs) {
  if (rhs == 0)
    return std::nullopt;
  Int quotient = lhs / rhs;
  return lhs % rhs != 0 && (lhs < 0) != (rhs < 0) ? quotient - 1 : quotient;
}

FailureOr<Operand> cdiv(Arguments &args) {
  Semantics &sema = args.sema;
  auto *x = args[0].constant(), *div = args[1].constant();
  if (x && div) {
    if (!x->is<Int>() || !div->is<Int>())
      return args.error("integers expected, found " + x->kindName() + " and " + div->kindName());
    auto result = floorDivide(*x->as<Int>() + (*div->as<Int>() - 1), *div->as<Int>());
    if (!result)
      return args.error("division by zero");
    return Operand(Constant::integer(*result));
  }
  Operand less;
  if (div && div->is<Int>()) {
    less = Constant::integer(*div->as<Int>() - 1);
  } else {
    FailureOr<Value> below =
        sema.arithmetic(BinaryOperator::Subtract, args[1], Constant::integer(1));
    if (failed(below))
      return failure();
    less = *below;
  }
  FailureOr<Value> raised = sema.arithmetic(BinaryOperator::Add, args[0], less);
  if (failed(raised))
    return failure();
  return sema.binary(BinaryOperator::FloorDivide, *raised, args[1]);
}

/// The quotient of floats, in the dtype that they promote to. `isRounded`: correctly.
FailureOr<Operand> floatDivide(Arguments &args, const Value &x, const Value &y, bool isRounded) {
  Semantics &sema = args.sema;
  auto both = sema.unify(x, y, args.operation, /*isDivision=*/true);
  if (failed(both))
    return failure();
  if (!isRounded)
    return sema.binary(BinaryOperator::Divide, both->first, both->second);
  if (both->first.type.dtype.isFp8())
    return args.error("not defined for " + args.sema.nameOf(both->first.type),
                      "cast with " + sema.words.cast(DType::scalar(ScalarKind::Float32)));
  return Operand(
      Value{arith::DivFOp::create(sema.builder, sema.location(), both->first.ir, both->second.ir),
            both->first.type});
}

LogicalResult notFloats(Arguments &args, const Value &x, const Value &y) {
  return args.error("floating-point numbers expected, found " + args.sema.nameOf(x.type) + " and " +
                        args.sema.nameOf(y.type),
                    "cast the integer side, for example with " +
                        args.sema.words.cast(DType::scalar(ScalarKind::Float32)));
}

/// Operands of one dtype give that dtype, as in Triton.
FailureOr<Operand> fdiv(Arguments &args) {
  auto given = args.values(2);
  if (failed(given))
    return failure();
  FailureOr<bool> isRounded = args.flag(2);
  if (failed(isRounded))
    return failure();
  const Value &x = (*given)[0], &y = (*given)[1];
  if (!x.type.dtype.isFloat() || !y.type.dtype.isFloat())
    return notFloats(args, x, y);
  FailureOr<Operand> quotient = floatDivide(args, x, y, *isRounded);
  if (failed(quotient) || x.type.dtype != y.type.dtype)
    return quotient;
  FailureOr<Value> own = args.sema.cast(*quotient->value(), x.type.dtype);
  return failed(own) ? FailureOr<Operand>(failure()) : Operand(*own);
}

/// One side may be an integer.
FailureOr<Operand> divideRounded(Arguments &args) {
  auto given = args.values(2);
  if (failed(given))
    return failure();
  const Value &x = (*given)[0], &y = (*given)[1];
  if (!x.type.dtype.isFloat() && !y.type.dtype.isFloat())
    return notFloats(args, x, y);
  return floatDivide(args, x, y, /*isRounded=*/true);
}

FailureOr<Operand> castTo(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  FailureOr<DType> dtype = args.dtype(1);
  if (failed(dtype))
    return failure();
  FailureOr<std::string> rounding = args.text(2);
  if (failed(rounding))
    return failure();
  FailureOr<bool> bitcast = args.flag(3);
  if (failed(bitcast))
    return failure();
  if (!rounding->empty() && *rounding != "rtne" && *rounding != "rtz")
    return args.error("no rounding mode '" + *rounding + "'",
                      "known are rtne (to nearest even) and rtz (towards zero)");
  DType from = input->type.dtype;
  bool isNarrowing = from.isFloat() && dtype->isFloat() && dtype->bits() < from.bits();
  if (!rounding->empty() && !isNarrowing && from != *dtype)
    return args.error("fp_downcast_rounding is for narrowing floats, not for " +
                      args.sema.nameOf(from) + " to " + dtype->name());
  return toOperand(args.sema.cast(*input, *dtype, *bitcast, isNarrowing && *rounding == "rtz"));
}

/// Triton's conversions of fp8e4b15, which have one way of rounding: the last argument says
/// nothing.
FailureOr<Operand> convertCustomFloat8(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  FailureOr<DType> dtype = args.dtype(1);
  if (failed(input) || failed(dtype))
    return failure();
  auto isOne = [](DType type, std::initializer_list<ScalarKind> kinds) {
    return !type.isPointer && llvm::is_contained(kinds, type.kind);
  };
  using enum ScalarKind;
  DType from = input->type.dtype;
  bool widens = isOne(from, {Float8E4B15}) && isOne(*dtype, {Float16, Float32});
  bool narrows = isOne(from, {Float16, Float32}) && isOne(*dtype, {Float8E4B15});
  if (!widens && !narrows)
    return args.error("fp8e4b15 to fp16 or fp32 or the reverse expected, found " +
                          args.sema.nameOf(from) + " to " + args.sema.nameOf(*dtype),
                      "other conversions are casts: " + args.sema.words.cast(*dtype, "x"));
  return toOperand(args.sema.cast(*input, *dtype));
}

FailureOr<Operand> where(Arguments &args) {
  FailureOr<Value> condition = args.value(0);
  if (failed(condition))
    return failure();
  condition = args.sema.isNonZero(*condition);
  if (failed(condition))
    return failure();
  return toOperand(select(args.sema, *condition, args[1], args[2], args.operation));
}

/// The column-major walk of groups of `size_g` rows of a row-major grid.
FailureOr<Operand> swizzle2d(Arguments &args) {
  Semantics &sema = args.sema;
  bool failing = false;
  auto compute = [&](BinaryOperator op, const Operand &lhs, const Operand &rhs) -> Operand {
    if (failing)
      return {};
    FailureOr<Operand> result = sema.binary(op, lhs, rhs);
    failing = failed(result);
    return failing ? Operand() : *result;
  };
  // Every argument as a value, so that literals among themselves compute too.
  auto given = args.values(5);
  if (failed(given))
    return failure();
  const Operand i = (*given)[0], j = (*given)[1], sizeI = (*given)[2], sizeJ = (*given)[3],
                sizeG = (*given)[4];
  Operand linear = compute(BinaryOperator::Add, compute(BinaryOperator::Multiply, i, sizeJ), j);
  Operand groupSize = compute(BinaryOperator::Multiply, sizeG, sizeJ);
  Operand group = compute(BinaryOperator::FloorDivide, linear, groupSize);
  Operand firstRow = compute(BinaryOperator::Multiply, group, sizeG);
  Operand rowsLeft = compute(BinaryOperator::Subtract, sizeI, firstRow);
  if (failing)
    return failure();
  FailureOr<Operand> rows = callBuiltin(sema, "minimum", {rowsLeft, sizeG}, {});
  if (failed(rows))
    return failure();
  Operand inGroup = compute(BinaryOperator::Modulo, linear, groupSize);
  Operand row = compute(BinaryOperator::Modulo, inGroup, *rows);
  Operand newI = compute(BinaryOperator::Add, firstRow, row);
  Operand newJ = compute(BinaryOperator::FloorDivide, inGroup, *rows);
  if (failing)
    return failure();
  return Operand::tuple({newI, newJ});
}

} // namespace

Value buildExtremum(Semantics &sema, Extremum which, const Value &lhs, const Value &rhs,
                    bool propagateNan) {
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  bool isMaximum = which == Extremum::Maximum;
  DType dtype = lhs.type.dtype;
  auto build = [&](mlir::Value l, mlir::Value r) -> mlir::Value {
    if (dtype.isFloat() && propagateNan)
      return isMaximum ? arith::MaximumFOp::create(b, at, l, r).getResult()
                       : arith::MinimumFOp::create(b, at, l, r).getResult();
    if (dtype.isFloat())
      return isMaximum ? arith::MaxNumFOp::create(b, at, l, r).getResult()
                       : arith::MinNumFOp::create(b, at, l, r).getResult();
    if (dtype.isSignedInt())
      return isMaximum ? arith::MaxSIOp::create(b, at, l, r).getResult()
                       : arith::MinSIOp::create(b, at, l, r).getResult();
    return isMaximum ? arith::MaxUIOp::create(b, at, l, r).getResult()
                     : arith::MinUIOp::create(b, at, l, r).getResult();
  };
  if (!dtype.isFp8())
    return {build(lhs.ir, rhs.ir), lhs.type};
  // Casts among floats do not fail.
  mlir::Value left = sema.cast(lhs, kFloat32)->ir, right = sema.cast(rhs, kFloat32)->ir;
  Value wide{build(left, right), lhs.type.withDType(kFloat32)};
  return *sema.cast(wide, dtype);
}

FailureOr<Value> select(Semantics &sema, const Value &condition, const Operand &whenTrue,
                        const Operand &whenFalse, StringRef operation) {
  // Pointers of one type may be chosen among, too.
  auto both = sema.unify(whenTrue, whenFalse, operation);
  if (failed(both))
    return failure();
  auto left = sema.broadcast(condition, both->first, operation);
  if (failed(left))
    return failure();
  Value chosen = left->first, x = left->second;
  FailureOr<Value> y = sema.broadcastTo(both->second, x.type.shape);
  if (failed(y))
    return failure();
  return Value{arith::SelectOp::create(sema.builder, sema.location(), chosen.ir, x.ir, y->ir),
               x.type};
}

void addArithmeticOps(BuiltinTable &table) {
  table.add("add(x, y, sanitize_overflow=True)", sanitizedCall<BinaryOperator::Add>);
  table.add("sub(x, y, sanitize_overflow=True)", sanitizedCall<BinaryOperator::Subtract>);
  table.add("mul(x, y, sanitize_overflow=True)", sanitizedCall<BinaryOperator::Multiply>);
  table.add("logical_and(input, other)", operatorCall<BinaryOperator::LogicalAnd>, kMethod);
  table.add("logical_or(input, other)", operatorCall<BinaryOperator::LogicalOr>, kMethod);
  table.add("minimum(x, y, propagate_nan='none')",
            [](Arguments &args) { return extremum(args, Extremum::Minimum); });
  table.add("maximum(x, y, propagate_nan='none')",
            [](Arguments &args) { return extremum(args, Extremum::Maximum); });
  table.add("clamp(x, min, max, propagate_nan='none')", clamp);
  table.add("cdiv(x, div)", cdiv, kMethod);
  table.add("fdiv(x, y, ieee_rounding=False)", fdiv);
  table.add("div_rn(x, y)", divideRounded);
  table.add("cast(input, dtype, fp_downcast_rounding=None, bitcast=False)", castTo, kMethod);
  table.add("to(input, dtype, fp_downcast_rounding=None, bitcast=False)", castTo, kMethod);
  for (StringRef name : {"convert_custom_float8_sm70", "convert_custom_float8_sm80"})
    table.add((name + "(arg, dst_ty, fp_downcast_rounding=None)").str(), convertCustomFloat8);
  table.add("where(condition, x, y)", where);
  table.add("swizzle2d(i, j, size_i, size_j, size_g)", swizzle2d);
}

} // namespace sectile::lang
