//===-- math.h - elementwise functions ----------------------------------------------------===//
// All work element by element on scalars and tiles and broadcast their operands. exp, log, sqrt and
// their like take f32 and f64; convert narrower floats first.
#pragma once

#include <sectile/operators.h>

namespace sectile {

#define SECTILE_UNARY(name)                                                                        \
  inline Value name(const Operand &x, Operand::Where where = Operand::Where::current()) {          \
    return detail::call(where, #name, {x.argument});                                               \
  }                                                                                                \
  /* A better match than that of <cmath>, which takes a Const as a number. */                      \
  template <class T>                                                                               \
  Value name(Const<T> x, Operand::Where where = Operand::Where::current()) {                       \
    return name(Operand(x, where), where);                                                         \
  }
SECTILE_UNARY(exp)
SECTILE_UNARY(exp2)
SECTILE_UNARY(log)
SECTILE_UNARY(log2)
SECTILE_UNARY(sin)
SECTILE_UNARY(cos)
SECTILE_UNARY(tanh)
SECTILE_UNARY(erf)
SECTILE_UNARY(sqrt)
SECTILE_UNARY(sqrt_rn)
SECTILE_UNARY(rsqrt)
SECTILE_UNARY(floor)
SECTILE_UNARY(ceil)
SECTILE_UNARY(abs)
SECTILE_UNARY(sigmoid)
// What CUDA calls libdevice.
SECTILE_UNARY(acos)
SECTILE_UNARY(acosh)
SECTILE_UNARY(asin)
SECTILE_UNARY(asinh)
SECTILE_UNARY(atan)
SECTILE_UNARY(atanh)
SECTILE_UNARY(cbrt)
SECTILE_UNARY(cosh)
SECTILE_UNARY(erfc)
SECTILE_UNARY(expm1)
SECTILE_UNARY(exp10)
SECTILE_UNARY(log10)
SECTILE_UNARY(log1p)
SECTILE_UNARY(nearbyint)
SECTILE_UNARY(rint)
SECTILE_UNARY(round)
SECTILE_UNARY(sinh)
SECTILE_UNARY(tan)
SECTILE_UNARY(trunc)
SECTILE_UNARY(cospi)
SECTILE_UNARY(sinpi)
SECTILE_UNARY(normcdf)
SECTILE_UNARY(signbit)
SECTILE_UNARY(rcbrt)
SECTILE_UNARY(llrint)
SECTILE_UNARY(llround)
SECTILE_UNARY(isnan)
SECTILE_UNARY(isinf)
SECTILE_UNARY(isfinite)
SECTILE_UNARY(clz)
SECTILE_UNARY(popc)
SECTILE_UNARY(ffs)
#undef SECTILE_UNARY

#define SECTILE_BINARY(name)                                                                       \
  inline Value name(const Operand &x, const Operand &y,                                            \
                    Operand::Where where = Operand::Where::current()) {                            \
    return detail::call(where, #name, {x.argument, y.argument});                                   \
  }
SECTILE_BINARY(div_rn) // division rounded as IEEE 754 asks
SECTILE_BINARY(umulhi) // the high half of an unsigned product
SECTILE_BINARY(atan2)
SECTILE_BINARY(copysign)
SECTILE_BINARY(pow)
SECTILE_BINARY(fmod)
SECTILE_BINARY(fdim)
SECTILE_BINARY(hypot)
SECTILE_BINARY(mulhi)
#undef SECTILE_BINARY

/// Floating-point division; `ieeeRounding` asks for the correctly rounded one.
inline Value fdiv(const Operand &x, const Operand &y, bool ieeeRounding = false,
                  Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "fdiv", {x.argument, y.argument, Operand(ieeeRounding).argument});
}
/// x * y + z, rounded once.
inline Value fma(const Operand &x, const Operand &y, const Operand &z,
                 Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "fma", {x.argument, y.argument, z.argument});
}

/// What minimum, maximum and clamp do with a NaN.
enum class PropagateNan { None, All };

namespace detail {
inline void addPropagation(std::vector<cpp::Argument> &arguments, PropagateNan propagate) {
  if (propagate == PropagateNan::All)
    arguments.push_back(named("propagate_nan", "all"));
}
} // namespace detail

inline Value minimum(const Operand &x, const Operand &y,
                     PropagateNan propagate = PropagateNan::None,
                     Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, y.argument};
  detail::addPropagation(arguments, propagate);
  return detail::call(where, "minimum", arguments);
}
inline Value maximum(const Operand &x, const Operand &y,
                     PropagateNan propagate = PropagateNan::None,
                     Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, y.argument};
  detail::addPropagation(arguments, propagate);
  return detail::call(where, "maximum", arguments);
}
inline Value clamp(const Operand &x, const Operand &low, const Operand &high,
                   PropagateNan propagate = PropagateNan::None,
                   Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, low.argument, high.argument};
  detail::addPropagation(arguments, propagate);
  return detail::call(where, "clamp", arguments);
}
/// `x` where the condition is true, else `y`. Both are evaluated.
inline Value where(const Operand &condition, const Operand &x, const Operand &y,
                   Operand::Where place = Operand::Where::current()) {
  return detail::call(place, "where", {condition.argument, x.argument, y.argument});
}

namespace detail {
template <class T>
concept HostInteger =
    std::is_integral_v<T> || (isConst<T> && std::is_integral_v<decltype(T::value)>);
} // namespace detail

/// x / y rounded up, in a kernel ...
inline Value cdiv(const Operand &x, const Operand &y,
                  Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "cdiv", {x.argument, y.argument});
}
/// ... and on the host, or of compile-time numbers.
template <detail::HostInteger X, detail::HostInteger Y>
constexpr auto cdiv(X x, Y y) {
  return (+x + +y - 1) / +y;
}
/// The smallest power of two that is at least `number`; on the host.
constexpr int64_t next_power_of_2(int64_t number) {
  int64_t power = 1;
  while (power < number)
    power *= 2;
  return power;
}

} // namespace sectile
