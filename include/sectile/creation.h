//===-- creation.h - where a program is, and tiles from nothing ---------------------------===//
//   auto index = program_id(0) * BLOCK + arange(0, BLOCK);
//   auto total = zeros<f32>({BLOCK_M, BLOCK_N});
#pragma once

#include <sectile/operators.h>

namespace sectile {

/// The index of this program along `axis` (0, 1 or 2) of the grid; i32.
inline Value program_id(const Operand &axis, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "program_id", {axis.argument});
}
/// The number of programs along `axis`; i32.
inline Value num_programs(const Operand &axis, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "num_programs", {axis.argument});
}

/// The integers start, start + 1, ..., end - 1 as a tile of i32; both known at compile time.
inline Value arange(const Operand &start, const Operand &end,
                    Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "arange", {start.argument, end.argument});
}

/// A tile whose every element is `value`.
inline Value full(const Shape &shape, const Operand &value, DType dtype,
                  Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "full", {shape.argument, value.argument, Operand(dtype).argument});
}
template <class T>
Value full(const Shape &shape, const Operand &value,
           Operand::Where where = Operand::Where::current()) {
  return full(shape, value, dtypeOf<T>, where);
}
inline Value zeros(const Shape &shape, DType dtype,
                   Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "zeros", {shape.argument, Operand(dtype).argument});
}
template <class T>
Value zeros(const Shape &shape, Operand::Where where = Operand::Where::current()) {
  return zeros(shape, dtypeOf<T>, where);
}
inline Value zeros_like(const Operand &x, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "zeros_like", {x.argument});
}

//===-- conversions ---------------------------------------------------------------------------===//

/// How a conversion to a narrower floating-point type rounds.
enum class Rounding { NearestEven, TowardZero };

/// Each element converted to `dtype`: to<f16>(x), or to(x, pointer.elementType()).
inline Value to(const Operand &x, DType dtype, Rounding rounding = Rounding::NearestEven,
                Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, Operand(dtype).argument};
  if (rounding == Rounding::TowardZero)
    arguments.push_back(detail::named("fp_downcast_rounding", "rtz"));
  return detail::call(where, "cast", arguments);
}
template <class T>
Value to(const Operand &x, Rounding rounding = Rounding::NearestEven,
         Operand::Where where = Operand::Where::current()) {
  return to(x, dtypeOf<T>, rounding, where);
}
template <class T>
Value cast(const Operand &x, Operand::Where where = Operand::Where::current()) {
  return to(x, dtypeOf<T>, Rounding::NearestEven, where);
}
/// The same bits as elements of another type of the same width.
template <class T>
Value bitcast(const Operand &x, Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "cast",
                      {x.argument, Operand(dtypeOf<T>).argument, detail::named("bitcast", true)});
}

} // namespace sectile
