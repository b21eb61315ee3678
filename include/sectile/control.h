//===-- control.h - loops and branches ----------------------------------------------------===//
// Decided while the kernel runs, so their values are carried explicitly: what a body may change
// comes in as parameters and goes out as its result. Each body is traced once.
//
//   auto total = loop(range(0, n), zeros<f32>({BLOCK}), [&](i32 i, auto total) {
//     return total + load(x + i * BLOCK + index);
//   });
//   auto [m, s] = loop(range(lo, hi, step), std::tuple{m0, s0}, [&](i32 i, auto m, auto s) {
//     ...
//     return std::tuple{m, s};
//   });
//   loop(range(0, n, step, {.num_stages = 4}), [&](i32 i) { ... });
//   loop(range(n), s, [&](i32 i, auto s) {
//     break_if(s > limit, s);                   // the loop ends with s
//     auto x = load(p + i);
//     continue_if(x < 0, s);                    // the next turn begins with s
//     return s + x;
//   });
//   auto y = if_(x > 0, [&] { return x; }, [&] { return -x; });
//   auto n = while_(n0, [](auto n) { return n > 1; }, [](auto n) { return n / 2; });
//
// A loop with bounds known at compile time may as well be a plain C++ loop: it is unrolled then.
// Carried values keep their type from step to step; both branches of an if_ return the same types.
#pragma once

#include <sectile/reduce.h>

namespace sectile {

/// What a kernel wishes of one loop. What is not obeyed is answered by a remark of the kind "hint",
/// which `sectile compile --remarks` shows.
struct LoopHints {
  std::optional<int> num_stages; // iterations under way at once on a GPU; 1: no load runs ahead
  int loop_unroll_factor = 1;    // turns made one; those left over are a second loop
  bool disable_licm = false;     // what does not change from turn to turn is computed in each
  bool disallow_acc_multi_buffer = false; // the case as it is
  bool flatten = false;                   // not obeyed yet
  bool warp_specialize = false;           // not obeyed yet
};

/// The numbers of Python's range(): from `lower` in steps of `step` while `upper` is not reached,
/// down where the step is negative. Bounds and step are integers of any types; the numbers are of
/// the type that these promote to. A step that is 0 at run time makes no turn, and is an error
/// where assertions are kept.
struct Range {
  Operand lower, upper, step;
  LoopHints hints = {};
};
inline Range range(const Operand &upper) {
  return {Operand(0, upper.where), upper, 1};
}
inline Range range(const Operand &lower, const Operand &upper, const Operand &step = 1,
                   const LoopHints &hints = {}) {
  return {lower, upper, step, hints};
}

namespace detail {

template <class T>
inline constexpr bool isTuple = false;
template <class... T>
inline constexpr bool isTuple<std::tuple<T...>> = true;

template <class T>
constexpr size_t carriedCount() {
  if constexpr (isTuple<T>)
    return std::tuple_size_v<T>;
  else
    return 1;
}

inline std::vector<cpp::LoopHint> hintsOf(const LoopHints &hints) {
  std::vector<cpp::LoopHint> wished;
  if (hints.num_stages)
    wished.push_back({"num_stages", *hints.num_stages});
  if (hints.loop_unroll_factor != 1)
    wished.push_back({"loop_unroll_factor", hints.loop_unroll_factor});
  for (auto [name, isWished] :
       {std::pair("disable_licm", hints.disable_licm),
        std::pair("disallow_acc_multi_buffer", hints.disallow_acc_multi_buffer),
        std::pair("flatten", hints.flatten), std::pair("warp_specialize", hints.warp_specialize)})
    if (isWished)
      wished.push_back({name, 1});
  return wished;
}

/// Calls a body with the leading values and those carried, whatever it declares them as.
template <size_t Count, class Body, class... Leading>
decltype(auto) callBody(Body &body, std::span<const cpp::ValueId> carried,
                        const Leading &...leading) {
  return [&]<size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
    static_assert(std::is_invocable_v<Body &, const Leading &..., decltype((void)I, Value())...>,
                  "loop, while_: the body takes the index (loop only), then one parameter per "
                  "carried value");
    return body(leading..., valueOf({carried[I], ""})...);
  }(std::make_index_sequence<Count>());
}

/// Results in the shape of what was carried: a tuple for a tuple, a value for a value.
template <class Carried>
auto carriedResult(const std::vector<cpp::ValueId> &ids) {
  if constexpr (isTuple<Carried>)
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple{valueOf({ids.at(I), ""})...};
    }(std::make_index_sequence<std::tuple_size_v<Carried>>());
  else
    return valueOf({ids.at(0), ""});
}

} // namespace detail

