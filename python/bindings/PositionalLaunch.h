//===-- PositionalLaunch.h - compiled code launched without its JITFunction -------------------===//
// Code that stands alone (out of a pickle, of another process's compile, of torch's compile
// workers) knows its parameters: their order, and what each was compiled for. A launch gives every
// parameter by position, and is refused where an argument is not what the code was compiled for;
// nothing is looked up or compiled.
//
//   PositionalLaunch launch(kernel, KernelParameters::of(signature));
//   launch.run(grid, stream, arguments, count);
#pragma once

#include "Arguments.h"
#include "jit/launch/Kernel.h"
#include "lang/plain/KernelSignature.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sectile::bindings {

/// What code was compiled for, parameter by parameter.
struct KernelParameters {
  /// A parameter, or an item of a tuple, in the order in which arguments are read.
  struct Value {
    std::string name;
    /// "*fp32:16", "i32"; empty where nothing is passed: a constant, or the tuple of what follows.
    std::string kind;
    /// "1", "None": the value that the code has for an argument that is no constant of the kernel's
    /// own; empty where there is none.
    std::string folded;
  };
  struct Parameter {
    std::string name;
    /// Whether a launch may leave it out, since the code has its value.
    bool isConstant = false;
    std::vector<Value> values;
  };
  std::vector<Parameter> parameters;

  static KernelParameters of(const lang::KernelSignature &signature,
                             std::span<const jit::ParameterPolicy> policies);
  /// [(name, is constant, [(name, kind, folded), ...]), ...], and back.
  py::list toPython() const;
  static KernelParameters ofPython(const py::list &list);
};

class PositionalLaunch {
public:
  /// `ifAliased`: of code for the same parameters whose arrays may share memory; null: there is
  /// none.
  PositionalLaunch(std::shared_ptr<const jit::Kernel> kernel, KernelParameters parameters,
                   std::shared_ptr<const PositionalLaunch> ifAliased = nullptr);

  /// Launches on `grid`, in `stream` or, where there is none, in the current one of the arrays'
  /// library. `arguments`: one for each parameter, or one for each that is no constant.
  /// Throws an ArgumentError that names the argument which the code was not compiled for.
  void run(const backends::Grid &grid, std::optional<uint64_t> stream, PyObject *const *arguments,
           size_t count) const;

  const KernelParameters &parameters() const { return known; }

private:
  /// What a value is passed as, or is to be, or skipped.
  struct Expected {
    std::string name, folded;
    bool isPassed = false, isDivisible = false;
    lang::DType dtype;
  };
  [[noreturn]] void refuse(const std::string &argument, const std::string &problem) const;
  void read(size_t parameter, PyObject *argument, HeldResources &held,
            std::vector<jit::ArgumentValue> &values) const;
  int32_t deviceOf(const std::vector<jit::ArgumentValue> &values) const;
  /// Returns the kernel that is right for how the arrays lie; throws where there is none.
  const jit::Kernel *kernelFor(const jit::BoundArguments &bound) const;

  std::shared_ptr<const jit::Kernel> kernel;
  KernelParameters known;
  std::shared_ptr<const PositionalLaunch> ifAliased;
  /// Of each parameter its values.
  std::vector<std::vector<Expected>> expected;
  size_t passedParameters = 0;
  std::unique_ptr<jit::Specializer> specializer;
};

} // namespace sectile::bindings
