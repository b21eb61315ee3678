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
SECTILE_UNARY(brev)
SECTILE_UNARY(float_as_int)
SECTILE_UNARY(float_as_uint)
SECTILE_UNARY(int_as_float)
SECTILE_UNARY(uint_as_float)
SECTILE_UNARY(double_as_longlong)
SECTILE_UNARY(longlong_as_double)
SECTILE_UNARY(double2hiint)
SECTILE_UNARY(double2loint)
SECTILE_UNARY(saturatef)
SECTILE_UNARY(rcp64h)
SECTILE_UNARY(ilogb)
SECTILE_UNARY(logb)
SECTILE_UNARY(rsqrt_rn)
SECTILE_UNARY(tgamma)
SECTILE_UNARY(lgamma)
SECTILE_UNARY(erfinv)
SECTILE_UNARY(erfcinv)
SECTILE_UNARY(erfcx)
SECTILE_UNARY(normcdfinv)
SECTILE_UNARY(cyl_bessel_i0)
SECTILE_UNARY(cyl_bessel_i1)
SECTILE_UNARY(j0)
SECTILE_UNARY(j1)
SECTILE_UNARY(y0)
SECTILE_UNARY(y1)
// Conversions between floats and integers, and arithmetic, with a rounding of their own: rn to
// nearest even, rz toward zero, rd down, ru up.
#define SECTILE_ROUNDED(rounding)                                                                  \
  SECTILE_UNARY(rcp_##rounding)                                                                    \
  SECTILE_UNARY(double2float_##rounding)                                                           \
  SECTILE_UNARY(float2int_##rounding)                                                              \
  SECTILE_UNARY(float2uint_##rounding)                                                             \
  SECTILE_UNARY(float2ll_##rounding)                                                               \
  SECTILE_UNARY(float2ull_##rounding)                                                              \
  SECTILE_UNARY(double2int_##rounding)                                                             \
  SECTILE_UNARY(double2uint_##rounding)                                                            \
  SECTILE_UNARY(double2ll_##rounding)                                                              \
  SECTILE_UNARY(double2ull_##rounding)                                                             \
  SECTILE_UNARY(int2float_##rounding)                                                              \
  SECTILE_UNARY(uint2float_##rounding)                                                             \
  SECTILE_UNARY(ll2float_##rounding)                                                               \
  SECTILE_UNARY(ull2float_##rounding)                                                              \
  SECTILE_UNARY(ll2double_##rounding)                                                              \
  SECTILE_UNARY(ull2double_##rounding)
SECTILE_ROUNDED(rn)
SECTILE_ROUNDED(rz)
SECTILE_ROUNDED(rd)
SECTILE_ROUNDED(ru)
#undef SECTILE_ROUNDED
SECTILE_UNARY(int2double_rn)
SECTILE_UNARY(uint2double_rn)
SECTILE_UNARY(sqrt_rz)
SECTILE_UNARY(sqrt_rd)
SECTILE_UNARY(sqrt_ru)
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
SECTILE_BINARY(rhypot)
SECTILE_BINARY(nextafter)
SECTILE_BINARY(ldexp)
SECTILE_BINARY(scalbn)
SECTILE_BINARY(remainder)
SECTILE_BINARY(hadd)
SECTILE_BINARY(rhadd)
SECTILE_BINARY(mul24)
SECTILE_BINARY(hiloint2double)
SECTILE_BINARY(jn)
SECTILE_BINARY(yn)
SECTILE_BINARY(add_rn)
SECTILE_BINARY(add_rz)
SECTILE_BINARY(add_rd)
SECTILE_BINARY(add_ru)
SECTILE_BINARY(sub_rn)
SECTILE_BINARY(sub_rz)
SECTILE_BINARY(sub_rd)
SECTILE_BINARY(sub_ru)
SECTILE_BINARY(mul_rn)
SECTILE_BINARY(mul_rz)
SECTILE_BINARY(mul_rd)
SECTILE_BINARY(mul_ru)
SECTILE_BINARY(div_rz)
SECTILE_BINARY(div_rd)
SECTILE_BINARY(div_ru)
#undef SECTILE_BINARY

#define SECTILE_TERNARY(name)                                                                      \
  inline Value name(const Operand &x, const Operand &y, const Operand &z,                          \
                    Operand::Where where = Operand::Where::current()) {                            \
    return detail::call(where, #name, {x.argument, y.argument, z.argument});                       \
  }
SECTILE_TERNARY(fma_rn)
SECTILE_TERNARY(fma_rz)
SECTILE_TERNARY(fma_rd)
SECTILE_TERNARY(fma_ru)
SECTILE_TERNARY(norm3d)
SECTILE_TERNARY(rnorm3d)
SECTILE_TERNARY(byte_perm)
SECTILE_TERNARY(sad)
#undef SECTILE_TERNARY

inline Value norm4d(const Operand &x, const Operand &y, const Operand &z, const Operand &w,
                    Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "norm4d", {x.argument, y.argument, z.argument, w.argument});
}
inline Value rnorm4d(const Operand &x, const Operand &y, const Operand &z, const Operand &w,
                     Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "rnorm4d", {x.argument, y.argument, z.argument, w.argument});
}

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
