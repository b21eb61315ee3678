//===-- elements.h - sorting, counting, functions of elements -----------------------------===//
//   auto rows  = sort(x, 1);
//   auto best  = topk(x, 16);
//   auto count = histogram(bins, 256, i < n);
//   auto steps = map_elementwise([](Value v) { ... If, While ...; return v; }, x);
#pragma once

#include <sectile/reduce.h>

namespace sectile {
namespace detail {

/// A function of `Count` elements, inlined where it is called.
template <size_t Count, class Function>
cpp::Argument elementFunction(const Function &function) {
  return {cpp::Argument::Combiner([function](std::span<const cpp::ValueId> elements,
                                             std::span<const cpp::ValueId>) {
            return Trace::active().guard("map_elementwise", [&]() -> cpp::BodyResult {
              return [&]<size_t... I>(std::index_sequence<I...>) -> cpp::BodyResult {
                static_assert(
                    std::is_invocable_v<Function, decltype(Value(valueOf({elements[I], ""})))...>,
                    "map_elementwise: the function takes one element per tile, "
                    "(Value a, Value b) for two");
                return argumentsOf(function(valueOf({elements[I], ""})...));
              }(std::make_index_sequence<Count>());
            });
          }),
          ""};
}

inline Value ordering(const Operand::Where &where, const char *builtin,
                      std::vector<cpp::Argument> arguments, const Operand &axis, bool descending) {
  arguments.push_back(axis.argument);
  arguments.push_back(Operand(descending).argument);
  return call(where, builtin, arguments);
}

} // namespace detail

/// The elements along `axis` (the last one by default) in ascending order. NaN comes last, or first
/// in descending order; -0.0 comes before 0.0. Any extent.
/// Source: K. E. Batcher, Sorting networks and their applications, AFIPS 1968.
inline Value sort(const Operand &x, const Operand &axis = none, bool descending = false,
                  Operand::Where where = Operand::Where::current()) {
  return detail::ordering(where, "sort", {x.argument}, axis, descending);
}
/// The same of elements that rise up to some place and fall from there on.
inline Value bitonic_merge(const Operand &x, const Operand &axis = none, bool descending = false,
                           Operand::Where where = Operand::Where::current()) {
  return detail::ordering(where, "bitonic_merge", {x.argument}, axis, descending);
}
/// The k greatest elements along `axis` (the last one by default), greatest first; with
/// `descending` false the k least, least first.
/// Source: A. Shanbhag, H. Pirk, S. Madden, Efficient Top-K Query Processing on Massively Parallel
/// Hardware, SIGMOD 2018.
inline Value topk(const Operand &x, int k, const Operand &axis = none, bool descending = true,
                  Operand::Where where = Operand::Where::current()) {
  return detail::ordering(where, "topk", {x.argument, Operand(k).argument}, axis, descending);
}
/// How often each of 0 ... bins - 1 is among the elements, integers; i32. Elements outside that
/// range, or whose mask is false, are not counted.
inline Value histogram(const Operand &x, int bins, const Operand &mask = none,
                       Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "histogram", {x.argument, Operand(bins).argument, mask.argument});
}

namespace detail {
template <class Function, class... Tiles>
auto mapElementwise(const Operand::Where &where, const Function &function, const Tiles &...tiles) {
  std::vector<cpp::Argument> arguments = {elementFunction<sizeof...(Tiles)>(function),
                                          Operand(tiles).argument...};
  using Result = std::invoke_result_t<Function, decltype((void)tiles, std::declval<Value>())...>;
  if constexpr (requires { std::tuple_size<Result>::value; })
    return tupleOfValues(callAll(where, "map_elementwise", arguments),
                         std::make_index_sequence<std::tuple_size_v<Result>>());
  else
    return call(where, "map_elementwise", arguments);
}
} // namespace detail

/// What `function` makes of each element of the tile, or of a tuple of tiles, which are broadcast.
/// It may branch and loop on the elements; it may not read or write memory. It returns a value, or
/// a tuple of values: so does this, of tiles.
template <class Function, class X>
auto map_elementwise(const Function &function, const X &x,
                     Operand::Where where = Operand::Where::current()) {
  if constexpr (requires { std::tuple_size<X>::value; })
    return std::apply(
        [&](const auto &...tiles) { return detail::mapElementwise(where, function, tiles...); }, x);
  else
    return detail::mapElementwise(where, function, x);
}
/// Of two, three or four tiles; more come as a tuple.
template <class Function, class X, class Y>
  requires std::convertible_to<const Y &, Operand>
auto map_elementwise(const Function &function, const X &x, const Y &y,
                     Operand::Where where = Operand::Where::current()) {
  return detail::mapElementwise(where, function, x, y);
}
template <class Function, class X, class Y, class Z>
  requires std::convertible_to<const Z &, Operand>
auto map_elementwise(const Function &function, const X &x, const Y &y, const Z &z,
                     Operand::Where where = Operand::Where::current()) {
  return detail::mapElementwise(where, function, x, y, z);
}
template <class Function, class X, class Y, class Z, class W>
  requires std::convertible_to<const W &, Operand>
auto map_elementwise(const Function &function, const X &x, const Y &y, const Z &z, const W &w,
                     Operand::Where where = Operand::Where::current()) {
  return detail::mapElementwise(where, function, x, y, z, w);
}

/// How text for the assembler goes with its elements.
struct InlineAsm {
  /// Elements for one instance: those below 32 bits lie side by side in registers of 32 bits.
  int pack = 1;
  /// It has no effects, and may be run more or fewer times than written.
  bool is_pure = true;
};

/// Assembly of the target, PTX on NVIDIA GPUs, on elements; a tile of T. `constraints` are LLVM's,
/// outputs first: "=f,f,f". On the CPU it is an error.
template <class T, class... Tiles>
Value inline_asm_elementwise(std::string_view text, std::string_view constraints,
                             const std::tuple<Tiles...> &tiles, const InlineAsm &how = {},
                             Operand::Where where = Operand::Where::current()) {
  return detail::call(where, "inline_asm_elementwise",
                      {Operand(std::string(text).c_str()).argument,
                       Operand(std::string(constraints).c_str()).argument,
                       {detail::tupleOf(tiles), ""},
                       Operand(dtypeOf<T>).argument,
                       Operand(how.is_pure).argument,
                       Operand(how.pack).argument});
}

} // namespace sectile
