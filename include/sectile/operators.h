//===-- operators.h - arithmetic, comparison and bit operators ----------------------------===//
// At least one side is a handle; the other may be a number or a Const. `/` and `%` of integers
// truncate, as in C++. Comparisons give a truth value or a tile of them; `&&` and `||` combine
// those element by element and always evaluate both sides.
//
// The types are those of tile languages, not of C++: nothing is promoted to int (u8 + u8 is a u8
// and wraps, i1 + i1 wraps to 0), and a shift has the type that its two sides promote to (i32 >>
// u32 is a u32).
//
// The operand types exist to learn where an operator was written: their constructors have a
// defaulted std::source_location, which an operator itself cannot have.
#pragma once

#include <sectile/types.h>

namespace sectile {
namespace detail {

/// A side that must be a handle.
struct HandleOperand : Operand {
  HandleOperand(const AnyHandle &handle, Where where = Where::current()) : Operand(handle, where) {}
};
/// A side that must be a number.
struct NumberOperand : Operand {
  template <Literal T>
  NumberOperand(T number, Where where = Where::current()) : Operand(number, where) {}
  template <class T>
  NumberOperand(Const<T> number, Where where = Where::current()) : Operand(number, where) {}
};

inline Value binary(const char *op, const Operand &lhs, const Operand &rhs) {
  Trace &trace = Trace::active();
  // The place of the right side, because every operator of a chain a + b + c has one of its own.
  trace.at(rhs.where);
  Value result = valueOf(trace.tracer.binary(op, lhs.argument, rhs.argument));
  trace.check();
  return result;
}
inline Value unary(const char *op, const Operand &operand) {
  Trace &trace = Trace::active();
  trace.at(operand.where);
  Value result = valueOf(trace.tracer.unary(op, operand.argument));
  trace.check();
  return result;
}

} // namespace detail

#define SECTILE_BINARY(op)                                                                         \
  inline Value operator op(const detail::HandleOperand &lhs, const Operand &rhs) {                 \
    return detail::binary(#op, lhs, rhs);                                                          \
  }                                                                                                \
  inline Value operator op(const detail::NumberOperand &lhs, const detail::HandleOperand &rhs) {   \
    return detail::binary(#op, lhs, rhs);                                                          \
  }
SECTILE_BINARY(+)
SECTILE_BINARY(-)
SECTILE_BINARY(*)
SECTILE_BINARY(/)
SECTILE_BINARY(%)
SECTILE_BINARY(&)
SECTILE_BINARY(|)
SECTILE_BINARY(^)
SECTILE_BINARY(<<)
SECTILE_BINARY(>>)
SECTILE_BINARY(==)
SECTILE_BINARY(!=)
SECTILE_BINARY(<)
SECTILE_BINARY(<=)
SECTILE_BINARY(>)
SECTILE_BINARY(>=)
#undef SECTILE_BINARY

// The operators of C++ itself would take handles, too, by the operator bool that refuses them
// (types.h). These here are better matches, because they take handles without a conversion. Where
// no operand is converted, none records where it was written, and the place stays that of the
// operation before.
namespace detail {
template <class T>
concept Number = Literal<T> || isConst<T>;

inline Value logical(const char *op, const Operand &lhs, const Operand &rhs) {
  Trace &trace = Trace::active();
  Value result = valueOf(trace.tracer.binary(op, lhs.argument, rhs.argument));
  trace.check();
  return result;
}
} // namespace detail

#define SECTILE_LOGICAL(op)                                                                        \
  template <class Kind>                                                                            \
  Value operator op(const Handle<Kind> &lhs, const detail::HandleOperand &rhs) {                   \
    return detail::binary(#op, lhs, rhs);                                                          \
  }                                                                                                \
  template <class Kind, detail::Number T>                                                          \
  Value operator op(const Handle<Kind> &lhs, const T &rhs) {                                       \
    return detail::logical(#op, lhs, rhs);                                                         \
  }                                                                                                \
  template <class Kind, detail::Number T>                                                          \
  Value operator op(const T &lhs, const Handle<Kind> &rhs) {                                       \
    return detail::logical(#op, lhs, rhs);                                                         \
  }
SECTILE_LOGICAL(&&)
SECTILE_LOGICAL(||)
#undef SECTILE_LOGICAL

#define SECTILE_ASSIGNING(op)                                                                      \
  template <class Kind>                                                                            \
  Handle<Kind> &operator op## = (Handle<Kind> & lhs, const Operand &rhs) {                         \
    Value next = detail::binary(#op, Operand(lhs, rhs.where), rhs);                                \
    return lhs = Operand(next, rhs.where);                                                         \
  }
SECTILE_ASSIGNING(+)
SECTILE_ASSIGNING(-)
SECTILE_ASSIGNING(*)
SECTILE_ASSIGNING(/)
SECTILE_ASSIGNING(%)
SECTILE_ASSIGNING(&)
SECTILE_ASSIGNING(|)
SECTILE_ASSIGNING(^)
SECTILE_ASSIGNING(<<)
SECTILE_ASSIGNING(>>)
#undef SECTILE_ASSIGNING

/// x = x + 1; the value of `x++` is that of before.
template <class Kind>
Handle<Kind> &operator++(Handle<Kind> &x) {
  return x += 1;
}
template <class Kind>
Handle<Kind> &operator--(Handle<Kind> &x) {
  return x -= 1;
}
template <class Kind>
Handle<Kind> operator++(Handle<Kind> &x, int) {
  Handle<Kind> before = x;
  ++x;
  return before;
}
template <class Kind>
Handle<Kind> operator--(Handle<Kind> &x, int) {
  Handle<Kind> before = x;
  --x;
  return before;
}

inline Value operator+(const detail::HandleOperand &x) {
  return detail::unary("+", x);
}
inline Value operator-(const detail::HandleOperand &x) {
  return detail::unary("-", x);
}
inline Value operator~(const detail::HandleOperand &x) {
  return detail::unary("~", x);
}
template <class Kind>
Value operator!(const Handle<Kind> &x) {
  detail::Trace &trace = detail::Trace::active();
  Value result = detail::valueOf(trace.tracer.unary("!", Operand(x).argument));
  trace.check();
  return result;
}

} // namespace sectile
