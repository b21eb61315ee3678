// Elementary functions. Plain ones of fp32 carry `afn` (a GPU may approximate them); *_rn ones and
// those of fp64 do not.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
/// fp32 and fp64 only: there is no narrower arithmetic to round as a user would expect.
FailureOr<Value> wideFloat(Arguments &args, size_t index) {
  FailureOr<Value> value = args.value(index);
  if (failed(value))
    return failure();
  DType dtype = value->type.dtype;
  if (dtype.isFloat() && dtype.bits() >= 32)
    return value;
  return args.error(args.sema.nameOf(DType::scalar(ScalarKind::Float32)) + " or " +
                        args.sema.nameOf(DType::scalar(ScalarKind::Float64)) + " expected, found " +
                        args.sema.nameOf(value->type),
                    dtype.isPointer
                        ? "load through the pointer first"
                        : "cast first, for example with " +
                              args.sema.words.cast(DType::scalar(ScalarKind::Float32), "x"));
}

namespace {

using UnaryBuild = mlir::Value (*)(OpBuilder &, Location, mlir::Value);

template <class Op>
mlir::Value approximable(OpBuilder &b, Location at, mlir::Value x) {
  auto flag = tile::elementTypeOf(x.getType()).isF64() ? arith::FastMathFlags::none
                                                       : arith::FastMathFlags::afn;
  return Op::create(b, at, x, arith::FastMathFlagsAttr::get(b.getContext(), flag));
}
template <class Op>
mlir::Value exact(OpBuilder &b, Location at, mlir::Value x) {
  return Op::create(b, at, x);
}

void addUnary(BuiltinTable &table, StringRef name, UnaryBuild build, MethodKind kind) {
  table.add((name + "(x)").str(),
            [build](Arguments &args) -> FailureOr<Operand> {
              FailureOr<Value> x = wideFloat(args, 0);
              if (failed(x))
                return failure();
              return Operand(Value{build(args.sema.builder, args.sema.location(), x->ir), x->type});
            },
            kind);
}

FailureOr<Operand> absolute(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> x = args.value(0);
  if (failed(x))
    return failure();
  DType dtype = x->type.dtype;
  if (dtype.isPointer)
    return args.error("not defined for pointers, found " + args.sema.nameOf(x->type));
  // All patterns of e4b15 but its zeros are numbers, and a conversion would not give the largest
  // back.
  if (dtype.kind == ScalarKind::Float8E4B15) {
    FailureOr<Value> bits = sema.cast(*x, DType::scalar(ScalarKind::UInt8), /*bitcast=*/true);
    if (failed(bits))
      return failure();
    Value mask = sema.splatConstant(Constant::integer(0x7f), bits->type);
    bits->ir = arith::AndIOp::create(sema.builder, sema.location(), bits->ir, mask.ir);
    FailureOr<Value> result = sema.cast(*bits, dtype, /*bitcast=*/true);
    if (failed(result))
      return failure();
    return Operand(*result);
  }
  if (dtype.isFp8()) { // clear the sign bit; a sign alone is NaN in the fnuz kinds
    FailureOr<Value> wide = sema.cast(*x, DType::scalar(ScalarKind::Float32));
    if (failed(wide))
      return failure();
    wide->ir = math::AbsFOp::create(sema.builder, sema.location(), wide->ir);
    FailureOr<Value> narrow = sema.cast(*wide, dtype);
    if (failed(narrow))
      return failure();
    return Operand(*narrow);
  }
  if (dtype.isFloat())
    return Operand(Value{math::AbsFOp::create(sema.builder, sema.location(), x->ir), x->type});
  if (dtype.isSignedInt())
    return Operand(Value{math::AbsIOp::create(sema.builder, sema.location(), x->ir), x->type});
  return Operand(*x);
}

FailureOr<Operand> fusedMultiplyAdd(Arguments &args) {
  Semantics &sema = args.sema;
  auto given = args.values(3);
  if (failed(given))
    return failure();
  const Value &x = (*given)[0], &y = (*given)[1], &z = (*given)[2];
  auto xy = sema.unify(x, y, args.operation);
  if (failed(xy))
    return failure();
  auto zx = sema.unify(z, xy->first, args.operation);
  if (failed(zx))
    return failure();
  auto zy = sema.unify(zx->first, xy->second, args.operation);
  if (failed(zy))
    return failure();
  DType dtype = zx->first.type.dtype;
  if (!dtype.isFloat() || dtype.isFp8())
    return args.error("fp16, bf16, fp32 or fp64 expected, found " +
                          args.sema.nameOf(zx->first.type),
                      "for integers write x * y + z");
  FailureOr<Value> left = sema.broadcastTo(zx->second, zy->first.type.shape);
  if (failed(left))
    return failure();
  return Operand(Value{
      math::FmaOp::create(sema.builder, sema.location(), left->ir, zy->second.ir, zy->first.ir),
      zy->first.type});
}

FailureOr<Operand> multiplyHigh(Arguments &args) {
  Semantics &sema = args.sema;
  auto given = args.values(2);
  if (failed(given))
    return failure();
  for (const Value &side : *given)
    if (!side.type.dtype.isInt() || side.type.dtype.bits() < 32)
      return args.error("32- or 64-bit integers expected, found " + args.sema.nameOf(side.type));
  auto both = sema.unify((*given)[0], (*given)[1], args.operation);
  if (failed(both))
    return failure();
  // The product is unsigned whatever the operands.
  auto product = arith::MulUIExtendedOp::create(sema.builder, sema.location(), both->first.ir,
                                                both->second.ir);
  return Operand(Value{product.getHigh(), both->first.type});
}

/// 1 / (1 + exp(-x)), and exp(x) / (1 + exp(x)) below zero, where exp(-x) would overflow before the
/// result is zero.
FailureOr<Operand> sigmoid(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> x = wideFloat(args, 0);
  if (failed(x))
    return failure();
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  auto negated = arith::NegFOp::create(b, at, math::AbsFOp::create(b, at, x->ir));
  Value exponential{approximable<math::ExpOp>(b, at, negated), x->type};
  Value zero = sema.splatConstant(Constant{0.0}, x->type);
  Value one = sema.splatConstant(Constant{1.0}, x->type);
  Value isNegative = sema.compare(BinaryOperator::Less, *x, zero);
  Value numerator{arith::SelectOp::create(b, at, isNegative.ir, exponential.ir, one.ir), x->type};
  FailureOr<Value> sum = sema.arithmetic(BinaryOperator::Add, one, exponential);
  if (failed(sum))
    return failure();
  return sema.binary(BinaryOperator::Divide, numerator, *sum);
}

} // namespace

