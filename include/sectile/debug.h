//===-- debug.h - prints, assertions, hints -----------------------------------------------===//
//   static_print("tile is", x);                    while the kernel is compiled: shows types
//   device_print("x = ", x);                       while it runs: shows whole values, one program
//                                                  after another
//   device_assert(index < count, "in range");      stops the launch; only with Options::debug
//                                                  (with fatal_asserts, too, the context of a GPU)
//   auto p = multiple_of(stride, 16);              a promise about values, for faster code
#pragma once

#include <cstdio>
#include <sectile/operators.h>
#include <string>

namespace sectile {

//===-- hints ---------------------------------------------------------------------------------===//

/// Promises that the condition holds.
inline void assume(const Operand &condition, Operand::Where where = Operand::Where::current()) {
  detail::call(where, "assume", {condition.argument});
}
/// The same value; the first element of every aligned run along a dimension is a multiple of its
/// number.
inline Value multiple_of(const Operand &x, const Shape &values,
                         Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "multiple_of", {x.argument, values.argument});
}
/// The same value; runs of this length along each dimension hold consecutive numbers.
inline Value max_contiguous(const Operand &x, const Shape &values,
                            Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "max_contiguous", {x.argument, values.argument});
}
/// The same value; runs of this length along each dimension hold equal numbers.
inline Value max_constancy(const Operand &x, const Shape &values,
                           Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "max_constancy", {x.argument, values.argument});
}
/// All threads of the program see its earlier memory accesses.
inline void debug_barrier(Operand::Where where = Operand::Where::current()) {
  detail::call(where, "debug_barrier", {});
}
/// Waits until the previous launch is done, and makes visible what it wrote. For launches that may
/// begin earlier than that.
inline void gdc_wait(Operand::Where where = Operand::Where::current()) {
  detail::call(where, "gdc_wait", {});
}
/// Lets the next launch begin, once every program came here or ended.
inline void gdc_launch_dependents(Operand::Where where = Operand::Where::current()) {
  detail::call(where, "gdc_launch_dependents", {});
}

/// The nanoseconds of a clock that all programs of the device share, an i64; read where it stands.
inline Value globaltimer(Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "globaltimer", {});
}
/// The number of the multiprocessor, on the CPU of the processor, that runs the program; an i32.
inline Value smid(Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "smid", {});
}

//===-- while the kernel runs -----------------------------------------------------------------===//

/// Prints the values of every program, tiles laid out as NumPy does: "pid (0, 0, 0) x: fp32[2] [1.5
/// 2.0]". Tiles of more than 1024 elements (SECTILE_PRINT_ELEMENTS) are cut short. For some
/// programs only: within if_().
///
/// What a kernel prints is the same whether it was written in C++ or in Python, so that outputs can
/// be compared: truth values are True and False, types fp32 and i1 (static_print writes true, f32).
/// For numbers print to<i32>(flag). SECTILE_PRINT_FORMAT=triton prints a line for each element as
/// Triton does, "pid (0, 0, 0) idx (1) x: 2.000000", truth values as 1 and 0.
template <class... T>
void device_print(const Operand &prefix, const T &...values) {
  detail::call(prefix.where, "device_print", {prefix.argument, Operand(values).argument...});
}
inline void device_assert(const Operand &condition, const Operand &message = "",
                          const Operand &mask = none,
                          Operand::Where where = Operand::Where::current()) {
  detail::call(where, "device_assert", {condition.argument, message.argument, mask.argument});
}

//===-- while the kernel is compiled ----------------------------------------------------------===//

namespace detail {
inline std::string describe(const char *text) {
  return text;
}
inline std::string describe(const std::string &text) {
  return text;
}
template <Literal T>
std::string describe(T number) {
  if constexpr (std::is_floating_point_v<T>)
    return std::to_string(number);
  else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
    char text[24];
    return {text, size_t(std::snprintf(text, sizeof text, "%llu",
                                       static_cast<unsigned long long>(number)))};
  } else
    return decimal(int64_t(number));
}
template <class T>
std::string describe(Const<T> number) {
  return describe(number.value);
}
inline std::string describe(DType dtype) {
  return nameOf(dtype);
}
inline std::string describe(const AnyHandle &handle) {
  if (const lang::Constant *constant = handle.constant()) {
    if (auto *number = constant->as<lang::Int>())
      return decimal(int64_t(*number));
    if (auto *number = constant->as<double>())
      return std::to_string(*number);
    if (auto *truth = constant->as<bool>())
      return *truth ? "true" : "false";
    return "none";
  }
  std::string text = nameOf(handle.dtype());
  std::vector<int64_t> shape = handle.shape();
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? "x" : "[") + decimal(shape[d]);
  return shape.empty() ? text : text + "]";
}
} // namespace detail

/// Prints to stdout while the kernel is compiled: numbers as they are, values by type and shape.
template <class... T>
void static_print(const T &...values) {
  std::string line;
  ((line += (line.empty() ? "" : " ") + detail::describe(values)), ...);
  std::puts(line.c_str());
}

} // namespace sectile
