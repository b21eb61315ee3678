//===-- Record.h - records a C++ kernel for a test ----------------------------------------===//
//   Recorded kernel = record({"x", "n", "BLOCK"}, [](Ptr<f32> x, i32 n, Const<int> BLOCK) { ... },
//                            aligned, any, Const{16});
//   kernel.ir             verified tile IR without locations; empty when there are diagnostics
//
// The kernels are user code: these files are compiled with exceptions and without LLVM's headers.
#pragma once

#include "lang/plain/KernelSignature.h"
#include "tests/frontend/cpp/RecordedIr.h"

#include <sectile/arguments.h>
#include <sectile/control.h>
#include <sectile/ops.h>
#include <sectile/record.h>

namespace sectile::test {

struct Recorded {
  std::string ir;
  std::vector<lang::Diagnostic> diagnostics;
  /// The first diagnostic: "message (line N)"; and its help.
  std::string error, help;
  /// What the kernel's function threw.
  std::exception_ptr thrown;
};

/// A parameter passed at launch; `aligned`: and divisible by 16.
struct AnyArgument {
  bool divisibleBy16;
};
inline constexpr AnyArgument any{false}, aligned{true};

template <class Parameter, class Argument>
lang::KernelParameter parameterFor(const std::string &name, const Argument &argument) {
  lang::KernelParameter parameter;
  parameter.name = name;
  if constexpr (std::is_same_v<Argument, AnyArgument>) {
    parameter.dtype = detail::ParameterTraits<Parameter>::dtype;
    parameter.divisibleBy16 = argument.divisibleBy16;
  } else if constexpr (std::is_same_v<Argument, std::nullptr_t>)
    parameter.constant = lang::Constant{lang::None{}};
  else if constexpr (detail::isConst<Argument>)
    parameter.constant = detail::constantOf(argument.value);
  else
    parameter.constant = detail::constantOf(argument);
  return parameter;
}

template <class F, class... Arguments>
Recorded record(std::vector<std::string> names, F function, const Arguments &...arguments) {
  using Parameters = detail::ParametersOf<F>;
  static_assert(std::tuple_size_v<Parameters> == sizeof...(Arguments));
  lang::KernelSignature signature;
  signature.kernelName = "kernel";
  [&]<size_t... I>(std::index_sequence<I...>) {
    (signature.parameters.push_back(
         parameterFor<std::tuple_element_t<I, Parameters>>(names.at(I), arguments)),
     ...);
  }(std::index_sequence_for<Arguments...>());
  std::exception_ptr thrown;
  RecordedIr made = recordToIr(
      detail::traceFunction<Parameters>(std::make_shared<const F>(std::move(function)), thrown),
      signature);
  Recorded recorded{made.text, made.diagnostics, "", "", thrown};
  if (!made.diagnostics.empty()) {
    const lang::Diagnostic &first = made.diagnostics.front();
    recorded.error = first.message + " (line " + std::to_string(first.range.line) + ")";
    recorded.help = first.help;
  }
  return recorded;
}

} // namespace sectile::test
