//===-- Formula.h - functions of elements, written as formulas ------------------------------------===//
// A term stands for a number of a formula. Operators on terms build no IR: `Formula::build` does,
// operand by operand from left to right and each term once, so that the IR does not depend on the
// order in which C++ evaluates `a * b + c * d`.
//
//   Formula formula(args.sema, x.type.shape);
//   Term t = formula.input(x);
//   Value result = formula.build(select(t < 0.0, -t, sqrt(t) * 2.0));
//
// Invariant: the terms of one formula have one shape, and an operator takes terms of one dtype,
// because nothing promotes them. A number beside a term takes the dtype of the term.
#pragma once

#include "lang/builtins/BuiltinTable.h"

#include <deque>

namespace sectile::lang {

class Formula;

struct Term {
  Formula *formula;
  size_t index;

  DType dtype() const;
  bool isDouble() const { return dtype().bits() == 64; }
};

class Formula {
public:
  Formula(Semantics &sema, llvm::ArrayRef<int64_t> shape) : sema(sema), shape(shape) {}

  Term input(const Value &value);
  Term number(double value, DType dtype);
  Term integer(Int value, DType dtype);
  Value build(Term term);

  using Maker = std::function<mlir::Value(Formula &, llvm::ArrayRef<Value>)>;
  /// A term that `make` builds from the values of its operands.
  Term node(DType dtype, llvm::ArrayRef<Term> operands, Maker make);
  DType dtypeOf(Term term) const { return nodes[term.index].dtype; }

  Semantics &sema;
  const llvm::SmallVector<int64_t, 4> shape;

private:
  struct Node {
    DType dtype;
    llvm::SmallVector<size_t, 3> operands;
    Maker make;
    mlir::Value built;
  };
  std::deque<Node> nodes;
};

inline DType Term::dtype() const {
  return formula->dtypeOf(*this);
}

//-- Arithmetic: of floats, or of integers of one width --------------------------------------------
Term operator+(Term x, Term y);
Term operator-(Term x, Term y);
Term operator*(Term x, Term y);
Term operator/(Term x, Term y); // of floats, correctly rounded
/// Within some units in the last place in f32, by an instruction where there is one: for steps that
/// others correct.
Term nearQuotient(Term x, Term y);
/// The same, and faster, where argument and result are normal numbers, 0 or infinite: 1 / x and the
/// root within one unit, 2^x within two, and log2(x) within 2^-22 of itself, or absolutely where x
/// is in (1/2, 2).
Term nearInverse(Term x);
Term nearRoot(Term x);
Term nearLog2(Term x);
Term nearExp2(Term x);
Term operator-(Term x);
Term operator&(Term x, Term y); // of integers, or of truth values
Term operator|(Term x, Term y);
Term operator^(Term x, Term y);
Term operator!(Term x); // of a truth value
Term operator<<(Term x, Term y);
Term operator>>(Term x, Term y); // arithmetic where the integer is signed
Term operator<(Term x, Term y);
Term operator<=(Term x, Term y);
Term operator>(Term x, Term y);
Term operator>=(Term x, Term y);
Term operator==(Term x, Term y);
Term operator!=(Term x, Term y);
Term select(Term condition, Term x, Term y);

/// A number as a term of the dtype of `like`.
template <class T>
Term literal(T value, Term like) {
  if constexpr (std::is_same_v<T, Term>)
    return value;
  else if (like.dtype().isFloat())
    return like.formula->number(static_cast<double>(value), like.dtype());
  else
    return like.formula->integer(static_cast<Int>(value), like.dtype());
}

template <class T>
concept Number = std::is_arithmetic_v<T>;

#define SECTILE_WITH_NUMBER(op)                                                                    \
  template <Number T>                                                                              \
  Term operator op(Term x, T y) {                                                                  \
    return x op literal(y, x);                                                                     \
  }                                                                                                \
  template <Number T>                                                                              \
  Term operator op(T x, Term y) {                                                                  \
    return literal(x, y) op y;                                                                     \
  }
SECTILE_WITH_NUMBER(+)
SECTILE_WITH_NUMBER(-)
SECTILE_WITH_NUMBER(*)
SECTILE_WITH_NUMBER(/)
SECTILE_WITH_NUMBER(&)
SECTILE_WITH_NUMBER(|)
SECTILE_WITH_NUMBER(^)
SECTILE_WITH_NUMBER(<<)
SECTILE_WITH_NUMBER(>>)
SECTILE_WITH_NUMBER(<)
SECTILE_WITH_NUMBER(<=)
SECTILE_WITH_NUMBER(>)
SECTILE_WITH_NUMBER(>=)
SECTILE_WITH_NUMBER(==)
SECTILE_WITH_NUMBER(!=)
#undef SECTILE_WITH_NUMBER

template <Number T>
Term select(Term condition, Term x, T y) {
  return select(condition, x, literal(y, x));
}
template <Number T>
Term select(Term condition, T x, Term y) {
  return select(condition, literal(x, y), y);
}

//-- Functions of floats ---------------------------------------------------------------------------
Term abs(Term x);
Term sqrt(Term x);
Term cbrt(Term x);
Term exp(Term x);
Term log(Term x);
Term log1p(Term x);
Term sin(Term x);
Term cos(Term x);
Term pow(Term x, Term y);
Term floor(Term x);
Term ceil(Term x);
Term trunc(Term x);
Term roundEven(Term x);
Term copySign(Term magnitude, Term sign);
/// The remainder of a division that truncates.
Term fmod(Term x, Term y);
/// x * y + z with one rounding.
Term fma(Term x, Term y, Term z);
Term maximum(Term x, Term y); // NaN where either is
Term isNan(Term x);
Term isInfinite(Term x);
Term isFinite(Term x);

//-- Integers and bits -----------------------------------------------------------------------------
Term leadingZeros(Term x);
/// The number as `dtype`, as Semantics::cast converts it.
Term convert(Term x, DType dtype);
/// The same bits as `dtype`.
Term reinterpret(Term x, DType dtype);
/// The bits of a float as a signed integer of its width.
Term bitsOf(Term x);

} // namespace sectile::lang
