// Terms, and the operations that they become.
#include "lang/builtins/Formula.h"

using namespace mlir;

namespace sectile::lang {

static const DType kInt1 = DType::scalar(ScalarKind::Int1);

Term Formula::node(DType dtype, ArrayRef<Term> operands, Maker make) {
  Node node{dtype, {}, std::move(make), {}};
  for (Term operand : operands)
    node.operands.push_back(operand.index);
  nodes.push_back(std::move(node));
  return {this, nodes.size() - 1};
}

Term Formula::input(const Value &value) {
  Term term = node(value.type.dtype, {}, nullptr);
  nodes.back().built = value.ir;
  return term;
}

Term Formula::number(double value, DType dtype) {
  return node(dtype, {}, [=](Formula &formula, ArrayRef<Value>) {
    return formula.sema.splatConstant(Constant{value}, Type{dtype, formula.shape}).ir;
  });
}

Term Formula::integer(Int value, DType dtype) {
  return node(dtype, {}, [=](Formula &formula, ArrayRef<Value>) {
    return formula.sema.splatConstant(Constant::integer(value), Type{dtype, formula.shape}).ir;
  });
}

Value Formula::build(Term term) {
  Node &node = nodes[term.index];
  if (!node.built) {
    SmallVector<Value, 3> operands;
    for (size_t operand : node.operands)
      operands.push_back(build({this, operand}));
    node.built = node.make(*this, operands);
  }
  return {node.built, Type{node.dtype, shape}};
}

//===-- operations ----------------------------------------------------------------------------===//

template <class Op, class... Terms>
static Term apply(Term first, Terms... rest) {
  SmallVector<Term, 3> operands = {first, rest...};
  DType dtype = operands.back().dtype();
  return first.formula->node(dtype, operands, [](Formula &formula, ArrayRef<Value> values) {
    OpBuilder &builder = formula.sema.builder;
    Location at = formula.sema.location();
    if constexpr (sizeof...(Terms) == 0)
      return mlir::Value(Op::create(builder, at, values[0].ir));
    else if constexpr (sizeof...(Terms) == 1)
      return mlir::Value(Op::create(builder, at, values[0].ir, values[1].ir));
    else
      return mlir::Value(Op::create(builder, at, values[0].ir, values[1].ir, values[2].ir));
  });
}

/// The operation as a GPU may approximate it, in f32.
template <class Op, class... Terms>
static Term applyNearly(arith::FastMathFlags flags, Term first, Terms... rest) {
  SmallVector<Term, 2> operands = {first, rest...};
  return first.formula->node(
      first.dtype(), operands, [flags](Formula &formula, ArrayRef<Value> values) {
        OpBuilder &builder = formula.sema.builder;
        Location at = formula.sema.location();
        auto flag = arith::FastMathFlagsAttr::get(
            builder.getContext(),
            values[0].type.dtype.bits() == 64 ? arith::FastMathFlags::none : flags);
        if constexpr (sizeof...(Terms) == 0)
          return mlir::Value(Op::create(builder, at, values[0].ir, flag));
        else
          return mlir::Value(Op::create(builder, at, values[0].ir, values[1].ir, flag));
      });
}

/// What marks a step of a formula (backends/common/ElementwiseEmitter.cpp).
static const arith::FastMathFlags kStep =
    arith::FastMathFlags::afn | arith::FastMathFlags::contract;

template <class OfFloats, class OfIntegers>
static Term applyEither(Term x, Term y) {
  return x.dtype().isFloat() ? apply<OfFloats>(x, y) : apply<OfIntegers>(x, y);
}

Term operator+(Term x, Term y) {
  return applyEither<arith::AddFOp, arith::AddIOp>(x, y);
}
Term operator-(Term x, Term y) {
  return applyEither<arith::SubFOp, arith::SubIOp>(x, y);
}
Term operator*(Term x, Term y) {
  return applyEither<arith::MulFOp, arith::MulIOp>(x, y);
}
Term operator/(Term x, Term y) {
  return apply<arith::DivFOp>(x, y);
}
Term nearQuotient(Term x, Term y) {
  return applyNearly<arith::DivFOp>(arith::FastMathFlags::afn, x, y);
}
Term nearInverse(Term x) {
  return applyNearly<arith::DivFOp>(kStep, literal(1.0, x), x);
}
Term nearRoot(Term x) {
  return applyNearly<math::SqrtOp>(kStep, x);
}
Term nearLog2(Term x) {
  return applyNearly<math::Log2Op>(kStep, x);
}
Term nearExp2(Term x) {
  return applyNearly<math::Exp2Op>(kStep, x);
}
Term operator-(Term x) {
  return x.dtype().isFloat() ? apply<arith::NegFOp>(x) : literal(0, x) - x;
}
Term operator&(Term x, Term y) {
  return apply<arith::AndIOp>(x, y);
}
Term operator|(Term x, Term y) {
  return apply<arith::OrIOp>(x, y);
}
Term operator^(Term x, Term y) {
  return apply<arith::XOrIOp>(x, y);
}
Term operator!(Term x) {
  return x ^ x.formula->integer(1, kInt1);
}
Term operator<<(Term x, Term y) {
  return apply<arith::ShLIOp>(x, y);
}
Term operator>>(Term x, Term y) {
  return x.dtype().isSignedInt() ? apply<arith::ShRSIOp>(x, y) : apply<arith::ShRUIOp>(x, y);
}

static Term compare(BinaryOperator which, Term x, Term y) {
  return x.formula->node(kInt1, {x, y}, [which](Formula &formula, ArrayRef<Value> values) {
    return formula.sema.compare(which, values[0], values[1]).ir;
  });
}
Term operator<(Term x, Term y) {
  return compare(BinaryOperator::Less, x, y);
}
Term operator<=(Term x, Term y) {
  return compare(BinaryOperator::LessEqual, x, y);
}
Term operator>(Term x, Term y) {
  return compare(BinaryOperator::Greater, x, y);
}
Term operator>=(Term x, Term y) {
  return compare(BinaryOperator::GreaterEqual, x, y);
}
Term operator==(Term x, Term y) {
  return compare(BinaryOperator::Equal, x, y);
}
Term operator!=(Term x, Term y) {
  return compare(BinaryOperator::NotEqual, x, y);
}

Term select(Term condition, Term x, Term y) {
  return apply<arith::SelectOp>(condition, x, y);
}

#define SECTILE_FUNCTION(name, Op)                                                                 \
  Term name(Term x) {                                                                              \
    return apply<Op>(x);                                                                           \
  }
SECTILE_FUNCTION(abs, math::AbsFOp)
SECTILE_FUNCTION(sqrt, math::SqrtOp)
SECTILE_FUNCTION(cbrt, math::CbrtOp)
SECTILE_FUNCTION(exp, math::ExpOp)
SECTILE_FUNCTION(log, math::LogOp)
SECTILE_FUNCTION(log1p, math::Log1pOp)
SECTILE_FUNCTION(sin, math::SinOp)
SECTILE_FUNCTION(cos, math::CosOp)
SECTILE_FUNCTION(floor, math::FloorOp)
SECTILE_FUNCTION(ceil, math::CeilOp)
SECTILE_FUNCTION(trunc, math::TruncOp)
SECTILE_FUNCTION(roundEven, math::RoundEvenOp)
SECTILE_FUNCTION(leadingZeros, math::CountLeadingZerosOp)
#undef SECTILE_FUNCTION

Term pow(Term x, Term y) {
  return apply<math::PowFOp>(x, y);
}
Term copySign(Term magnitude, Term sign) {
  return apply<math::CopySignOp>(magnitude, sign);
}
Term fmod(Term x, Term y) {
  return apply<arith::RemFOp>(x, y);
}
Term fma(Term x, Term y, Term z) {
  return apply<math::FmaOp>(x, y, z);
}
Term maximum(Term x, Term y) {
  return apply<arith::MaximumFOp>(x, y);
}
Term isNan(Term x) {
  return x != x;
}
Term isInfinite(Term x) {
  return abs(x) == INFINITY;
}
Term isFinite(Term x) {
  return abs(x) < INFINITY;
}

Term convert(Term x, DType dtype) {
  return x.formula->node(dtype, {x}, [dtype](Formula &formula, ArrayRef<Value> values) {
    return formula.sema.cast(values[0], dtype)->ir;
  });
}
Term reinterpret(Term x, DType dtype) {
  return x.formula->node(dtype, {x}, [dtype](Formula &formula, ArrayRef<Value> values) {
    return formula.sema.cast(values[0], dtype, /*bitcast=*/true)->ir;
  });
}
Term bitsOf(Term x) {
  return reinterpret(x, DType::scalar(x.isDouble() ? ScalarKind::Int64 : ScalarKind::Int32));
}

} // namespace sectile::lang
