//===-- record.h - runs a kernel's function against a tracer ------------------------------===//
// Internal to kernel.h. The types of the function's parameters say what it gets: handles of the
// recorded kernel's parameters, or the numbers of Const ones.
#pragma once

#include <memory>
#include <sectile/types.h>
#include <tuple>

namespace sectile::detail {

template <class T>
struct FunctionParameters;
template <class Result, class... P>
struct ParameterTuple {
  static_assert(std::is_void_v<Result>, "kernel: the function returns nothing; store its results");
  using type = std::tuple<std::remove_cvref_t<P>...>;
};
template <class F, class Result, class... P>
struct FunctionParameters<Result (F::*)(P...) const> : ParameterTuple<Result, P...> {};
template <class F, class Result, class... P>
struct FunctionParameters<Result (F::*)(P...) const noexcept> : ParameterTuple<Result, P...> {};
template <class Result, class... P>
struct FunctionParameters<Result (*)(P...)> : ParameterTuple<Result, P...> {};
template <class Result, class... P>
struct FunctionParameters<Result (*)(P...) noexcept> : ParameterTuple<Result, P...> {};
/// Refuses a function that changes itself.
template <class F, class Result, class... P>
struct MutableParameters : ParameterTuple<Result, P...> {
  static_assert(never<F>, "kernel: the function is mutable, or its operator() is not const, but it "
                          "runs once for each variant, perhaps in several threads at once: what it "
                          "changes in itself would be lost; keep such variables inside of it");
};
template <class F, class Result, class... P>
struct FunctionParameters<Result (F::*)(P...)> : MutableParameters<F, Result, P...> {};
template <class F, class Result, class... P>
struct FunctionParameters<Result (F::*)(P...) noexcept> : MutableParameters<F, Result, P...> {};

template <class F>
auto parametersIn() {
  if constexpr (std::is_pointer_v<F>)
    return std::type_identity<typename FunctionParameters<F>::type>();
  else if constexpr (requires { &F::operator(); })
    return std::type_identity<typename FunctionParameters<decltype(&F::operator())>::type>();
  else
    static_assert(never<F>, "kernel: every parameter needs a type, such as Ptr<f32>, i32 or "
                            "Const<int>; auto is not known before the launch");
}

/// The types of a function's parameters, in a std::tuple.
template <class F>
using ParametersOf = typename decltype(parametersIn<F>())::type;

/// What the lambda gets for a parameter of the traced kernel.
template <class Parameter>
struct MakeParameter {
  static Parameter from(const cpp::Argument &argument) {
    if (auto *constant = std::get_if<lang::Constant>(&argument.data)) {
      constexpr DType declared = Parameter::declared;
      if constexpr (!declared.isPointer)
        return Parameter(Held(cpp::TypedNumber{*constant, declared}));
      else
        return Parameter(Held(*constant));
    }
    return Parameter(Held(std::get<cpp::ValueId>(argument.data)));
  }
};
template <class T>
struct MakeParameter<Const<T>> {
  static Const<T> from(const cpp::Argument &argument) {
    const lang::Constant &constant = std::get<lang::Constant>(argument.data);
    if (auto *truth = constant.as<bool>())
      return {T(*truth)};
    if (auto *number = constant.as<lang::Int>())
      return {T(*number)};
    return {T(*constant.as<double>())};
  }
};

/// Records the function; keeps in `thrown` what it throws, for throwing it again once the compiler
/// has returned. `thrown` must outlive the result.
template <class Parameters, class F>
cpp::TraceFunction traceFunction(std::shared_ptr<const F> function, std::exception_ptr &thrown) {
  return [function = std::move(function), &thrown](cpp::Tracer &tracer,
                                                   std::span<const cpp::Argument> arguments) {
    Trace trace(tracer);
    try {
      [&]<size_t... I>(std::index_sequence<I...>) {
        (*function)(MakeParameter<std::tuple_element_t<I, Parameters>>::from(arguments[I])...);
      }(std::make_index_sequence<std::tuple_size_v<Parameters>>());
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };
}

} // namespace sectile::detail