void addMathOps(BuiltinTable &table) {
  table.add("abs(x)", absolute, kMethod);
  table.add("fma(x, y, z)", fusedMultiplyAdd);
  table.add("umulhi(x, y)", multiplyHigh);
  table.add("sigmoid(x)", sigmoid, kMethod);
  // libdevice's functions are the accurate ones.
  struct {
    const char *name;
    UnaryBuild plain, inLibdevice;
  } const inBoth[] = {{"exp", approximable<math::ExpOp>, exact<math::ExpOp>},
                      {"exp2", approximable<math::Exp2Op>, exact<math::Exp2Op>},
                      {"log", approximable<math::LogOp>, exact<math::LogOp>},
                      {"log2", approximable<math::Log2Op>, exact<math::Log2Op>},
                      {"sin", approximable<math::SinOp>, exact<math::SinOp>},
                      {"cos", approximable<math::CosOp>, exact<math::CosOp>},
                      {"sqrt", approximable<math::SqrtOp>, exact<math::SqrtOp>},
                      {"rsqrt", approximable<math::RsqrtOp>, exact<math::RsqrtOp>},
                      {"tanh", approximable<math::TanhOp>, exact<math::TanhOp>},
                      {"erf", exact<math::ErfOp>, exact<math::ErfOp>},
                      {"floor", exact<math::FloorOp>, exact<math::FloorOp>},
                      {"ceil", exact<math::CeilOp>, exact<math::CeilOp>},
                      {"sqrt_rn", exact<math::SqrtOp>, exact<math::SqrtOp>}};
  for (auto [name, plain, inLibdevice] : inBoth) {
    addUnary(table, name, plain, kMethodOfHalves);
    addUnary(table, std::string("libdevice.") + name, inLibdevice, kFunction);
  }
}

} // namespace sectile::lang
