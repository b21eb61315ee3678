//===-- reduce.h - reductions, scans, matrix products -------------------------------------===//
//   auto total  = sum(x, 0);
//   auto best   = reduce(x, 0, [](Value a, Value b) { return where(a > b, a, b); });
//   auto [v, i] = reduce(std::tuple{x, index}, 0, [](Value v, Value i, Value w, Value j) {
//     return std::tuple{where(v > w, v, w), where(v > w, i, j)};
//   });
//
// Without an axis a reduction takes all elements. A combining function is associative (for reduce
// also commutative), gets one element of each source from the left and one from the right, and may
// use only its parameters and constants.
#pragma once

#include <optional>
#include <sectile/operators.h>
#include <tuple>

namespace sectile {
namespace detail {

inline Value reduction(const Operand::Where &where, const char *builtin, const Operand &x,
                       const Operand &axis, bool keepDims) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument};
  if (keepDims)
    arguments.push_back(named("keep_dims", true));
  return call(where, builtin, arguments);
}

template <class... T>
cpp::Argument::Tuple tupleOf(const std::tuple<T...> &values) {
  return std::apply(
      [](const auto &...items) { return cpp::Argument::Tuple{Operand(items).argument...}; },
      values);
}

/// The values a body returned, as arguments: a tuple, one value, a number.
template <class Result>
std::vector<cpp::Argument> argumentsOf(const Result &result) {
  if constexpr (requires { std::tuple_size<Result>::value; })
    return tupleOf(result);
  else
    return {Operand(result).argument};
}

template <size_t Count, class Combine>
cpp::Argument combiner(const Combine &combine) {
  return {cpp::Argument::Combiner([combine](std::span<const cpp::ValueId> lhs,
                                            std::span<const cpp::ValueId> rhs) {
            return Trace::active().guard("reduce", [&]() -> cpp::BodyResult {
              auto element = [&](size_t index) {
                return valueOf({index < Count ? lhs[index] : rhs[index - Count], ""});
              };
              return [&]<size_t... I>(std::index_sequence<I...>) -> cpp::BodyResult {
                static_assert(std::is_invocable_v<Combine, decltype(Value(element(I)))...>,
                              "reduce, scan: the combining function takes one left and one right "
                              "element per source: (Value a, Value b) for one source");
                return argumentsOf(combine(element(I)...));
              }(std::make_index_sequence<2 * Count>());
            });
          }),
          ""};
}

template <size_t... I>
auto tupleOfValues(std::vector<cpp::Argument> results, std::index_sequence<I...>) {
  return std::tuple{valueOf(results.at(I))...};
}

} // namespace detail

#define SECTILE_REDUCTION(name)                                                                    \
  inline Value name(const Operand &x, const Operand &axis = none, bool keepDims = false,           \
                    Operand::Where where = Operand::Where::current()) {                            \
    return detail::reduction(where, #name, x, axis, keepDims);                                     \
  }
SECTILE_REDUCTION(sum)
SECTILE_REDUCTION(max)
SECTILE_REDUCTION(min)
SECTILE_REDUCTION(argmax) // index of the first greatest element
SECTILE_REDUCTION(argmin)
SECTILE_REDUCTION(xor_sum)
#undef SECTILE_REDUCTION

/// The sum in elements of `T`.
template <class T>
Value sum(const Operand &x, const Operand &axis = none, bool keepDims = false,
          Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument,
                                          detail::named("dtype", dtypeOf<T>)};
  if (keepDims)
    arguments.push_back(detail::named("keep_dims", true));
  return detail::call(where, "sum", arguments);
}

/// The greatest element and the index of the first one that is.
inline std::tuple<Value, Value> max_with_index(const Operand &x, const Operand &axis,
                                               Operand::Where where = Operand::Where::current()) {
  cpp::Argument arguments[] = {x.argument, axis.argument, detail::named("return_indices", true)};
  return detail::tupleOfValues(detail::callAll(where, "max", arguments),
                               std::make_index_sequence<2>());
}
inline std::tuple<Value, Value> min_with_index(const Operand &x, const Operand &axis,
                                               Operand::Where where = Operand::Where::current()) {
  cpp::Argument arguments[] = {x.argument, axis.argument, detail::named("return_indices", true)};
  return detail::tupleOfValues(detail::callAll(where, "min", arguments),
                               std::make_index_sequence<2>());
}

/// exp(x - max) / sum of it, along `axis`.
inline Value softmax(const Operand &x, const Operand &axis = 0,
                     Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "softmax", {x.argument, axis.argument});
}

//===-- with a combining function -------------------------------------------------------------===//