/// for (i : range) carried = body(i, carried...).
template <class Carried, class Body>
auto loop(const Range &range, const Carried &initial, Body &&body,
          Operand::Where where = Operand::Where::current()) {
  constexpr size_t count = detail::carriedCount<Carried>();
  detail::Trace &trace = detail::Trace::active();
  std::vector<cpp::Argument> start = detail::argumentsOf(initial);
  trace.at(where);
  auto traced = [&](cpp::ValueId index, std::span<const cpp::ValueId> carried) {
    return trace.guard("loop", [&]() -> cpp::BodyResult {
      return detail::argumentsOf(
          detail::callBody<count>(body, carried, detail::valueOf({index, ""})));
    });
  };
  std::vector<cpp::ValueId> ids =
      trace.tracer.loop(range.lower.argument, range.upper.argument, range.step.argument,
                        detail::hintsOf(range.hints), start, traced);
  trace.check();
  return detail::carriedResult<Carried>(ids);
}
/// A loop that carries nothing.
template <class Body>
void loop(const Range &range, Body &&body, Operand::Where where = Operand::Where::current()) {
  detail::Trace &trace = detail::Trace::active();
  trace.at(where);
  auto traced = [&](cpp::ValueId index, std::span<const cpp::ValueId> carried) {
    return trace.guard("loop", [&]() -> cpp::BodyResult {
      static_assert(std::is_void_v<decltype(detail::callBody<0>(body, carried, Value()))>,
                    "loop: the body returns a value, but no initial value is given to carry it");
      detail::callBody<0>(body, carried, detail::valueOf({index, ""}));
      return std::vector<cpp::Argument>();
    });
  };
  trace.tracer.loop(range.lower.argument, range.upper.argument, range.step.argument,
                    detail::hintsOf(range.hints), {}, traced);
  trace.check();
}

/// while (condition(carried...)) carried = body(carried...).
template <class Carried, class Condition, class Body>
auto while_(const Carried &initial, Condition &&condition, Body &&body,
            Operand::Where where = Operand::Where::current()) {
  constexpr size_t count = detail::carriedCount<Carried>();
  detail::Trace &trace = detail::Trace::active();
  std::vector<cpp::Argument> start = detail::argumentsOf(initial);
  trace.at(where);
  auto tested = [&](std::span<const cpp::ValueId> carried) {
    return trace.guard("while_", [&]() -> cpp::BodyResult {
      return detail::argumentsOf(detail::callBody<count>(condition, carried));
    });
  };
  auto traced = [&](std::span<const cpp::ValueId> carried) {
    return trace.guard("while_", [&]() -> cpp::BodyResult {
      return detail::argumentsOf(detail::callBody<count>(body, carried));
    });
  };
  std::vector<cpp::ValueId> ids = trace.tracer.whileLoop(start, tested, traced);
  trace.check();
  return detail::carriedResult<Carried>(ids);
}

namespace detail {
template <class... Values>
void leaveTurn(cpp::Tracer::TurnEnd end, const Operand &condition, const Values &...values) {
  Trace &trace = Trace::active();
  trace.at(condition.where);
  std::vector<cpp::Argument> next;
  if constexpr (sizeof...(Values) == 1)
    next = argumentsOf(values...); // may be a tuple
  else
    next = {Operand(values).argument...};
  trace.at(condition.where);
  trace.tracer.leaveTurn(end, condition.argument, next);
  trace.check();
}
} // namespace detail

/// Ends the loop where the condition holds: nothing of its body that follows is done, and `values`,
/// one for each carried value, are what the loop returns. Stands in the body of a loop or while_
/// itself, not in that of an if_ in there.
template <class... Values>
void break_if(const Operand &condition, const Values &...values) {
  detail::leaveTurn(cpp::Tracer::TurnEnd::Loop, condition, values...);
}
/// Ends the turn where the condition holds: the next one begins with `values`.
template <class... Values>
void continue_if(const Operand &condition, const Values &...values) {
  detail::leaveTurn(cpp::Tracer::TurnEnd::Turn, condition, values...);
}

namespace detail {
template <class Branch>
cpp::Tracer::Branch branchOf(Trace &trace, Branch &branch) {
  return [&trace, &branch]() {
    return trace.guard("if_", [&]() -> cpp::BodyResult {
      if constexpr (std::is_void_v<decltype(branch())>) {
        branch();
        return std::vector<cpp::Argument>();
      } else
        return argumentsOf(branch());
    });
  };
}
} // namespace detail

/// What one of the branches returns. A condition known at compile time traces that branch alone.
template <class Then, class Else>
auto if_(const Operand &condition, Then &&then, Else &&orelse,
         Operand::Where where = Operand::Where::current()) {
  using Result = std::decay_t<decltype(then())>;
  constexpr bool isVoid = std::is_void_v<Result>;
  static_assert(isVoid == std::is_void_v<decltype(orelse())>,
                "if_: one branch returns a value and the other does not");
  detail::Trace &trace = detail::Trace::active();
  trace.at(where);
  std::vector<cpp::Argument> results = trace.tracer.branch(
      condition.argument, detail::branchOf(trace, then), detail::branchOf(trace, orelse));
  trace.check();
  if constexpr (!isVoid) {
    if constexpr (detail::isTuple<Result>)
      return detail::tupleOfValues(std::move(results),
                                   std::make_index_sequence<std::tuple_size_v<Result>>());
    else
      return detail::valueOf(std::move(results.at(0)));
  }
}
/// A branch with effects only.
template <class Then>
void if_(const Operand &condition, Then &&then, Operand::Where where = Operand::Where::current()) {
  static_assert(std::is_void_v<decltype(then())>,
                "if_: the branch returns a value, so there must be one for the other case, too");
  if_(condition, then, [] {}, where);
}

} // namespace sectile