template <class Combine>
Value reduce(const Operand &x, const Operand &axis, const Combine &combine, bool keepDims = false,
             Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument, detail::combiner<1>(combine)};
  if (keepDims)
    arguments.push_back(detail::named("keep_dims", true));
  return detail::call(where, "reduce", arguments);
}
template <class... T, class Combine>
auto reduce(const std::tuple<T...> &x, const Operand &axis, const Combine &combine,
            bool keepDims = false, Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {
      {detail::tupleOf(x), ""}, axis.argument, detail::combiner<sizeof...(T)>(combine)};
  if (keepDims)
    arguments.push_back(detail::named("keep_dims", true));
  return detail::tupleOfValues(detail::callAll(where, "reduce", arguments),
                               std::index_sequence_for<T...>());
}

/// Which end a scan starts from.
enum class Direction { Forward, Reverse };

/// Running combination along `axis`, including the element itself.
template <class Combine>
Value scan(const Operand &x, const Operand &axis, const Combine &combine,
           Direction direction = Direction::Forward,
           Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument, detail::combiner<1>(combine)};
  if (direction == Direction::Reverse)
    arguments.push_back(detail::named("reverse", true));
  return detail::call(where, "associative_scan", arguments);
}
template <class... T, class Combine>
auto scan(const std::tuple<T...> &x, const Operand &axis, const Combine &combine,
          Direction direction = Direction::Forward,
          Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {
      {detail::tupleOf(x), ""}, axis.argument, detail::combiner<sizeof...(T)>(combine)};
  if (direction == Direction::Reverse)
    arguments.push_back(detail::named("reverse", true));
  return detail::tupleOfValues(detail::callAll(where, "associative_scan", arguments),
                               std::index_sequence_for<T...>());
}
template <class X, class Combine>
auto associative_scan(const X &x, const Operand &axis, const Combine &combine,
                      Direction direction = Direction::Forward,
                      Operand::Where where = Operand::Where::current()) {
  return scan(x, axis, combine, direction, where);
}

inline Value cumsum(const Operand &x, const Operand &axis = 0,
                    Direction direction = Direction::Forward,
                    Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument};
  if (direction == Direction::Reverse)
    arguments.push_back(detail::named("reverse", true));
  return detail::call(where, "cumsum", arguments);
}
inline Value cumprod(const Operand &x, const Operand &axis = 0,
                     Direction direction = Direction::Forward,
                     Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, axis.argument};
  if (direction == Direction::Reverse)
    arguments.push_back(detail::named("reverse", true));
  return detail::call(where, "cumprod", arguments);
}

//===-- matrix product ------------------------------------------------------------------------===//

struct DotOptions {
  const char *input_precision = nullptr;         // "tf32" "tf32x3" "ieee" "bf16x3" "bf16x6"
  std::optional<int> max_num_imprecise_acc = {}; // fp8: so many may lose digits (wgmma)
  DType out_dtype = DType::scalar(ScalarKind::Float32);
};

/// accumulator + x * y for matrices of MxK and KxN, or batches of them; without one, from zero.
inline Value dot(const Operand &x, const Operand &y, const Operand &accumulator = none,
                 DotOptions options = {}, Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.argument, y.argument, accumulator.argument};
  if (options.input_precision)
    arguments.push_back(detail::named("input_precision", options.input_precision));
  if (options.max_num_imprecise_acc)
    arguments.push_back(detail::named("max_num_imprecise_acc", *options.max_num_imprecise_acc));
  if (options.out_dtype != DType::scalar(ScalarKind::Float32))
    arguments.push_back(detail::named("out_dtype", options.out_dtype));
  return detail::call(where, "dot", arguments);
}

/// An operand in a block-scaled format: "e2m1" (two numbers in a byte), "e4m3", "e5m2", "bf16" or
/// "fp16". `scale`: a number for 32 elements along K (uint8, e8m0) or for 16 (fp8e4m3); of the
/// right operand a row for each of its columns.
struct ScaledOperand {
  Operand elements;
  Operand scale = none;
  const char *format;
  bool k_pack = true; // false: of e2m1, the two of a byte are neighbours along M or N
};
struct ScaledDotOptions {
  bool fast_math = false; // scales of 255 need not give NaN
  DType out_dtype = DType::scalar(ScalarKind::Float32);
};

/// accumulator + x * y, the operands converted and multiplied by their scales.
///   dot_scaled({x, x_scale, "e4m3"}, {y, none, "bf16"}, sum)
inline Value dot_scaled(const ScaledOperand &x, const ScaledOperand &y,
                        const Operand &accumulator = none, ScaledDotOptions options = {},
                        Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {x.elements.argument,
                                          x.scale.argument,
                                          Operand(x.format).argument,
                                          y.elements.argument,
                                          y.scale.argument,
                                          Operand(y.format).argument,
                                          accumulator.argument,
                                          detail::named("fast_math", options.fast_math),
                                          detail::named("lhs_k_pack", x.k_pack),
                                          detail::named("rhs_k_pack", y.k_pack),
                                          detail::named("out_dtype", options.out_dtype)};
  return detail::call(where, "dot_scaled", arguments);
}

} // namespace sectile
